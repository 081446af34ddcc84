"""scikit-learn's own checks, and the tools that are built around its estimators."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_problems import CLASSIFIERS, ESTIMATORS, problem
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyak import ASGDClassifier, ASGDRegressor

DEPENDS_ON_ORDER = "a one-pass learner depends on the order of the rows; test_weights.py instead"
VARIANTS = [
    ASGDClassifier(),
    ASGDClassifier(penalty="l1"),
    ASGDClassifier(recipe="paper"),
    ASGDRegressor(),
    ASGDRegressor(loss="poisson"),
]
MORE_VARIANTS = [
    ASGDClassifier(loss="hinge"),
    ASGDClassifier(intervals=True),
    ASGDClassifier(step="explicit", precondition=0),
    ASGDClassifier(recipe="paper", loss="log_loss"),
    ASGDClassifier(recipe="paper", loss="hinge"),
    ASGDClassifier(recipe="paper", step="implicit", precondition=0.5),
    ASGDClassifier(recipe="paper", average=False, shuffle=False),
    ASGDRegressor(penalty="elasticnet", positive=True),
    ASGDRegressor(intervals=True),
    ASGDRegressor(loss="huber"),
    ASGDRegressor(loss="quantile"),
    ASGDRegressor(loss="gamma"),
    ASGDRegressor(recipe="paper"),
    ASGDRegressor(recipe="paper", step="implicit", precondition=1),
]


def expected_failures(estimator: object) -> dict[str, str]:
    known = {
        "check_sample_weight_equivalence_on_dense_data": DEPENDS_ON_ORDER,
        "check_sample_weight_equivalence_on_sparse_data": DEPENDS_ON_ORDER,
    }
    if get_tags(estimator).target_tags.positive_only:  # which this check does not ask for
        known["check_regressor_multioutput"] = "its targets are negative"
    return known


@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(MORE_VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_of_more_variants(estimator, check):
    check(estimator)


def test_tags():
    classifier, regressor = get_tags(ASGDClassifier()), get_tags(ASGDRegressor())
    assert is_classifier(ASGDClassifier())
    assert is_regressor(ASGDRegressor())
    assert classifier.input_tags.sparse
    assert regressor.input_tags.sparse
    assert classifier.classifier_tags.multi_class
    assert regressor.target_tags.multi_output
    assert not classifier.target_tags.multi_output
    assert not classifier.classifier_tags.poor_score
    assert not regressor.regressor_tags.poor_score


@pytest.mark.slow
def test_grid_search_and_cross_validation():
    X, y = problem(ASGDClassifier(), classes=3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ASGDClassifier(random_state=0)),
        {"asgdclassifier__alpha": [1e-5, 10.0], "asgdclassifier__loss": ["hinge", "log_loss"]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert search.best_params_["asgdclassifier__alpha"] == 1e-5
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert (cross_val_score(ASGDClassifier(random_state=0), X, y, cv=3) > 0.5).all()
    X, y = problem(ASGDRegressor())
    assert np.isfinite(cross_val_score(ASGDRegressor(random_state=0), X, y, cv=3)).all()


def test_text_pipeline():
    texts = ["the cat sat", "a dog barked", "the cat slept", "a dog ran"] * 50
    animals = ["cat", "dog", "cat", "dog"] * 50
    model = make_pipeline(TfidfVectorizer(), ASGDClassifier(random_state=0)).fit(texts, animals)
    assert model.predict(["one cat", "one dog"]).tolist() == ["cat", "dog"]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_inside_other_classifiers(classifier):
    X, y = problem(classifier, classes=3)
    for outer in (CalibratedClassifierCV(classifier, cv=3), OneVsRestClassifier(classifier)):
        outer.fit(X, y)
        assert outer.score(X, y) > 0.5
        np.testing.assert_allclose(outer.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_sparsify_and_densify(estimator):
    X, y = problem(estimator, classes=3)
    estimator = clone(estimator).fit(X, y)
    coef, predicted = estimator.coef_, estimator.predict(X)
    assert estimator.sparsify() is estimator
    np.testing.assert_array_equal(np.squeeze(estimator.coef_.toarray()), np.squeeze(coef))
    np.testing.assert_array_equal(estimator.predict(X), predicted)
    np.testing.assert_array_equal(estimator.densify().coef_, coef)

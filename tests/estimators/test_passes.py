"""Passes, going on, what is measured on the way, and the road to a model and back."""

from __future__ import annotations

import numpy as np
import pytest
import reference_sgd as reference
from estimator_problems import (
    ESTIMATORS,
    PaperClassifier,
    PaperRegressor,
    assert_same_bits,
    problem,
)
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss


def targets(estimator, y):
    """Return the targets of the losses: -1 and +1, or the numbers themselves."""
    return np.where(y == y.max(), 1.0, -1.0) if is_classifier(estimator) else y


@pytest.mark.parametrize("average", ["auto", False, True, 300])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_paper(estimator, average):
    X, y = problem(estimator, 1500)
    y = np.unique(y, return_inverse=True)[1] if is_classifier(estimator) else y
    fitted = clone(estimator).set_params(shuffle=False, alpha=1e-3, average=average).fit(X, y)
    loss = get_loss(estimator.loss)
    rate = Polynomial.from_rows(X, loss, 1e-3)
    start = {"auto": "auto", False: None, True: 0, 300: 300}[average]
    expected = reference.learn(X, targets(estimator, y), loss, 1e-3, rate, Averaging(start))
    np.testing.assert_allclose(np.ravel(fitted.coef_), expected.coef, rtol=1e-9)
    np.testing.assert_allclose(np.ravel(fitted.last_coef_), expected.last_coef, rtol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept, rtol=1e-9)
    np.testing.assert_allclose(fitted.progressive_loss_, expected.progressive_loss / 1500)
    M = np.square(X[:1000]).sum(axis=1).max() + 1
    assert pytest.approx(M) == fitted.learning_rate_.M
    assert fitted.learning_rate_.gamma0 == pytest.approx(1 / M)
    assert (fitted.learning_rate_.a, fitted.learning_rate_.c) == (1e-3, loss.power)
    if average == "auto":
        assert fitted.average_start_.tolist() == [expected.start]
    elif average is False:
        assert np.isnan(fitted.average_start_).all()
        np.testing.assert_array_equal(fitted.coef_, fitted.last_coef_)
    assert fitted.t_ == 1501
    assert fitted.n_iter_ == 1


@pytest.mark.parametrize("rows", [400, 3000])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_passes_go_on_where_the_last_one_ended(estimator, rows):
    X, y = problem(estimator, rows)
    thrice = clone(estimator).set_params(max_iter=3, shuffle=False).fit(X, y)
    again = clone(estimator).set_params(shuffle=False, warm_start=True)
    for _ in range(3):
        again.fit(X, y)
    for name in ("coef_", "last_coef_", "intercept_", "t_", "average_start_"):
        np.testing.assert_array_equal(getattr(thrice, name), getattr(again, name))
    assert thrice.n_iter_ == 3
    assert thrice.t_ == 3 * rows + 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_only_the_first_pass_is_measured(estimator):
    X, y = problem(estimator)
    once = clone(estimator).fit(X, y)
    often = clone(estimator).set_params(max_iter=10).fit(X, y)
    assert often.progressive_loss_ == once.progressive_loss_
    assert often.progressive_score_ == once.progressive_score_
    assert not np.array_equal(often.coef_, once.coef_)


def test_progressive_scores_are_honest():
    # 300 features overfit 600 rows, so only a score taken before each update is unbiased.
    X, y = make_classification(4000, 300, n_informative=10, flip_y=0.2, random_state=0)
    fitted = PaperClassifier(random_state=0, alpha=0, max_iter=20).fit(X[:600], y[:600])
    test = fitted.score(X[2000:], y[2000:])
    assert fitted.score(X[:600], y[:600]) > test + 0.15
    assert fitted.progressive_score_ < test + 0.05


def test_progressive_score_of_a_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = np.stack([X @ rng.normal(size=5) + rng.normal(size=20_000), X[:, 0] + 2.0], axis=1)
    fitted = PaperRegressor(random_state=0).fit(X[:10_000], y[:10_000])
    assert fitted.progressive_score_ == pytest.approx(fitted.score(X[10_000:], y[10_000:]), abs=0.1)
    parts = PaperRegressor()
    for rows in np.split(np.arange(10_000), 100):
        parts.partial_fit(X[rows], y[rows])
    whole = PaperRegressor(shuffle=False).fit(X[:10_000], y[:10_000])
    assert_same_bits(parts, whole, X)


def test_several_outputs_are_several_models():
    X, _ = problem(PaperRegressor(), 3000)
    y = X @ np.random.default_rng(0).normal(size=(5, 3))
    together = PaperRegressor(random_state=0).fit(X, y)
    assert together.predict(X).shape == y.shape
    assert together.coef_.shape == (3, 5)
    for output in range(3):
        alone = PaperRegressor(random_state=0).fit(X, y[:, output])
        assert alone.coef_.shape == (5,)
        assert alone.predict(X).shape == (3000,)
        np.testing.assert_allclose(together.coef_[output], alone.coef_, rtol=1e-9)
    column = PaperRegressor(random_state=0).fit(X, y[:, :1])
    assert column.predict(X).shape == (3000, 1)
    with pytest.raises(ValueError, match="y has 2 outputs, but the first call had 3"):
        together.partial_fit(X, y[:, :2])


def test_shuffling():
    X, y = problem(PaperClassifier())
    first, same, other = (PaperClassifier(random_state=s).fit(X, y) for s in (0, 0, 1))
    assert_same_bits(first, same, X)
    assert not np.array_equal(first.coef_, other.coef_)
    order = np.argsort(y, kind="stable")  # one class after the other
    sorted_rows = PaperClassifier(random_state=0).fit(X[order], y[order])
    assert sorted_rows.score(X, y) > first.score(X, y) - 0.03


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_fit_forgets_but_partial_fit_does_not(estimator):
    X, y = problem(estimator)
    once = clone(estimator).fit(X, y)
    again = clone(estimator).fit(X[:, :3], y).fit(X, y)
    assert_same_bits(once, again, X)
    again.partial_fit(X, y)
    assert again.t_ == 3001


def test_parameters_cannot_change_on_the_way():
    X, y = problem(PaperRegressor())
    regressor = PaperRegressor(alpha=1e-4, warm_start=True).fit(X, y).set_params(alpha=0.5)
    for learn in (regressor.fit, regressor.partial_fit):
        with pytest.raises(ValueError, match=r"began with alpha=0.0001 and cannot .* alpha=0.5"):
            learn(X, y)
    regressor.set_params(warm_start=False).fit(X, y)


def test_a_fit_that_fails_leaves_no_model():
    X, y = problem(PaperClassifier())
    classifier = PaperClassifier().fit(X, y)
    with pytest.raises(ValueError, match="got 1 class"):
        classifier.set_params(alpha=1.0).fit(X[:, :3], np.ones(len(y)))
    classifier.set_params(alpha=100.0, eta0=0.1)
    with pytest.raises(ValueError, match="alpha"):
        classifier.fit(X[:, :3], y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)


def test_verbose_changes_nothing_and_prints_as_rows_double(capsys):
    X, y = problem(PaperClassifier(), 5000, classes=3)
    quiet = PaperClassifier(random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = PaperClassifier(random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == ["1000", "2000", "4000", "5000"]
    assert f"loss {loud.recent_loss_:.6g} on the later half" in lines[-1]
    assert_same_bits(quiet, loud, X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_to_a_model_and_back(estimator, tmp_path):
    X, y = problem(estimator, classes=3)
    estimator = clone(estimator).fit(X, y)
    model = estimator.to_model()
    assert isinstance(model, LinearModel)
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    model.save(tmp_path / "a.polyak")
    back = type(estimator).from_model(LinearModel.load(tmp_path / "a.polyak"))
    for name in ("coef_", "intercept_", "t_", "progressive_loss_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(estimator, name))
    assert back.learning_rate_ == estimator.learning_rate_
    assert back.loss == estimator.loss
    np.testing.assert_array_equal(back.predict(X), estimator.predict(X))
    if is_classifier(estimator):
        np.testing.assert_array_equal(back.classes_, estimator.classes_)
        np.testing.assert_array_equal(back.predict_proba(X), estimator.predict_proba(X))
    assert back.score(X, y) == estimator.score(X, y)
    assert not hasattr(back, "last_coef_")
    with pytest.raises(ValueError, match="was made from a model"):
        back.partial_fit(X, y)
    back.fit(X, y)
    other = ASGDRegressor if is_classifier(estimator) else ASGDClassifier
    with pytest.raises(ValueError, match="from_model"):
        other.from_model(model)

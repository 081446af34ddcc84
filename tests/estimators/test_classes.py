"""Classes: many at once, their weights and their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_problems import CLASSIFIERS, PaperClassifier, assert_same_bits, problem
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_several_classes_are_one_against_the_rest(classifier):
    X, y = problem(classifier, 3000, classes=4)
    together = clone(classifier).fit(X, y)
    assert together.coef_.shape == (4, 5)
    assert together.intercept_.shape == together.average_start_.shape == (4,)
    for number, label in enumerate(together.classes_):
        alone = clone(classifier).fit(X, y == label)
        np.testing.assert_allclose(together.coef_[number], alone.coef_[0], rtol=1e-12)
        np.testing.assert_allclose(together.last_coef_[number], alone.last_coef_[0], rtol=1e-12)
        assert together.average_start_[number] == alone.average_start_[0]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_probabilities(classifier, classes):
    X, y = problem(classifier, 8000, classes=classes)
    fitted = clone(classifier).fit(X[:4000], y[:4000])
    X, y = X[4000:], y[4000:]
    chances = fitted.predict_proba(X)
    assert chances.shape == (4000, classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), chances)
    np.testing.assert_array_equal(fitted.classes_[chances.argmax(axis=1)], fitted.predict(X))
    shares = np.mean(y[:, None] == fitted.classes_, axis=0)
    assert log_loss(y, chances) < 0.97 * log_loss(y, np.tile(shares, (4000, 1)))
    # Of the rows given a chance between p and p + 0.1, about that share are of the class.
    for low in np.arange(0.2, 0.8, 0.1):
        given = (chances[:, 1] >= low) & (chances[:, 1] < low + 0.1)
        if given.sum() > 100:
            assert abs(np.mean(y[given] == fitted.classes_[1]) - chances[given, 1].mean()) < 0.12


def test_probabilities_of_rare_classes():
    X, y = make_classification(20_000, weights=[0.95], flip_y=0.02, random_state=0)
    for classifier in CLASSIFIERS:
        fitted = clone(classifier).fit(X[:10_000], y[:10_000])
        chances = fitted.predict_proba(X[10_000:])[:, 1]
        assert abs(chances.mean() - y[10_000:].mean()) < 0.03


def test_labels_of_any_type():
    X, y = problem(PaperClassifier(), classes=3)
    names, numbers = np.unique(y, return_inverse=True)
    word = PaperClassifier(random_state=0).fit(X, y)
    for labels in (np.array([-5, 0, 7]), names.astype(object)):
        other = PaperClassifier(random_state=0).fit(X, labels[numbers])
        np.testing.assert_array_equal(other.classes_, labels)
        np.testing.assert_array_equal(
            other.predict(X), labels[np.searchsorted(names, word.predict(X))]
        )
        np.testing.assert_array_equal(other.coef_, word.coef_)
    truth = PaperClassifier(random_state=0).fit(X, y == "no")
    assert truth.predict(X).dtype == bool


def test_class_weights_are_row_weights():
    X, y = problem(PaperClassifier(), classes=3)
    by_class = {"no": 0.5, "so": 2.0, "yes": 1.0}
    rows = np.array([by_class[label] for label in y])
    one = PaperClassifier(class_weight=by_class, random_state=0).fit(X, y)
    other = PaperClassifier(random_state=0).fit(X, y, rows)
    assert_same_bits(one, other, X)
    twice = PaperClassifier(class_weight=by_class, random_state=0).fit(X, y, 2 * rows)
    assert_same_bits(twice, PaperClassifier(random_state=0).fit(X, y, 2 * rows * rows), X)
    parts = PaperClassifier(class_weight=by_class)
    for rows in np.split(np.arange(len(y)), 5):
        parts.partial_fit(X[rows], y[rows], classes=np.unique(y))
    whole = PaperClassifier(class_weight=by_class, shuffle=False).fit(X, y)
    assert_same_bits(parts, whole, X)


def test_balanced_as_scikit_learn_counts():
    X, y = problem(PaperClassifier(), classes=3)
    labels, counts = np.unique(y, return_counts=True)
    by_class = dict(zip(labels, len(y) / (3 * counts), strict=True))
    one = PaperClassifier(class_weight="balanced", random_state=0).fit(X, y)
    other = PaperClassifier(class_weight=by_class, random_state=0).fit(X, y)
    assert_same_bits(one, other, X)


def test_balanced_counts_a_row_of_weight_two_twice():
    X, y = problem(PaperClassifier())
    twice = np.where(y == "no", 2.0, 1.0)
    shares = np.array([twice[y == label].sum() for label in ("no", "so")])
    by_class = dict(zip(("no", "so"), twice.sum() / (2 * shares), strict=True))
    one = PaperClassifier(class_weight="balanced", random_state=0).fit(X, y, twice)
    other = PaperClassifier(class_weight=by_class, random_state=0).fit(X, y, twice)
    assert_same_bits(one, other, X)


def test_balanced_progressively():
    X, y = problem(PaperClassifier(), classes=3)
    count, weights = dict.fromkeys(np.unique(y), 0), []
    for t, label in enumerate(y, start=1):  # the rows so far, this one included
        count[label] += 1
        weights.append(t / (3 * count[label]))
    one = PaperClassifier(class_weight="balanced").partial_fit(X, y, np.unique(y))
    other = PaperClassifier().partial_fit(X, y, np.unique(y), weights)
    assert_same_bits(one, other, X)


def test_balanced_finds_a_rare_class():
    X, y = make_classification(5000, weights=[0.97], flip_y=0, class_sep=0.4, random_state=0)
    plain = PaperClassifier(random_state=0).fit(X, y)
    whole = PaperClassifier(class_weight="balanced", random_state=0).fit(X, y)
    stream = PaperClassifier(class_weight="balanced").partial_fit(X, y, [0, 1])
    found = [model.predict(X)[y == 1].mean() for model in (plain, whole, stream)]
    assert found[1] > found[0] + 0.1
    assert found[2] > found[0] + 0.1


def test_a_class_that_has_not_come_yet():
    X, y = problem(PaperClassifier(), classes=3)
    classifier = PaperClassifier(class_weight="balanced")
    early = y != "yes"
    classifier.partial_fit(X[early], y[early], classes=["no", "so", "yes"])
    assert np.isfinite(classifier.predict_proba(X)).all()
    assert set(classifier.predict(X)) <= {"no", "so", "yes"}
    classifier.partial_fit(X[~early], y[~early])
    assert np.isfinite(classifier.coef_).all()

"""Many labels that are truths or small integers: a table gives what sorting gives others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polyak import ASGDClassifier
from polyak.estimators.labels import MANY_ROWS

LABELS = {
    "truths": np.array([False, True]),
    "signs": np.array([-1, 1], dtype=np.int8),
    "the ends of a byte": np.array([-128, 0, 127], dtype=np.int8),
    "far from zero": np.array([10**12, 10**12 + 5, 10**12 + 900]),
    "far apart": np.array([-(2**62), 3, 2**62]),
    "unsigned": np.array([3, 2**64 - 1], dtype=np.uint64),
    "numbers": np.array([0.0, 2.0]),
    "words": np.array(["no", "yes"]),
}


def rows_of(labels, rows=MANY_ROWS):
    rng = np.random.default_rng(0)
    number = rng.integers(0, len(labels), rows)
    return number[:, None] + rng.normal(0, 0.3, (rows, 2)), labels[number]


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_classes_are_those_of_scikit_learn(labels):
    X, y = rows_of(labels)
    ours, theirs = ASGDClassifier(loss="log_loss", random_state=0), LogisticRegression()
    ours.fit(X, y)
    theirs.fit(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.score(X, y) > 0.85


def test_rows_without_weight_have_no_class():
    X, y = rows_of(np.array([0, 1, 2]), 3 * MANY_ROWS)
    model = ASGDClassifier(loss="log_loss", random_state=0)
    model.fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    there = y != 1
    assert model.score(X[there], y[there]) > 0.95


def test_a_label_that_is_none_of_the_classes():
    X, y = rows_of(np.array([0, 1]))
    model = ASGDClassifier(loss="log_loss").partial_fit(X, y, classes=[0, 1])
    y[7] = 3
    with pytest.raises(ValueError, match="row 7 has the previously unseen label 3"):
        model.partial_fit(X, y)

"""A label that is none of the known classes is refused, whatever its length or type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyak import ASGDClassifier

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.where(X[:, 0] > 0, "A", "B")


def learned(y: Any) -> ASGDClassifier:
    return ASGDClassifier(random_state=0, warm_start=True).partial_fit(X, y, classes=np.unique(y))


@pytest.mark.parametrize("as_objects", [False, True])
def test_an_unseen_label_is_not_truncated_to_a_known_one(as_objects: bool) -> None:
    model = learned(Y.astype(object) if as_objects else Y)
    before = model.coef_.copy()
    others = np.where(np.arange(60) == 7, "AB", Y.astype(object))
    others = others if as_objects else others.astype(str)
    message = "row 7 has the previously unseen label AB, which is not among the classes A, B"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, others)
    with pytest.raises(ValueError, match=message):
        model.fit(X, others)
    np.testing.assert_array_equal(model.coef_, before)


def test_the_row_is_counted_among_all_rows_of_any_weight() -> None:
    model = learned(Y)
    weights = np.ones(60)
    weights[:3] = 0.0
    others = np.where(np.arange(60) == 7, "AB", Y)
    others[0] = "not there"
    with pytest.raises(ValueError, match="row 7 has the previously unseen label AB"):
        model.partial_fit(X, others, sample_weight=weights)


@pytest.mark.parametrize("label", [2, -1, "1"])
def test_numbers_and_words_are_not_confused(label: Any) -> None:
    model = learned((X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match=f"row 0 has the previously unseen label {label}, which"):
        model.partial_fit(X, np.full(60, label))

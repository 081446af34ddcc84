"""Targets of a classifier: class codes, or an indicator matrix where a row has several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from polyak.errors import RowError
from polyak.rows.label_text import label_text

Floats = NDArray[np.float64]

MANY_ROWS, MOST_NUMBERS = 10_000, 1024
"""From ``MANY_ROWS`` rows on, labels that are booleans or integers from a range shorter than
``MOST_NUMBERS`` are found through a lookup table, ten times as fast as by sorting."""


def has_labels(y: Any) -> bool:
    """Whether targets are a multilabel indicator matrix, by scikit-learn's definition.

    Examples
    --------
    >>> has_labels([[0, 1, 1], [1, 0, 0]]), has_labels(["one", "two"])
    (True, False)
    """
    if isinstance(y, list | tuple) and len(y) and np.ndim(y[0]) == 1:
        try:
            y = np.asarray(y)
        except ValueError:  # of different lengths
            return False
    if getattr(y, "ndim", 1) != 2 or y.shape[1] < 2:
        return False
    if _are_truths(y):
        return True
    with np.errstate(invalid="ignore"):  # NaN, which is no label
        return str(type_of_target(y)) == "multilabel-indicator"


def _are_truths(y: Any) -> bool:
    """Whether ``y`` is an array of whole numbers, all of them 0 or 1, which is quickly seen."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "biu" or y.size == 0:
        return False
    return bool(y.min() >= 0 and y.max() <= 1)


def indicator_matrix(y: Any, labels: int | None = None) -> NDArray[Any]:
    """Return an indicator matrix as a dense array; raise unless it has ``labels`` columns."""
    dense = np.asarray(y.toarray() if sparse.issparse(y) else y)
    if labels is not None and dense.shape[1] != labels:
        raise ValueError(f"y has {dense.shape[1]} labels, but the first call had {labels}")
    if _are_truths(dense):
        return dense.astype(np.int8, copy=False)
    dense = dense.astype(np.float64, copy=False)
    others = np.argwhere((dense != 0.0) & (dense != 1.0))
    if len(others):
        row, label = others[0].tolist()
        raise ValueError(
            f"row {row} of y has {dense[row, label]:g} for label {label}; a multilabel y contains "
            "only 0 and 1"
        )
    return dense


def refused_number(y: Any) -> RowError | None:
    """Return the error for the first target that is no number, None if all are numbers.

    Examples
    --------
    >>> str(refused_number([1.0, "2", "high"]))
    "row 2 has the target 'high', which is no number: ASGDClassifier learns classes"
    """
    for row, values in enumerate(() if sparse.issparse(y) else np.asarray(y, dtype=object)):
        for value in np.ravel(values).tolist():
            try:
                float(np.nan if value is None else value)
            except (TypeError, ValueError):
                advice = ": ASGDClassifier learns classes" if isinstance(value, str) else ""
                what = f" has the target {str(value)!r}, which is no number{advice}"
                return RowError(row, what)
    return None


def present(y: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """Return the targets of rows whose weight is not zero."""
    return y if weights is None else y[weights != 0]


def classes_of(y: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """Return the sorted distinct labels; raise scikit-learn's error for regression targets."""
    there = present(y, weights)
    least = _least_of_many(there)
    if least is None:
        check_classification_targets(y)
        return np.unique(there)
    found = np.flatnonzero(np.bincount(there.astype(np.intp) - least)) + least
    return found.astype(y.dtype)


def codes_of(y: NDArray[Any], classes: NDArray[Any], weights: Floats | None) -> NDArray[np.int64]:
    """Return the index of each label in the sorted classes; raise where one is unknown."""
    rows = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    there = present(y, weights)
    found = _by_table(there, classes)
    if found is None:
        found = np.minimum(np.searchsorted(classes, there), len(classes) - 1)
        unseen = np.flatnonzero(classes[found] != there)
        if len(unseen):
            label = label_text(there[unseen[0]])
            known = ", ".join(map(label_text, classes[:10])) + (
                ", ..." if len(classes) > 10 else ""
            )
            raise RowError(
                int(rows[unseen[0]]),
                f" has the previously unseen label {label}, which is not among the classes {known}",
            )
    codes = np.zeros(len(y), dtype=np.int64)
    codes[rows] = found
    return codes


def _least_of_many(y: NDArray[Any]) -> int | None:
    """Return the smallest of many integer labels from a short range; None for other labels."""
    if y.ndim != 1 or y.dtype.kind not in "bi" or len(y) < MANY_ROWS:
        return None
    least, most = int(y.min()), int(y.max())
    return least if most - least < MOST_NUMBERS else None


def _by_table(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64] | None:
    least = _least_of_many(y)
    if least is None or classes.dtype.kind not in "bi":
        return None
    table = np.full(MOST_NUMBERS, -1)
    places = classes.astype(np.intp) - least
    inside = (places >= 0) & (places < MOST_NUMBERS)
    table[places[inside]] = np.flatnonzero(inside)
    codes = table[y.astype(np.intp) - least]
    return None if codes.min() < 0 else codes

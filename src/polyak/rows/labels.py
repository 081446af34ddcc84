"""Class labels: their JSON form, types that other programs know, and whether they are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_TO_TELL = 1000
"""The least number of rows to tell whether they are sorted by class."""


def labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as a JSON-serialisable dict that keeps their dtype.

    Examples
    --------
    >>> labels_to_json(np.array(["no", "yes"]))
    {'type': '<U3', 'values': ['no', 'yes']}
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "biufUO" or labels.ndim != 1:
        raise ValueError(f"labels are numbers or words, not {labels.dtype}")
    values = labels.tolist()
    if labels.dtype.kind == "O" and not all(isinstance(value, str) for value in values):
        raise ValueError("labels of mixed types cannot be written to a file")
    return {"type": labels.dtype.newbyteorder("<").str, "values": values}


def labels_from_json(page: Any) -> NDArray[Any]:
    """Restore labels from `labels_to_json`; raise ValueError for anything else.

    Examples
    --------
    >>> labels_from_json({"type": "<f8", "values": [-1.0, 1.0]})
    array([-1.,  1.])
    """
    try:
        dtype, values = np.dtype(str(page["type"])), list(page["values"])
        if dtype.kind not in "biufUO" or dtype.itemsize > 1 << 16:
            raise ValueError(f"labels cannot be of type {dtype}")
        if dtype.kind in "UO" and not all(isinstance(value, str) for value in values):
            raise ValueError("a label is not a word")
        if dtype.kind in "biuf" and not all(isinstance(value, int | float) for value in values):
            raise ValueError("a label is not a number")
        labels = np.array(values, dtype=dtype)
    except (KeyError, TypeError, OverflowError, SyntaxError) as error:
        raise ValueError(f"the labels cannot be read: {error}") from error
    if labels.ndim != 1:
        raise ValueError("labels are a list")
    return labels


def exact_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that other programs know: strings, booleans, int64 or double.

    Text files are read with labels as floats: whole numbers become integers.

    Examples
    --------
    >>> exact_labels(np.array([-1.0, 1.0])), exact_labels(np.array([0.5, 1.0]))
    (array([-1,  1]), array([0.5, 1. ]))
    """
    if labels.dtype.kind in "UOb":
        return labels
    if labels.dtype.kind == "f":
        whole = all(abs(label) < 2.0**53 and label == int(label) for label in labels.tolist())
        return labels.astype(np.int64 if whole else np.float64)
    too_large = labels.dtype.kind == "u" and labels.max() >= 2**63
    return labels.astype(np.float64 if too_large else np.int64)


def distinct(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted distinct labels.

    ``np.unique`` would import NumPy's masked arrays, a tenth of the start-up time.

    Examples
    --------
    >>> distinct(np.array(["yes", "no", "yes"]))
    array(['no', 'yes'], dtype='<U3')
    """
    ordered = np.sort(labels)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def same_labels(some: NDArray[Any] | None, others: NDArray[Any] | None) -> bool:
    """Whether labels are the same, in the same order; unknown labels are None."""
    if some is None or others is None:
        return some is others
    return np.array_equal(some, others)


def sorted_by_class(targets: Any) -> bool:
    """Whether the first targets of a source look sorted by class.

    In random order, n rows of which n_k are of class k change class n - Σ n_k² / n times on
    average. They look sorted if they change less than a quarter as often, or if at least a thousand
    rows are all of one class. Targets with more than one distinct value per ten rows are regression
    targets and never look sorted; neither do a few rows of a rare class, whose order could be
    chance.

    Examples
    --------
    >>> sorted_by_class([0] * 600 + [1] * 600)
    True
    >>> sorted_by_class([0, 1, 1] * 400)
    False
    """
    targets = np.asarray(targets)
    n = len(targets)
    if n < ROWS_TO_TELL:
        return False
    _, counts = np.unique(targets, return_counts=True)
    if len(counts) == 1:
        return True
    if len(counts) > n / 10:
        return False
    expected = n - float(np.sum((counts / n) * counts))
    changes = np.count_nonzero(targets[1:] != targets[:-1])
    return bool(expected >= 8 and changes < expected / 4)

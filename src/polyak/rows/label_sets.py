"""Multilabel targets: tuples of labels, as in ``1,5,7`` of svmlight text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import RowError
from polyak.rows.label_text import label_text
from polyak.rows.labels import distinct

Floats = NDArray[np.float64]


def sets_array(sets: Sequence[tuple[float, ...]]) -> NDArray[Any]:
    """Return tuples of any lengths as a one-dimensional object array.

    Examples
    --------
    >>> sets_array([(1.0, 5.0), ()]).shape
    (2,)
    """
    return np.fromiter(sets, dtype=object, count=len(sets))


def are_sets(targets: NDArray[Any]) -> bool:
    """Whether targets are tuples of labels."""
    return targets.dtype.kind == "O" and len(targets) > 0 and isinstance(targets.flat[0], tuple)


def labels_in(targets: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted distinct labels of targets with one or several labels per row.

    Examples
    --------
    >>> labels_in(sets_array([(1.0, 5.0), (), (1.0,)])), labels_in(np.array([3, 2, 3]))
    (array([1., 5.]), array([2, 3]))
    """
    if not are_sets(targets):
        return distinct(targets)
    return np.array(sorted({label for one in set(targets.tolist()) for label in one}), np.float64)


def truths(targets: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """Return the indicator matrix, one column per label.

    Raises
    ------
    RowError
        If a row has a label that is not among ``labels``.

    Examples
    --------
    >>> truths(sets_array([(1.0, 5.0), ()]), np.array([1.0, 5.0, 7.0]))
    array([[1., 1., 0.],
           [0., 0., 0.]])
    """
    numbers: dict[tuple[float, ...], int] = {}
    codes = [numbers.setdefault(one, len(numbers)) for one in targets.tolist()]
    columns = {label: column for column, label in enumerate(np.asarray(labels).tolist())}
    table = np.zeros((len(numbers), len(columns)))
    for one, code in numbers.items():
        for label in one:
            if label not in columns:
                row, known = codes.index(code), ", ".join(map(label_text, labels[:10]))
                what = f" has the label {label_text(label)}, which is not among {known}"
                raise RowError(row, what)
            table[code, columns[label]] = 1.0
    return table[codes]


def sets_to_json(targets: NDArray[Any]) -> list[list[float]]:
    """Return targets as JSON-serialisable lists."""
    return [list(one) for one in targets.tolist()]


def sets_from_json(page: list[list[float]]) -> NDArray[Any]:
    """Restore targets from `sets_to_json`.

    Examples
    --------
    >>> sets_from_json(sets_to_json(sets_array([(1.0, 5.0), ()]))).tolist()
    [(1.0, 5.0), ()]
    """
    return sets_array([tuple(float(label) for label in one) for one in page])

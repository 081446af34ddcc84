"""Labels as learners take them: numbers of classes; or zeros and ones, where a row has several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from polyak.estimators.run import Run, draw_seed
from polyak.rows.label_text import label_text

Floats = NDArray[np.float64]

MANY_ROWS, MOST_NUMBERS = 10_000, 1024
"""Of at least so many labels that are truths, or integers from so short a range, a table tells what
there is, and where; for others they are sorted or hashed, which takes ten times as long."""


def has_labels(y: Any) -> bool:
    """Tell whether targets are several labels a row, as scikit-learn understands them.

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
    with np.errstate(invalid="ignore"):  # NaN, which is no label
        return str(type_of_target(y)) == "multilabel-indicator"


def truths(y: Any, labels: int | None = None) -> Floats:
    """Give labels as an array of zeros and ones, of as many columns as there were before."""
    dense = np.asarray(y.toarray() if sparse.issparse(y) else y, dtype=np.float64)
    if labels is not None and dense.shape[1] != labels:
        raise ValueError(f"y has {dense.shape[1]} labels, but there were {labels} at first")
    others = np.argwhere((dense != 0.0) & (dense != 1.0))
    if len(others):
        row, label = others[0].tolist()
        raise ValueError(
            f"row {row} of y has {dense[row, label]:g} for label {label}: several labels are zeros "
            "and ones"
        )
    return dense


def predicted(found: NDArray[Any], *, as_sparse: bool) -> Any:
    """Give predicted labels in the form that those to learn from had."""
    return sparse.csr_matrix(found) if as_sparse else found


def present(y: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """Leave out the targets of rows without weight."""
    return y if weights is None else y[weights != 0]


def classes_of(y: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """Give the labels there are, in order; refuse what is none, with scikit-learn's error."""
    there = present(y, weights)
    least = _least_of_many(there)
    if least is None:
        check_classification_targets(y)
        return np.unique(there)
    found = np.flatnonzero(np.bincount(there.astype(np.intp) - least)) + least
    return found.astype(y.dtype)


def codes_of(y: NDArray[Any], classes: NDArray[Any], weights: Floats | None) -> NDArray[np.int64]:
    """Return the place of each label among the sorted classes; raise where one is not there."""
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
            raise ValueError(
                f"y contains previously unseen labels: row {rows[unseen[0]]} has {label}, which is "
                f"not among the classes {known}"
            )
    codes = np.zeros(len(y), dtype=np.int64)
    codes[rows] = found
    return codes


def _least_of_many(y: NDArray[Any]) -> int | None:
    """Give the least of many labels that are integers from a short range; None for others."""
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


class LearnsLabels:
    """What a classifier does with several labels: they have a model each, in the same bank."""

    classes_: NDArray[Any]
    class_weight: Any
    _sparse_labels = False
    _fit: Any
    _generator: Any
    _new_run: Callable[..., Run]
    _rows_and_targets: Any
    _same_run: Any
    _weights: Any

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags.multi_label = True
        return tags

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, going_on: bool) -> Self:
        X, y = self._rows_and_targets(X, y, reset=not going_on, multi_output=True)
        targets = self._truths(y, first=not going_on)
        weights = self._weights(sample_weight, X, partial=False)
        rng = self._generator()
        run = self._same_run() if going_on else self._new_labels(draw_seed(rng), targets)
        self._fit(run, rng, X, targets, weights)
        return self

    def _truths(self, y: Any, *, first: bool) -> Floats:
        """Return labels as zeros and ones, and remember whether they came as sparse rows."""
        if self.class_weight is not None:
            raise ValueError("class_weight is for classes, of which a row has one, not for labels")
        self._sparse_labels = sparse.issparse(y)
        return truths(y, None if first else len(self.classes_))

    def _new_labels(self, seed: int, targets: Floats) -> Run:
        self.classes_ = np.arange(targets.shape[1])
        return self._new_run(seed, labels=self.classes_, outputs=targets.shape[1])

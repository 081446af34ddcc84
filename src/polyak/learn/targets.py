"""Targets and weights as lanes take them, and classes that are first seen late."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError, RowError
from polyak.learn.race import Race
from polyak.learn.recipes import Recipe
from polyak.learn.training_rows import TrainingRows
from polyak.losses import Loss, get_loss
from polyak.rows.huge_values import huge_value
from polyak.rows.label_sets import are_sets, labels_in, truths
from polyak.rows.label_text import label_text
from polyak.rows.labels import distinct
from polyak.rows.sparse import Rows, as_rows, check_rows
from polyak.rows.tensors import on_host

Floats = NDArray[np.float64]


def rows_there(
    X: Any,
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    order: NDArray[np.int64] | None,
    loss: Loss,
    again: bool,
    *,
    usual: bool = False,
) -> TrainingRows:
    """Return rows and targets as arrays, without rows of weight zero; refuse what is too large.

    No value of ``usual`` rows is.
    """
    rows, targets = as_rows(X), np.asarray(on_host(targets))
    if len(targets) != len(rows):
        raise DataError(f"there are {len(rows)} rows but {len(targets)} targets")
    unfit = None if again else loss.unfit(targets)
    if unfit is not None:
        row, value, wants = unfit
        raise RowError(row, f" has the target {label_text(value)}; {wants}")
    numbers = None if loss.classifies else targets
    huge = None if again else huge_value(rows, numbers, are_usual=usual)
    if huge is not None:
        raise RowError(huge[0], f": {huge[1]}")
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        if not weights.all():  # a row of weight zero is a row that was not there
            order = np.arange(len(rows)) if order is None else order
            order = order[weights[order] != 0]
    return TrainingRows(rows, targets, weights, order)


def classes_of(labels: NDArray[Any], advice: str) -> NDArray[Any]:
    """Return the classes among the labels of the first rows; ``advice`` is how to shuffle them."""
    classes = labels_in(labels)
    if len(classes) < 2 and are_sets(labels):
        raise DataError(
            f"the first {len(labels)} rows have no two different labels; say which labels there "
            f"are with classes=, or {advice}"
        )
    if len(classes) < 2:
        raise DataError(
            f"the first {len(labels)} rows are all of class {label_text(classes[0])}; say "
            f"which classes there are with classes=, or {advice}"
        )
    check_number_of_classes(classes, labels)
    return classes


FEW_CLASSES, ROWS_A_CLASS = 20, 10
"""More classes than ``FEW_CLASSES`` need that many rows each on average, or to be named: words or
numbers that rarely come up again are more often numbers to predict, or names of rows."""


def check_number_of_classes(classes: NDArray[Any], labels: NDArray[Any]) -> None:
    """Raise DataError if the classes found among labels are too many to be meant."""
    if len(classes) > max(FEW_CLASSES, len(labels) // ROWS_A_CLASS) and not are_sets(labels):
        number = "to predict numbers, choose the loss squared_error"
        advice = number if _are_numbers(labels) else "is it the right one"
        raise DataError(
            f"the target has {len(classes):,} different labels in {len(labels):,} rows, such as "
            f"{label_text(classes[-1])}: {advice}; if they are classes, name all of them "
            "with classes="
        )


def encode(targets: NDArray[Any], classes: NDArray[Any] | None, loss: Loss) -> NDArray[Any]:
    """Turn labels into class numbers, or into -1 and +1 where there are two classes or many labels.

    Numbers stay what they are, a column each where one target has several models.
    """
    if not loss.classifies:
        return targets if loss.outputs == 1 else _repeated(targets, loss.outputs)
    if targets.ndim == 2:  # a column a label: whether the row has it
        signs = 2.0 * targets
        signs -= 1.0
        return signs
    assert classes is not None
    if are_sets(targets):
        return 2.0 * truths(targets, classes) - 1.0
    if len(classes) == 2 and _are_numbers(classes) and _are_numbers(targets):
        positive, negative = targets == classes[1], targets == classes[0]
        if np.count_nonzero(positive) + np.count_nonzero(negative) == len(targets):
            return np.where(positive, 1.0, -1.0)
    number = _places(targets, classes)
    if (refused := _unknown(targets, classes, number)) is not None:
        raise refused
    return number if len(classes) > 2 else 2.0 * number - 1.0


def _repeated(targets: NDArray[Any], outputs: int) -> NDArray[Any]:
    columns = targets.reshape(len(targets), -1)
    if columns.shape[1] != 1:
        raise DataError("several quantiles are learned of one target, not of several")
    return np.repeat(columns, outputs, axis=1)


def unknown_label(targets: NDArray[Any], classes: NDArray[Any]) -> RowError | None:
    """Find the first target that is none of the classes, and what there is to say of it."""
    if not are_sets(targets):
        return _unknown(targets, classes, _places(targets, classes))
    try:
        truths(targets, classes)
    except RowError as unknown:
        return unknown
    return None


def as_truths(
    first: NDArray[Any], classes: NDArray[Any] | None, targets: NDArray[Any]
) -> NDArray[Any]:
    """Return the first targets as they are, but several labels as zeros and ones.

    Where one is unknown, the error is of the first such row of all targets, whatever their order.
    """
    if classes is None or not are_sets(first):
        return first
    if unknown_label(first, classes) is not None:
        truths(targets, classes)
    return truths(first, classes)


def new_labels(targets: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that are none of the classes."""
    labels = labels_in(targets)
    return labels[~np.isin(labels, classes)] if are_sets(targets) else labels


def _places(targets: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    order = np.argsort(classes)  # they may be in an order that someone asked for
    number = np.searchsorted(classes, targets, sorter=order)
    number[number == len(classes)] = 0
    return np.asarray(order[number])


def _unknown(
    targets: NDArray[Any], classes: NDArray[Any], places: NDArray[np.int64]
) -> RowError | None:
    unknown = classes[places] != targets
    if not unknown.any():
        return None
    row = int(np.argmax(unknown))
    known = ", ".join(label_text(label) for label in classes[:10])
    return RowError(row, f" has the label {label_text(targets[row])}, which is not among {known}")


def check_weighted_rows(rows: Rows, weights: Floats | None, n_features: int | None) -> None:
    """Refuse rows that could never be learned from, before any of them is."""
    check_rows(rows, n_features)
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        row = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
        raise DataError(f"row {row} has the weight {weights[row]}")


def check_finite(encoded: NDArray[Any], targets: NDArray[Any]) -> None:
    """Refuse targets that are not finite, once they are encoded."""
    finite = np.isfinite(encoded).reshape(len(targets), -1)
    if not finite.all():
        row = int(np.argmin(finite.all(axis=1)))
        raise DataError(f"row {row} has the target {targets[row]}")


def mean_weight(weights: Floats) -> float:
    """Return the mean, finite even where the weights are the largest of all numbers."""
    largest = float(weights.max())
    return largest * float(np.mean(weights / largest))


def in_units(weights: Floats | None, rows: int, unit: float) -> Floats | None:
    """Return weights in units of the mean of the first ones: only their ratios matter.

    Examples
    --------
    >>> in_units(np.array([2.0, 6.0]), 2, unit=4.0)
    array([0.5, 1.5])
    """
    if unit == 1.0:
        return weights
    relative = np.ones(rows) if weights is None else weights
    scaled = relative / unit
    # Even the heaviest row may be counted and squared without overflow.
    np.clip(scaled, 2.0**-200, 2.0**200, out=scaled)
    np.copyto(scaled, relative, where=~(relative > 0))
    return scaled


def _are_numbers(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "biuf"


MOST_CLASSES = 1000
"""With this many classes, a new label is a mistake."""
MOST_TRUTHS = 1 << 22
"""Rows times labels that are encoded at once, so that memory stays bounded."""


def learn_rows(
    race: Race,
    classes: NDArray[Any] | None,
    recipe: Recipe,
    given: TrainingRows,
    *,
    may_join: bool,
    again: bool = False,
) -> tuple[Race, NDArray[Any] | None]:
    """Let a race learn rows with their targets as they came, where new classes may join or not.

    Returns the race and the classes that it knows since.

    Each class joins just before its first row, which is then scored like any other: so batches
    leave no trace. See `polyak.learn.race.lanes.protocol.NewOutput`.

    Raises
    ------
    RowError
        Where a label is none of the classes and cannot join; nothing was learned then.
    """
    targets = given.targets
    if classes is not None and are_sets(targets) and len(targets) * len(classes) > MOST_TRUTHS:
        return _learn_in_parts(race, classes, recipe, given, may_join=may_join, again=again)
    try:
        encoded = encode(targets, classes, get_loss(recipe.loss))
    except RowError:
        if not may_join or classes is None:
            raise
        return _learn_in_parts(race, classes, recipe, given, may_join=True, again=again)
    race.learn(given._replace(targets=encoded), again=again)
    return race, classes


def _learn_in_parts(
    race: Race,
    classes: NDArray[Any],
    recipe: Recipe,
    given: TrainingRows,
    *,
    may_join: bool,
    again: bool,
) -> tuple[Race, NDArray[Any]]:
    """Learn many labels, or rows of new classes; the race that is given stays as it is."""
    check_weighted_rows(given.rows, given.weights, race.problem.n_features)
    order, given = given.order, given.taken()
    targets = given.targets
    race = copy.deepcopy(race)
    loss, begin = get_loss(recipe.loss), 0
    while begin < len(targets):
        left = targets[begin:]
        if are_sets(left):
            left = left[: max(MOST_TRUTHS // len(classes), 1)]
        new = unknown_label(left, classes)
        end = begin + (len(left) if new is None else new.row)
        if end > begin:
            some = given.part(begin, end)
            race.learn(some._replace(targets=encode(some.targets, classes, loss)), again=again)
        if new is not None:
            refused = RowError(end if order is None else int(order[end]), new.what)
            if not may_join:
                raise refused
            label = new_labels(targets[end : end + 1], classes)[:1]
            race, classes = _joined(race, classes, recipe, label, refused)
        begin = end
    return race, classes


def _joined(
    race: Race,
    classes: NDArray[Any],
    recipe: Recipe,
    label: NDArray[Any],
    refused: RowError,
) -> tuple[Race, NDArray[Any]]:
    words = {array.dtype.kind in "UO" for array in (classes, label)}
    if len(words) > 1 or label[0] != label[0] or len(classes) >= MOST_CLASSES:
        raise refused
    more = distinct(np.concatenate([classes, label]))
    place = int(np.searchsorted(more, label)[0])
    if not race.add_output(place, recipe):
        raise refused
    labels = race.problem.has_labels
    what, of_others = ("label", "without it") if labels else ("class", "of other classes")
    warnings.warn(
        f"the {what} {label_text(label[0])} first comes up in row {race.clock + 1:,}: its model "
        f"begins as if it had seen only rows {of_others} so far; name all classes with "
        "classes= to have it from the first row on, or to refuse other labels",
        stacklevel=2,
    )
    return race, more

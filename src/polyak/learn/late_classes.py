"""Targets as they came, for a race: classes may first come up after the first rows."""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import RowError
from polyak.learn.race import Race
from polyak.learn.recipes import Recipe
from polyak.learn.targets import check_weighted_rows, encode, new_labels, unknown_label
from polyak.learn.training_rows import TrainingRows
from polyak.losses import get_loss
from polyak.rows.label_sets import are_sets
from polyak.rows.label_text import label_text
from polyak.rows.labels import distinct

Floats = NDArray[np.float64]

MOST_CLASSES = 1000
"""With so many, a label that is new is a mistake."""
MOST_TRUTHS = 1 << 22
"""Whether rows have labels is known at once of so many rows times labels."""


class Learned(NamedTuple):
    """A race that has learned rows, and the classes that it knows since."""

    race: Race
    classes: NDArray[Any] | None


def learn_rows(
    race: Race,
    classes: NDArray[Any] | None,
    recipe: Recipe,
    given: TrainingRows,
    *,
    may_join: bool,
    again: bool = False,
) -> Learned:
    """Let a race learn rows with their targets as they came, where new classes may join or not.

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
    return Learned(race, classes)


def _learn_in_parts(
    race: Race,
    classes: NDArray[Any],
    recipe: Recipe,
    given: TrainingRows,
    *,
    may_join: bool,
    again: bool,
) -> Learned:
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
    return Learned(race, classes)


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

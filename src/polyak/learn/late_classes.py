"""Classes that first come up after the first rows, where nobody has said which there are."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import RowError
from polyak.learn.race import Given, Race
from polyak.learn.race.new_class import copy_of, with_class
from polyak.learn.recipes import Recipe
from polyak.learn.targets import check_weighted_rows, encode, unknown_label
from polyak.losses import get_loss
from polyak.rows.labels import distinct, label_text
from polyak.rows.sparse import Rows, take_rows

Floats = NDArray[np.float64]

MOST_CLASSES = 1000
"""With so many, a label that is new is a mistake."""


class Learned(NamedTuple):
    """A race that has learned rows, and the classes that it knows since."""

    race: Race
    classes: NDArray[Any] | None


def learn_rows(
    race: Race,
    classes: NDArray[Any] | None,
    recipe: Recipe,
    given: Given,
    *,
    may_join: bool,
    again: bool = False,
) -> Learned:
    """Let a race learn rows with their targets as they came, where new classes may join or not.

    Each class joins just before its first row, which is then scored like any other: so batches
    leave no trace. See `polyak.learn.race.new_class`.

    Raises
    ------
    RowError
        Where a label is none of the classes and cannot join; nothing was learned then.
    """
    rows, targets, weights, order = given
    try:
        encoded = encode(targets, classes, get_loss(recipe.loss))
    except RowError:
        if not may_join or classes is None:
            raise
        return _learn_new_classes(race, classes, recipe, rows, targets, weights, order)
    race.learn(rows, encoded, weights, order, again=again)
    return Learned(race, classes)


def _learn_new_classes(
    race: Race,
    classes: NDArray[Any],
    recipe: Recipe,
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    order: NDArray[np.int64] | None,
) -> Learned:
    """Learn rows some of which are of new classes; the race that is given stays as it is."""
    check_weighted_rows(rows, weights, race.problem.n_features)
    if order is not None:
        rows, targets = take_rows(rows, order), targets[order]
        weights = None if weights is None else weights[order]
    race = copy_of(race, recipe)
    loss, begin = get_loss(recipe.loss), 0
    while begin < len(targets):
        left = targets[begin:]
        new = unknown_label(left, classes)
        end = len(targets) if new is None else begin + new.row
        if end > begin:
            some = None if weights is None else weights[begin:end]
            encoded = encode(targets[begin:end], classes, loss)
            race.learn(rows[begin:end], encoded, some, None)
        if new is not None:
            refused = RowError(end if order is None else int(order[end]), new.what)
            race, classes = _joined(race, classes, recipe, targets[end : end + 1], refused)
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
    grown = with_class(race, place, recipe)
    if grown is None:
        raise refused
    warnings.warn(
        f"the class {label_text(label[0])} first comes up in row {race.clock + 1:,}: its model "
        "begins as if it had seen only rows of other classes so far; name all classes with "
        "classes= to have it from the first row on, or to refuse other labels",
        stacklevel=2,
    )
    return grown, more

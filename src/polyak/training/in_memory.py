"""Learning rows that are all in memory: at once, or in random order and in as few passes as pay.

Where columns are few enough for Newton's method, all rows are fitted at once, and the penalty is
the one that is best for rows left out in turn: see `polyak.learn.learner.Learner.fit`. Otherwise
one pass is enough where rows are many. Where they are not, further passes of averaged SGD help,
until the model begins to know the rows by heart; rows held back tell when.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak._core import random_order
from polyak.free_memory import release_memory
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.model.evaluation import Evaluation
from polyak.rows.sparse import HALF_ROWS, SparseRows, as_rows, is_half, take_rows

Order = NDArray[np.int64]
Learn = Callable[[Learner, Order | None, int], None]
"""Has a learner learn all rows, or some in an order, in the pass of this number."""
Finish = Callable[[Learner], None]
"""Has a learner learn the rows that it kept back to calibrate on."""

FEW_ROWS = 30_000
"""From this many rows on, one pass is enough."""
MANY_VALUES = 10_000_000
"""Rows with this many values are not few either."""
ROWS_TO_ORDER = 250_000
"""From this many rows on, NumPy takes a hundredth of a second or more to put them in an order."""
MOST_PASSES = 30
LEAST_GAIN = 1e-3
"""A pass that lowers the loss by a smaller share than this is the last."""
FOLDS, ROWS_TO_FOLD = 5, 2000
"""Of at most this many rows a tenth is too few to judge by: then each is held back once."""
SCORES_TO_FOLD = 50_000
"""Unless rows times classes are more than this: folds cost five times as much as holding back."""


class Data(NamedTuple):
    """Rows, their targets, and their weights; a row of weight zero is not there."""

    rows: Any
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None = None

    def present(self) -> Order | None:
        """Return the places of rows with non-zero weight; None if all have one."""
        if self.weights is None or self.weights.all():
            return None
        return np.flatnonzero(self.weights)

    def blocks(self, order: Order | None) -> Iterator[tuple[Data, Order | None]]:
        """Yield all rows and the order to learn them in; float16 in blocks, and their places."""
        if not is_half(self.rows) or len(self.rows) <= HALF_ROWS:
            yield self, order
            return
        order = np.arange(len(self.rows)) if order is None else order
        for begin in range(0, len(order), HALF_ROWS):
            some = order[begin : begin + HALF_ROWS]
            own = None if self.weights is None else self.weights[some]
            yield Data(self.rows[some], self.targets[some], own), some


def passes_wanted(recipe: Recipe, X: Any, rows: int) -> int | None:
    """Return the number of passes to make; None where the rows are to decide."""
    values = len(X.values) if isinstance(X, SparseRows) else getattr(X, "nnz", math.prod(X.shape))
    many = rows >= FEW_ROWS or values > MANY_VALUES
    return 1 if recipe.is_paper or recipe.intervals or many else None


def learn_in_memory(
    learner: Learner,
    data: Data,
    rng: np.random.RandomState,
    learn: Learn,
    finish: Finish,
    *,
    passes: int | None,
    shuffle: bool,
    one_by_one: bool = False,
) -> tuple[Learner, int]:
    """Learn all rows in a number of passes, or as long as passes help, each in its own order.

    Without a number of passes they are fitted at once where that can be done, unless they are to be
    learned ``one_by_one``, each scored before, or in the order in which they stand.

    Returns
    -------
    learner : Learner
        The one given, or an earlier copy of it if the last pass did harm.
    passes : int
        How many passes were made.
    """
    present = data.present()
    n = data.rows.shape[0]
    new = learner.rows_seen == 0
    if passes is None and new and shuffle and not one_by_one and learner.fit(*data):
        return learner, 1
    if passes is None:
        passes = passes_wanted(learner.recipe, data.rows, n if present is None else len(present))
    if passes is None:
        everything = np.arange(n) if present is None else present
        learner, passes = _learn_while_it_helps(
            learner, data, everything, rng, learn, finish, shuffle
        )
        if new and passes == 1:
            learner.compare(*data)
        return learner, passes
    once = passes == 1 or learner.recipe.is_additive  # whose rows are not learned again
    learner.at_hand = new and once and learner.recipe.for_optimum
    for number in range(passes):
        # Of the rows that are there: the others must leave no trace.
        learn(learner, _shuffled(rng, data.rows, present) if shuffle else present, number)
        if number == 0:
            finish(learner)
            if learner.at_hand:
                release_memory()
                learner.compare(*data)
    return learner, passes


def _shuffled(rng: np.random.RandomState, rows: Any, present: Order | None) -> Order:
    """Return the places of rows with non-zero weight in a random order.

    Many dense ones, which cost little beside it, get it from the core in a third of the time.
    """
    count = rows.shape[0] if present is None else len(present)
    if count < ROWS_TO_ORDER or not isinstance(rows, np.ndarray):
        return rng.permutation(count if present is None else present)
    order = random_order(count, int(rng.randint(1 << 63, dtype=np.int64)))
    return order if present is None else present[order]


def held_back(rows: int) -> int:
    """Return the number of rows to hold back: a tenth, or more if that is too few to judge by.

    Examples
    --------
    >>> held_back(5000), held_back(100), held_back(30), held_back(1)
    (500, 20, 10, 0)
    """
    return max(rows // 10, min(20, rows // 3))


def _learn_while_it_helps(
    learner: Learner,
    data: Data,
    present: Order,
    rng: np.random.RandomState,
    learn: Learn,
    finish: Finish,
    shuffle: bool,
) -> tuple[Learner, int]:
    """Make one pass, and others while they help where there is more to be had."""
    new = copy.deepcopy(learner) if len(present) <= ROWS_TO_FOLD else None
    is_held = np.zeros(len(present), dtype=bool)
    is_held[rng.permutation(len(present))[: held_back(len(present))]] = True
    held, rest = present[is_held], present[~is_held]

    def learn_some(some: Order, number: int) -> None:
        learn(learner, rng.permutation(some) if shuffle else some, number)

    learn_some(rest, 0)
    finish(learner)
    passes = 1
    if learner.race is not None and len(present) * learner.race.models_each > SCORES_TO_FOLD:
        new = None
    if new is None and not _is_at_its_optimum(learner):
        _keep_leader(learner)
        lowest, before = _loss(learner, data, held), copy.deepcopy(learner)
        while passes < MOST_PASSES:
            learn_some(rest, passes)
            now = _loss(learner, data, held)
            if not now <= lowest:
                learner = before
                break
            passes += 1
            if not now < (1.0 - LEAST_GAIN) * lowest:
                break
            lowest, before = now, copy.deepcopy(learner)
    if len(held):
        learn_some(held, 0)
    if new is not None and len(held) and not _is_at_its_optimum(learner):
        passes = _passes_by_folds(new, data, rng.permutation(present))
        _keep_leader(learner)
        for number in range(1, passes):
            learn_some(present, number)
    return learner, passes


def _is_at_its_optimum(learner: Learner) -> bool:
    """Whether further passes are of no use, since another lane than averaged SGD leads."""
    race = learner.race
    if race is None or race.can_compare(learner.rows_seen):
        return True
    return not race.leader().candidate.is_stochastic


def _keep_leader(learner: Learner) -> None:
    """Drop all candidates of SGD but the best: rows learned again no longer compare them."""
    race = learner.race
    if race is None:
        return
    best = race.leader(contender=True)
    if best.candidate.is_stochastic:
        others = {*race.running_sgd, *race.running_moving} - {best.number}
        race.drop_all_but(set(race.running) - others)


def _passes_by_folds(new: Learner, data: Data, order: Order) -> int:
    """Return the number of passes for a new learner, found by holding every row back once."""
    folds = [order[begin::FOLDS] for begin in range(min(FOLDS, len(order)))]
    rest = [np.setdiff1d(order, fold, assume_unique=True) for fold in folds]
    learners = [copy.deepcopy(new) for _ in folds]
    lowest = np.inf
    for number in range(MOST_PASSES):
        for learner, some in zip(learners, rest, strict=True):
            learner.learn(*data, order=some, again=number > 0)
            if not number:
                learner.finish()
                _keep_leader(learner)
        each = zip(learners, folds, strict=True)
        now = sum(_loss(learner, data, fold) * len(fold) for learner, fold in each)
        if not now < (1.0 - LEAST_GAIN) * lowest:
            return max(number, 1)
        lowest = now
    return MOST_PASSES


def _loss(learner: Learner, data: Data, held: Order) -> float:
    """Return the loss of rows that were held back."""
    evaluation = Evaluation(learner.model(report=False))
    weights = None if data.weights is None else data.weights[held]
    evaluation.add(take_rows(as_rows(data.rows), held), data.targets[held], weights)
    return evaluation.report()["loss"]

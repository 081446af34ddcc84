"""Whether the order of rows matters, where they are learned as they come.

Rows in random order are all alike: a model loses on those of today what it loses on those of
yesterday, or less. Where that is not so, they are sorted or have changed with time, and one
sentence says so. It is looked for in three ways:

* the first thousand rows seem to be sorted by class;
* the model's loss on rows not yet learned has risen from one doubling of their number to the next;
* the model as it stands loses more on some of the first thousand rows than it lost on recent ones
  before it learned them.

Either must be so by many standard errors. The last two cannot be chance: in random order the first
falls, and rows that were learned lose less than others, however little.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race import Leader, Race
from polyak.learn.race.history import measure
from polyak.learn.stored_state import StoredState
from polyak.learn.targets import encode
from polyak.learn.training_rows import FirstRows, TrainingRows
from polyak.losses import Loss
from polyak.losses.softmax import normalised_odds, odds_of_softmax, own_class_losses
from polyak.rows.labels import sorted_by_class

Floats = NDArray[np.float64]

FAR_APART = 6.0
"""This many standard errors are not chance, even where few rows make most of the loss."""
EVERY = 4
"""The stride of the rows that are kept of the first thousand."""
FIRST_LOOK = 2000
LOOKS = 8
"""Rows grow by one in this many until the next look: a class may come last, between doublings."""


class OrderWatch:
    """Some of the first rows, and whether a warning was given.

    Parameters
    ----------
    advice : str
        What to do where order is not the point, to end a sentence with: a clause or two.
    """

    def __init__(self, advice: str) -> None:
        self.advice = advice
        self.early = FirstRows("early")
        self.next_look = FIRST_LOOK
        self.told = False

    def begin(self, first: TrainingRows) -> None:
        """See the first rows, and warn if they are sorted."""
        self.early = FirstRows("early")
        self.early.add(first._replace(order=np.arange(0, first.total, EVERY)))
        targets = first.targets
        if targets.ndim == 1 and sorted_by_class(targets):
            self._tell(
                "the first rows seem to be sorted by class, and one pass over sorted rows learns "
                "poorly"
            )

    def look(self, race: Race, classes: NDArray[Any] | None, loss: Loss) -> None:
        """After a batch: say that order matters, if it is time to look and it does."""
        if self.told or race.scored < self.next_look or not len(self.early):
            return
        while self.next_look <= race.scored:
            self.next_look += self.next_look // LOOKS
        leader = race.leader(contender=True)  # the constant's loss is that of any rows
        early, of_early, unequal = self._early_loss(leader, race, classes, loss)
        recent, of_recent = _stretch(race, leader.number, 0.5, 1.0)
        before, of_before = _stretch(race, leader.number, 0.25, 0.5)
        if recent - before > FAR_APART * unequal * math.hypot(of_recent, of_before):
            self._tell(
                f"the loss on rows not yet learned has risen from {before:.4g} to {recent:.4g} "
                "while their number doubled, as if they were sorted or changed with time"
            )
        elif early - recent > FAR_APART * math.hypot(of_early, unequal * of_recent):
            self._tell(
                f"the model loses {early:.4g} on early rows, which it has learned, and "
                f"{recent:.4g} on recent ones, as if they were sorted or changed with time"
            )

    def _tell(self, what: str) -> None:
        self.told, self.early = True, FirstRows("early")
        warnings.warn(f"{what}: unless that is the point, {self.advice}", stacklevel=4)

    def _early_loss(
        self, leader: Leader, race: Race, classes: NDArray[Any] | None, loss: Loss
    ) -> tuple[float, float, float]:
        """Return the model's mean loss on the early rows, and its standard error.

        Also the factor by which that is larger than if a row of weight k were k rows of weight one,
        which is what the sums of a race take it for.
        """
        rows, targets, weights, *_ = self.early.joined()
        scores = leader.scores(rows)
        goals = np.asarray(encode(targets, classes, loss))
        if race.problem.one_vs_rest:
            goals = np.where(goals[:, None] == np.arange(race.problem.outputs), 1.0, -1.0)
        with np.errstate(all="ignore"):  # what has overflowed is noticed elsewhere
            if race.scores_true_class:
                odds = odds_of_softmax(scores) if leader.lane.softmax else normalised_odds(scores)
                lost = own_class_losses(odds, goals)
            else:
                lost = loss.value(scores, goals.reshape(len(rows), -1)).sum(axis=1)
            w = np.ones(len(rows)) if weights is None else weights
            mean = float(w @ lost / w.sum())
            away = np.square(lost - mean)
            spread, as_rows = float(w * w @ away), float(w @ away)
        unequal = math.sqrt(spread / as_rows) if as_rows > 0 else 1.0
        return mean, math.sqrt(spread) / float(w.sum()), max(unequal, 1.0)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as a JSON-serialisable dict and a dict of arrays."""
        page, arrays = self.early.state()
        told = {"advice": self.advice, "told": self.told, "next_look": self.next_look}
        return page | {"order": told}, arrays

    @classmethod
    def from_state(cls, stored: StoredState, n_outputs: int) -> OrderWatch | None:
        """Return the watch that `state` was of; None where order was not watched."""
        if "order" not in stored.page:
            return None
        own = StoredState(stored.page["order"], {}, "order.")
        watch = cls(str(own.field("advice")))
        watch.told, watch.next_look = own.flag("told"), own.whole("next_look", least=1)
        watch.early = FirstRows.from_state(stored, n_outputs, "early")
        return watch


def _stretch(race: Race, number: int, begin: float, end: float) -> tuple[float, float]:
    """Return a candidate's mean loss between two shares of all rows, and its standard error."""
    history = race.history
    first, last = history.place(begin * race.scored), history.place(end * race.scored)
    sums = history.total(first, last) if end < 1.0 else history.total(first, now=race.sums())
    measured = measure(sums[number], race.scored, race.losses_per_row)
    return measured["loss"], measured["loss_std_err"]

"""Rows of the later half, predicted before they are learned: what a report shows of a model."""

from __future__ import annotations

import numpy as np

from polyak.learn.learner import Learner
from polyak.model.checking import Check
from polyak.model.training_report import CheckReport
from polyak.rows.sparse import as_rows, take_rows
from polyak.training.in_memory import Data, Order

PARTS = 8
"""Number of parts that rows are learned in; those of the later half are predicted first."""


class ProgressiveCheck:
    """Lets a learner learn rows, and compares its predictions of the later ones beforehand.

    A learner's result does not depend on how rows come in batches, so it learns the same.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._check: Check | None = None

    def learn(self, learner: Learner, order: Order | None) -> None:
        """Learn rows that were not learned before, all of them or some in an order."""
        begun = learner.rows_seen > 0
        rows = np.arange(len(self._data.targets)) if order is None else order
        for number, part in enumerate(np.array_split(rows, PARTS)):
            if learner.rows_seen and len(part) and (begun or number >= PARTS // 2):
                self._compare(learner, part)
            learner.learn(*self._data, order=part)

    def report(self) -> CheckReport | None:
        """Return the comparison, if any rows were compared."""
        return None if self._check is None else self._check.report()

    def _compare(self, learner: Learner, part: Order) -> None:
        model = learner.model()
        if self._check is None:
            self._check = Check(model)
        self._check.use(model)
        rows, targets, weights = self._data
        own = None if weights is None else weights[part]
        scores = model.scores(take_rows(as_rows(rows), part))
        self._check.add(scores, targets[part], own)

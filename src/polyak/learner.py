"""The learner: one pass over batches, from the first row to the model.

It keeps the first 1000 rows back, looks at them to set the learning rate, and then learns every
row once, in order. Its result never depends on how the rows were split into batches.
"""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.calibration import ScoreHistogram
from polyak.errors import DataError
from polyak.losses import get_loss
from polyak.model import LinearModel
from polyak.race import Race
from polyak.recipes import Recipe
from polyak.rows import Rows, as_rows, core_arrays, join_rows, take_rows
from polyak.schedules import CALIBRATION_ROWS

Floats = NDArray[np.float64]

MOST_SCORES = 1 << 22
"""How many progressive scores to hold at a time, so that memory stays bounded."""


class Learner:
    """Learns a linear model from batches, each row once.

    Parameters
    ----------
    recipe : Recipe
    classes : array, optional
        The labels there can be. Without it they are those of the first 1000 rows.
    n_features : int, optional
        Refuse features beyond; without it the model grows as features appear.
    outputs : int
        How many numbers a target has, for regression.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> learner = Learner(Recipe(loss="log_loss"))
    >>> for part in np.array_split(np.arange(2000), 10):
    ...     learner.learn(X[part], np.where(X[part, 0] > 0, "yes", "no"))
    >>> learner.model().predict(np.eye(5)[:1])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        classes: NDArray[Any] | None = None,
        n_features: int | None = None,
        outputs: int = 1,
    ) -> None:
        self.recipe = recipe
        self.loss = get_loss(recipe.loss)
        self.classes = None if classes is None else np.asarray(classes)
        self.n_features = n_features
        self.outputs = outputs
        self.race: Race | None = None
        self.histogram: ScoreHistogram | None = None
        self._kept: list[tuple[Rows, NDArray[Any], Floats | None]] = []

    @property
    def rows_seen(self) -> int:
        """How many rows of non-zero weight have come, those still kept back included."""
        kept = sum(len(rows) for rows, _, _ in self._kept)
        return kept + (self.race.clock if self.race else 0)

    def learn(
        self,
        X: Any,
        targets: NDArray[Any],
        weights: NDArray[Any] | None = None,
        *,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        """Learn from rows, once each, in the order they stand or in ``order``."""
        rows = as_rows(X)
        targets = np.asarray(targets)
        if len(targets) != len(rows):
            raise DataError(f"there are {len(rows)} rows but {len(targets)} targets")
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if not weights.all():  # a row of weight zero is a row that was not there
                order = np.arange(len(rows)) if order is None else order
                order = order[weights[order] != 0]
        if self.race is None:
            taken = np.arange(len(rows)) if order is None else order
            if self.rows_seen + len(taken) < CALIBRATION_ROWS:
                if len(taken):
                    self._kept.append(_take(rows, targets, weights, taken))
                return
            if self._kept:
                parts = [*self._kept, _take(rows, targets, weights, taken)]
                rows, targets, weights = _join(parts)
                order = None
            self._calibrate(rows, targets, order)
        self._learn(rows, targets, weights, order)

    def finish(self) -> None:
        """Learn the rows kept back, should there have been fewer than calibration waits for."""
        if self.race is None and self._kept:
            rows, targets, weights = _join(self._kept)
            self._calibrate(rows, targets, None)
            self._learn(rows, targets, weights, None)

    def model(self) -> LinearModel:
        """Give the model as it stands now; learning may go on afterwards."""
        if self.race is None:
            if not self._kept:
                raise DataError("there are no rows to learn from")
            provisional = copy.deepcopy(self)
            provisional.finish()
            return provisional.model()
        _, bank, models = self.race.leader()
        return LinearModel(
            weights=np.ascontiguousarray(bank.coef[models].T),
            intercept=bank.intercept[models],
            loss=self.recipe.loss,
            classes=self.classes,
            sigmoids=self.histogram.sigmoids() if self.histogram else None,
            about=self.about(),
        )

    def about(self) -> dict[str, Any]:
        """Say in plain numbers what was found and how well it did on rows not yet learned."""
        if self.race is None:
            return {"rows": self.rows_seen}
        candidate, bank, models = self.race.leader()
        start = bank.average_start[models]
        return {
            "rows": self.race.clock,
            "recipe": asdict(self.recipe),
            "alpha": candidate.alpha,
            "learning_rate": asdict(candidate.schedule) | {"M": candidate.largest_squared_length},
            "step": candidate.step,
            "precondition": candidate.precondition,
            "average_start": [None if np.isnan(t0) else int(t0) for t0 in start],
            "progressive_loss": self.progressive_loss,
            "progressive_error": self.progressive_error,
        }

    @property
    def progressive_loss(self) -> float:
        """The model's mean loss on rows it had not learned yet, summed over outputs."""
        if self.race is None:
            return float("nan")
        _, bank, models = self.race.leader()
        return float(bank.progressive_loss[models].sum())

    @property
    def progressive_error(self) -> float:
        """The share of rows it would have got wrong, or its mean absolute error."""
        if self.race is None:
            return float("nan")
        _, bank, models = self.race.leader()
        if bank.one_vs_rest:
            return float(bank.progressive_confusion[models.start // self.race.outputs])
        return float(bank.progressive_error[models].mean())

    # -- inside --------------------------------------------------------------------------------

    def _calibrate(
        self, rows: Rows, targets: NDArray[Any], order: NDArray[np.int64] | None
    ) -> None:
        if order is not None:
            order = order[:CALIBRATION_ROWS]
            rows, targets = take_rows(rows, order), targets[order]
        rows, targets = rows[:CALIBRATION_ROWS], targets[:CALIBRATION_ROWS]
        if self.loss.classifies and self.classes is None:
            self.classes = np.unique(targets)
            if len(self.classes) < 2:
                raise DataError(
                    f"the first {len(targets)} rows are all of class {self.classes[0]}; "
                    "say which classes there are, or shuffle the rows"
                )
        several = self.loss.classifies and self.classes is not None and len(self.classes) > 2
        outputs = len(self.classes) if several and self.classes is not None else self.outputs
        values = rows.values if hasattr(rows, "values") else rows
        self.race = Race(
            self.recipe.candidates(rows),
            self.recipe,
            outputs=outputs,
            one_vs_rest=several,
            n_features=self.n_features,
            dtype=values.dtype,
        )
        if self.loss.classifies and self.loss.name != "log_loss":
            self.histogram = ScoreHistogram(outputs)
        self._kept = []

    def _learn(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
    ) -> None:
        assert self.race is not None
        encoded = self._encode(targets)
        total = len(rows) if order is None else len(order)
        piece = max(1024, MOST_SCORES // self.race.outputs)
        if self.histogram is None or total <= piece:
            self._learn_piece(rows, encoded, weights, order)
            return
        _core.check_rows(*core_arrays(rows))  # all pieces are good, or none is learned
        order = np.arange(total) if order is None else order
        for begin in range(0, total, piece):
            self._learn_piece(rows, encoded, weights, order[begin : begin + piece])

    def _learn_piece(
        self,
        rows: Rows,
        encoded: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
    ) -> None:
        assert self.race is not None
        if self.histogram is None:
            self.race.learn(rows, encoded, weights, order, None)
            return
        n = len(rows) if order is None else len(order)
        scores = np.empty((n, self.race.outputs))
        self.race.learn(rows, encoded, weights, order, scores)
        chosen = slice(None) if order is None else order
        own = encoded[chosen, None]
        positive = own > 0 if self.race.outputs == 1 else own == np.arange(self.race.outputs)
        self.histogram.add(scores, positive, np.ones(n) if weights is None else weights[chosen])

    def _encode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Turn labels into class numbers, or into -1 and +1 where there are two classes."""
        if not self.loss.classifies:
            return targets
        assert self.classes is not None
        number = np.searchsorted(self.classes, targets)
        number[number == len(self.classes)] = 0
        unknown = self.classes[number] != targets
        if unknown.any():
            row = int(np.argmax(unknown))
            known = ", ".join(str(label) for label in self.classes[:10])
            raise DataError(
                f"row {row} has the label {targets[row]}, which is not among the classes {known}"
            )
        return number if len(self.classes) > 2 else 2.0 * number - 1.0


def _take(
    rows: Rows, targets: NDArray[Any], weights: Floats | None, order: NDArray[np.int64]
) -> tuple[Rows, NDArray[Any], Floats | None]:
    return take_rows(rows, order), targets[order], None if weights is None else weights[order]


def _join(
    parts: list[tuple[Rows, NDArray[Any], Floats | None]],
) -> tuple[Rows, NDArray[Any], Floats | None]:
    weighted = any(weights is not None for _, _, weights in parts)
    weights = [np.ones(len(y)) if w is None else w for _, y, w in parts]
    return (
        join_rows([rows for rows, _, _ in parts]),
        np.concatenate([targets for _, targets, _ in parts]),
        np.concatenate(weights) if weighted else None,
    )

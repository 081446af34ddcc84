"""The learner: one pass over batches, from the first row to the model.

It keeps the first 1000 rows back, looks at them to set the learning rate, and then learns every
row once, in order. Its result never depends on how the rows were split into batches.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.labels import distinct, label_text, labels_from_json, labels_to_json
from polyak.leader import Leader
from polyak.losses import get_loss
from polyak.model import LinearModel
from polyak.race import Race
from polyak.recipes import Candidate, Recipe
from polyak.rows import Rows, SparseRows, as_rows, join_rows, take_rows
from polyak.schedules import CALIBRATION_ROWS, unusual_rows
from polyak.theory.data import rows_needed_by, second_moments

Floats = NDArray[np.float64]


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
        self._moments: Floats | None = None  # of the first rows: what the theory is asked with
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
        again: bool = False,
        in_order: bool = False,
    ) -> None:
        """Learn from rows, once each, in the order they stand or in ``order``.

        ``again`` says that they were all learned before: they still teach, but no longer tell how
        good the model is on rows it does not know. ``in_order`` is for rows that a parser of
        polyak's has just made, as `polyak.bank.Bank.check` says; others must not claim it.
        """
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
                order, in_order = None, False
            self._calibrate(rows, targets, order)
        assert self.race is not None
        self.race.learn(rows, self._encode(targets), weights, order, again=again, in_order=in_order)

    def finish(self) -> None:
        """Learn the rows kept back, should there have been fewer than calibration waits for."""
        if self.race is None and self._kept:
            rows, targets, weights = _join(self._kept)
            race = self._calibrate(rows, targets, None)
            race.learn(rows, self._encode(targets), weights, None)

    def model(self) -> LinearModel:
        """Give the model as it stands now; learning may go on afterwards."""
        if self.race is None:
            if not self._kept:
                raise DataError("there are no rows to learn from")
            provisional = copy.deepcopy(self)
            provisional.finish()
            return provisional.model()
        leader = self.race.leader()
        sigmoids = leader.sigmoids()
        coef, intercept = leader.bank.coef, leader.bank.intercept
        return LinearModel(
            weights=np.ascontiguousarray(coef[leader.models].T),
            intercept=intercept[leader.models],
            loss=self.recipe.loss,
            classes=self.classes,
            sigmoids=sigmoids,
            replicas=_replicas(coef[leader.replicas], intercept[leader.replicas], leader.outputs),
            about=self._about(leader, sigmoids),
        )

    def about(self) -> dict[str, Any]:
        """Say in plain numbers what was found and how well it did on rows not yet learned."""
        if self.race is None:
            return {"rows": self.rows_seen}
        leader = self.race.leader()
        return self._about(leader, leader.sigmoids())

    def _about(self, leader: Leader, sigmoids: Floats | None) -> dict[str, Any]:
        assert self.race is not None
        candidate, start = leader.candidate, leader.bank.average_start[leader.models]
        count, loss, _, errors = self.race.sums()[leader.number]
        return {
            "rows": self.race.clock,
            "recipe": asdict(self.recipe),
            "alpha": candidate.alpha,
            "learning_rate": asdict(candidate.schedule) | {"M": candidate.largest_squared_length},
            "step": candidate.step,
            "precondition": candidate.precondition,
            "average_start": [None if np.isnan(t0) else int(t0) for t0 in start],
            "progressive_loss": _mean(loss, count),
            "progressive_loss_std_err": self.race.measure(leader.number)["loss_std_err"],
            "progressive_error": _mean(errors, count),
            "recent": self.race.recent(leader.number),
            "calibration": leader.reliability(sigmoids),
            "best_candidate": leader.number,
            "candidates": self.race.table(),
            "rows_needed": self._rows_needed(candidate),
        }

    def _rows_needed(self, candidate: Candidate) -> dict[str, Any] | None:
        """Ask the theory after how many rows averaging pays off, learning like this."""
        if self._moments is None:
            return None
        needed = rows_needed_by(
            self._moments,
            self.recipe.loss,
            candidate.alpha,
            candidate.schedule.gamma0,
            precondition=candidate.precondition,
            implicit=candidate.step == "implicit",
            fit_intercept=self.recipe.fit_intercept,
        )
        return needed.as_dict()

    @property
    def progressive_loss(self) -> float:
        """The model's mean loss on rows it had not learned yet, summed over outputs."""
        return self._progressive(1)

    @property
    def progressive_error(self) -> float:
        """The share of rows it would have got wrong, or its mean absolute error."""
        return self._progressive(3)

    def _progressive(self, what: int) -> float:
        if self.race is None:
            return float("nan")
        sums = self.race.sums()[self.race.leader().number]
        return _mean(sums[what], sums[0])

    # -- stopping, going on, and learning in parts ---------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out everything there is to know: what JSON holds, and arrays.

        A learner made of it by `from_state` goes on as this one would, to the last bit.
        """
        page: dict[str, Any] = {
            "recipe": asdict(self.recipe),
            "n_features": self.n_features,
            "outputs": self.outputs,
            "classes": None if self.classes is None else labels_to_json(self.classes),
        }
        arrays: dict[str, NDArray[Any]] = {}
        if self.race is not None:
            page["race"], arrays = self.race.state()
        if self._moments is not None:
            arrays["moments"] = self._moments
        if self._kept:
            rows, targets, weights = _join(self._kept)
            if isinstance(rows, SparseRows):
                page["kept_width"] = rows.n_features
                arrays["kept.indptr"], arrays["kept.indices"] = rows.indptr, rows.indices
                arrays["kept.values"] = rows.values
            else:
                arrays["kept.rows"] = rows
            if targets.dtype.kind in "biuf":
                arrays["kept.targets"] = targets
            else:
                page["kept_targets"] = labels_to_json(targets)
            if weights is not None:
                arrays["kept.weights"] = weights
        return page, arrays

    @classmethod
    def from_state(cls, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learner:
        """Undo ``state``."""
        learner = cls(
            Recipe(**page["recipe"]),
            classes=None if page["classes"] is None else labels_from_json(page["classes"]),
            n_features=page["n_features"],
            outputs=page["outputs"],
        )
        if "race" in page:
            learner.race = Race.from_state(page["race"], arrays, learner.recipe, page["n_features"])
        learner._moments = arrays.get("moments")
        targets = arrays.get("kept.targets")
        if "kept_targets" in page:
            targets = labels_from_json(page["kept_targets"])
        if targets is not None:
            rows: Rows
            if "kept.rows" in arrays:
                rows = arrays["kept.rows"]
            else:
                indptr, indices, values = (
                    arrays[f"kept.{name}"] for name in ("indptr", "indices", "values")
                )
                rows = SparseRows(indptr, indices, values, page["kept_width"])
            learner._kept = [(rows, targets, arrays.get("kept.weights"))]
        return learner

    def merge(self, others: list[Learner], base: Learner | None = None) -> None:
        """Become what this learner and others learned together, each from rows of its own.

        Averages and iterates are averaged, each counting as many times as it saw rows; clocks and
        progressive sums add up. Rows still kept back are learned afterwards. Where all of them
        went on from copies of one learner, give it as ``base``: what it knew then counts once.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(4000, 3))
        >>> parts = [Learner(Recipe(loss="squared_error")) for _ in range(2)]
        >>> for part, half in zip(parts, (X[:2000], X[2000:])):
        ...     part.learn(half, half @ [1.0, 2.0, 3.0])
        >>> parts[0].merge(parts[1:])
        >>> parts[0].rows_seen, parts[0].model().predict(np.eye(3)).round(1)
        (4000, array([1., 2., 3.]))
        """
        learners = [self, *others]
        kept = [rows for learner in learners for rows in learner._kept]
        started = [learner for learner in learners if learner.race is not None]
        self._kept = []
        if started:
            first = started[0]
            for other in started[1:]:
                if not _same(first.classes, other.classes):
                    raise DataError("the learners know different classes; give them all classes")
            if first is not self:
                copied = Learner.from_state(*first.state())
                self.classes, self.race = copied.classes, copied.race
                self._moments = copied._moments
            assert self.race is not None
            self.race.merge(
                [other.race for other in started[1:] if other.race is not None],
                None if base is None else base.race,
            )
        for rows, targets, weights in kept:
            self.learn(rows, targets, weights)

    # -- inside --------------------------------------------------------------------------------

    def _calibrate(
        self, rows: Rows, targets: NDArray[Any], order: NDArray[np.int64] | None
    ) -> Race:
        if order is not None:
            order = order[:CALIBRATION_ROWS]
            rows, targets = take_rows(rows, order), targets[order]
        rows, targets = rows[:CALIBRATION_ROWS], targets[:CALIBRATION_ROWS]
        if self.loss.classifies and self.classes is None:
            self.classes = distinct(targets)
            if len(self.classes) < 2:
                raise DataError(
                    f"the first {len(targets)} rows are all of class "
                    f"{label_text(self.classes[0])}; say which classes there are with classes=, "
                    "or shuffle the rows"
                )
        several = self.loss.classifies and self.classes is not None and len(self.classes) > 2
        outputs = len(self.classes) if several and self.classes is not None else self.outputs
        values = rows.values if hasattr(rows, "values") else rows
        rows = self._usual(rows)
        self.race = Race(
            self.recipe.candidates(rows, outputs),
            self.recipe,
            outputs=outputs,
            one_vs_rest=several,
            n_features=self.n_features,
            dtype=values.dtype,
            calibrate=self.loss.classifies,
        )
        self.race.look(rows)
        self._moments = second_moments(rows, fit_intercept=self.recipe.fit_intercept)
        self._kept = []
        return self.race

    def _usual(self, rows: Rows) -> Rows:
        """Leave rows out that would set every learning rate by their length alone."""
        if self.recipe.recipe != "auto":
            return rows
        far = unusual_rows(rows)
        if not len(far):
            return rows
        more = f", and so are {len(far) - 1} more of the first {len(rows)}" if len(far) > 1 else ""
        warnings.warn(
            f"row {far[0] + 1} is more than ten thousand times as long as the others{more}; "
            "the learning rate is found without it, but the model may still follow it",
            stacklevel=2,
        )
        return take_rows(rows, np.setdiff1d(np.arange(len(rows)), far))

    def _encode(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Turn labels into class numbers, or into -1 and +1 where there are two classes."""
        if not self.loss.classifies:
            return targets
        assert self.classes is not None
        if len(self.classes) == 2 and _are_numbers(self.classes) and _are_numbers(targets):
            positive, negative = targets == self.classes[1], targets == self.classes[0]
            if np.count_nonzero(positive) + np.count_nonzero(negative) == len(targets):
                return np.where(positive, 1.0, -1.0)
        order = np.argsort(self.classes)  # they may be in an order that someone asked for
        number = np.searchsorted(self.classes, targets, sorter=order)
        number[number == len(self.classes)] = 0
        number = order[number]
        unknown = self.classes[number] != targets
        if unknown.any():
            row = int(np.argmax(unknown))
            known = ", ".join(str(label) for label in self.classes[:10])
            raise DataError(
                f"row {row} has the label {targets[row]}, which is not among the classes {known}"
            )
        return number if len(self.classes) > 2 else 2.0 * number - 1.0


def _mean(total: float, count: float) -> float:
    return float(total / count) if count > 0 else float("nan")


def _are_numbers(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "biuf"


def _same(some: NDArray[Any] | None, others: NDArray[Any] | None) -> bool:
    if some is None or others is None:
        return some is others
    return np.array_equal(some, others)


def _replicas(coef: NDArray[Any], intercept: Floats, outputs: int) -> NDArray[Any] | None:
    """Arrange the replicas as (replicas, features + 1, outputs), the intercept last."""
    if len(coef) == 0:
        return None
    whole = np.hstack([coef, intercept[:, None].astype(coef.dtype)])
    return np.ascontiguousarray(whole.reshape(-1, outputs, whole.shape[1]).transpose(0, 2, 1))


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

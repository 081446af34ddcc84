"""The state of a fitted estimator: its learner, and the model made from it when first needed."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyak import _core
from polyak.errors import DivergenceError
from polyak.estimators.running_sums import TargetSpread
from polyak.learn.learner import Learner
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.rows.sparse import core_rows
from polyak.training.finishing import DataInfo, finished

Floats = NDArray[np.float64]


def draw_seed(rng: np.random.RandomState) -> int:
    """Return the seed of a new run."""
    return int(rng.randint(np.iinfo(np.int32).max))


class _Made(NamedTuple):
    """A cached model, with the learner and the learner's version it was made from."""

    learner: Learner
    version: int
    finished: Learner
    model: LinearModel


class Run:
    """A learner and its model, which is made on demand and cached until more rows are learned.

    The cost of a small batch therefore does not depend on the number of features. A run made of a
    model alone can predict but not learn. While one thread learns, other threads predict with the
    cached model of the last batch; without one they wait until this batch is learned.
    """

    def __init__(
        self,
        learner: Learner | None,
        model: LinearModel | None = None,
        known: DataInfo | None = None,
    ) -> None:
        self.learner = learner
        self.known = known or DataInfo()
        self.spread = TargetSpread()  # of a regression's targets
        self._given = model
        self._made: _Made | None = None
        self._passes = 0
        # The largest |x|² so far, and the largest product of |x|² and the row's weight. They are
        # measured only where `can_diverge`, for the advice in the warning.
        self.longest = 0.0
        self.heaviest = 0.0

    @property
    def seed(self) -> int:
        """The seed of the learner's recipe."""
        assert self.learner is not None
        return self.learner.recipe.seed

    @property
    def can_diverge(self) -> bool:
        """Whether a learning rate is used even where a step overshoots."""
        recipe = None if self.learner is None else self.learner.recipe
        if recipe is None or not recipe.is_paper or recipe.step == "implicit":
            return False
        return recipe.eta0 != "auto" or recipe.recipe == "paper-strict"

    def learn(
        self,
        X: Any,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None = None,
        again: bool = False,
    ) -> None:
        """Learn from rows; warn with advice if the weights overflow."""
        assert self.learner is not None
        if self.can_diverge and not again:
            self._measure(X, weights, order)
        with self._explained():
            self.learner.learn(X, targets, weights, order=order, again=again)

    def finish(self) -> None:
        """Learn the rows that the learner still holds back for calibration."""
        assert self.learner is not None
        with self._explained():
            self.learner.finish()
        if self.can_diverge:
            _ = self.model  # raises if the last row made the weights overflow

    def replace(self, fewer: Run) -> None:
        """Replace a run of fewer rows, whose lock other threads may be waiting for."""
        assert self.learner is not None
        assert fewer.learner is not None
        self.learner.lock = fewer.learner.lock

    def passed(self, passes: int) -> None:
        """Add ``passes`` to the number of passes over the rows."""
        self._passes += passes
        self.known = replace(self.known, passes=self._passes)
        self._made = None

    def set_feature_names(self, names: Mapping[int, str]) -> None:
        """Set the names of the model's features, which grow as rows bring new words."""
        self.known = replace(self.known, features=replace(self.known.features, names=names))

    @contextmanager
    def finished(self) -> Iterator[Learner]:
        """Yield the learner, locked, or a copy that has learned the rows it still holds back."""
        if self.learner is None:
            raise AttributeError("an estimator made from a model has no learner to ask")
        with self.learner.lock:
            yield self._up_to_date().finished

    @property
    def model(self) -> LinearModel:
        """The model of all rows so far."""
        return self._up_to_date().model if self._given is None else self._given

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}  # it can be made again

    # -- inside --------------------------------------------------------------------------------

    def _up_to_date(self) -> _Made:
        learner, made = self.learner, self._made
        assert learner is not None
        if made is None or made.learner is not learner or made.version != learner.version:
            with learner.lock:  # the version must not change before the model is made
                done = self._finish_copy(learner)
                made = _Made(learner, learner.version, done, self._model_of(done))
                self._made = made
        return made

    def _finish_copy(self, learner: Learner) -> Learner:
        if learner.race is not None:
            return learner
        done = copy.deepcopy(learner)
        with self._explained():
            done.finish(last=True)
        return done

    def _model_of(self, learner: Learner) -> LinearModel:
        model = finished(learner, self.known)
        with self._explained():
            if not (np.isfinite(model.weights).all() and np.isfinite(model.intercept).all()):
                raise DivergenceError("the weights overflowed")
        return model

    def _measure(self, X: Any, weights: Floats | None, order: NDArray[np.int64] | None) -> None:
        assert self.learner is not None
        lengths = _core.squared_norms(core_rows(X))
        lengths += self.learner.recipe.fit_intercept  # the intercept is a feature that is always 1
        chosen = slice(None) if order is None else order
        self.longest = max(self.longest, float(lengths[chosen].max(initial=0.0)))
        if weights is not None:
            lengths *= weights
        self.heaviest = max(self.heaviest, float(lengths[chosen].max(initial=0.0)))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DivergenceError:
            warnings.warn(
                f"The weights overflowed: {self._advice()}.", ConvergenceWarning, stacklevel=6
            )
            raise

    def _advice(self) -> str:
        """Return the reason for an overflow and, where there is one, a safe learning rate."""
        assert self.learner is not None
        recipe = self.learner.recipe
        if not self.can_diverge:
            return "the values of X or y are too large for the type of the weights"
        rate = "the first rate 1/M" if recipe.eta0 == "auto" else f"eta0={recipe.eta0:.6g}"
        found = f"{rate} is too large; the largest squared norm of a row is {self.longest:.6g}"
        if recipe.precondition not in ("auto", 0):
            # The safe rate then depends on all rows before, so there is no figure to give.
            return f'{found}; with a preconditioner, use step="implicit" or eta0="auto"'
        safe = 1.0 / (get_loss(recipe.loss).typical_curvature * self.heaviest)
        return (
            f"{found}, for which eta0={safe:.6g} would have been safe; "
            'recipe="paper" with eta0="auto" shortens such steps, and step="implicit" is always '
            "stable"
        )

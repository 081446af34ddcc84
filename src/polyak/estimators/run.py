"""What an estimator holds of a run: the learner, and what has been worked out from it since."""

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
from polyak.estimators.running import TargetSpread
from polyak.learn.learner import Learner
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.rows.sparse import as_rows, core_arrays
from polyak.training.finishing import DataInfo, finished

Floats = NDArray[np.float64]


def draw_seed(rng: np.random.RandomState) -> int:
    """Return the seed of a new run."""
    return int(rng.randint(np.iinfo(np.int32).max))


class _Made(NamedTuple):
    """A model, and what it was made of: whose, and as of which batch."""

    learner: Learner
    version: int
    settled: Learner
    model: LinearModel


class Run:
    """A learner and its model, which is made when first asked for and kept until more is learned.

    So a small batch costs what its rows cost, however many features there are. A run made of a
    model alone can predict but not learn. While one thread learns, others are answered by the
    model of the last batch, if it was made before, or wait for the end of this one.
    """

    def __init__(
        self,
        learner: Learner | None,
        model: LinearModel | None = None,
        known: DataInfo | None = None,
    ) -> None:
        self.learner = learner
        self.known = known or DataInfo()
        self.spread = TargetSpread()  # of numbers to predict
        self._given = model
        self._made: _Made | None = None
        self._passes = 0
        self.longest = 0.0  # the largest |x|^2 seen, and the largest times its row's weight:
        self.heaviest = 0.0  # known only where a step can overshoot

    @property
    def seed(self) -> int:
        """The seed of the run, which can learn."""
        assert self.learner is not None
        return self.learner.recipe.seed

    @property
    def can_diverge(self) -> bool:
        """Whether the steps are as long as the user said, even where they overshoot."""
        recipe = None if self.learner is None else self.learner.recipe
        if recipe is None or recipe.recipe != "paper":
            return False
        return recipe.eta0 != "auto" and recipe.step != "implicit"

    def learn(
        self,
        X: Any,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None = None,
        again: bool = False,
    ) -> None:
        """Learn from rows, or say why the weights overflowed."""
        assert self.learner is not None
        if self.can_diverge and not again:
            self._measure(X, weights, order)
        with self._explained():
            self.learner.learn(X, targets, weights, order=order, again=again)

    def finish(self) -> None:
        """Learn the rows the learner may have kept back: there will be no others for now."""
        assert self.learner is not None
        with self._explained():
            self.learner.finish()
        if self.can_diverge:
            _ = self.model  # raises where the last row overflowed, with none after it to notice

    def replace(self, fewer: Run) -> None:
        """Take the place of a run of fewer rows, for whose lock other threads may be waiting."""
        assert self.learner is not None
        assert fewer.learner is not None
        self.learner.lock = fewer.learner.lock

    def passed(self, passes: int) -> None:
        """Note that all rows were gone over so many times more."""
        self._passes += passes
        self.known = replace(self.known, passes=self._passes)
        self._made = None

    def know_names(self, names: Mapping[int, str]) -> None:
        """Name the features of the model; later rows may have words of their own."""
        self.known = replace(self.known, features=replace(self.known.features, names=names))

    @contextmanager
    def settled(self) -> Iterator[Learner]:
        """Give the learner, or a copy of it that has learned the rows it still keeps back.

        Nobody learns meanwhile: all that is read is as of one moment.
        """
        if self.learner is None:
            raise AttributeError("an estimator made from a model knows only what the model says")
        with self.learner.lock:
            yield self._up_to_date().settled

    @property
    def model(self) -> LinearModel:
        """The model as it stands."""
        return self._up_to_date().model if self._given is None else self._given

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}  # it can be made again

    # -- inside --------------------------------------------------------------------------------

    def _up_to_date(self) -> _Made:
        learner, made = self.learner, self._made
        assert learner is not None
        if made is None or made.learner is not learner or made.version != learner.version:
            with learner.lock:  # nobody learns between looking at the version and having the model
                settled = self._settle(learner)
                made = _Made(learner, learner.version, settled, self._model_of(settled))
                self._made = made
        return made

    def _settle(self, learner: Learner) -> Learner:
        if learner.race is not None:
            return learner
        settled = copy.deepcopy(learner)
        with self._explained():
            settled.finish()
        return settled

    def _model_of(self, settled: Learner) -> LinearModel:
        model = finished(settled, self.known)
        with self._explained():
            if not (np.isfinite(model.weights).all() and np.isfinite(model.intercept).all()):
                raise DivergenceError("the weights overflowed")
        return model

    def _measure(self, X: Any, weights: Floats | None, order: NDArray[np.int64] | None) -> None:
        assert self.learner is not None
        lengths = _core.squared_norms(*core_arrays(as_rows(X)))
        lengths += self.learner.recipe.fit_intercept  # the intercept's own feature is always one
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
        """Say, in numbers, what the user can do."""
        assert self.learner is not None
        recipe = self.learner.recipe
        if not self.can_diverge:
            return "the values of X or y are too large for the type of the weights"
        found = (
            f"eta0={recipe.eta0:.6g} is too large; the largest squared norm of a row is "
            f"{self.longest:.6g}"
        )
        if recipe.precondition not in (
            "auto",
            0,
        ):  # what a step then comes to depends on all rows before it
            return f'{found}; with a preconditioner, use step="implicit" or eta0="auto"'
        safe = 1.0 / (get_loss(recipe.loss).typical_curvature * self.heaviest)
        return (
            f"{found}, for which eta0={safe:.6g} would have been safe; "
            'eta0="auto" finds such a value, and step="implicit" is stable at any'
        )

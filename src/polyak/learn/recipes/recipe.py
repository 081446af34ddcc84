"""The recipe: what a user asked for, and what follows from that alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyak.learn.bank.settings import Step
from polyak.learn.newton.limits import most_features
from polyak.learn.schedules import CALIBRATION_ROWS
from polyak.losses import DEFAULT_LOSS, get_loss
from polyak.model.training_report import OF_AVERAGING
from polyak.rows.huge_values import WIDE

if TYPE_CHECKING:
    from polyak.learn.newton.block.penalty import Sparsity
    from polyak.model.columns import SourceColumns

Auto = Literal["auto"]
PENALTIES = ("l2", "l1", "elasticnet", "none")
CONSTRAINTS = ("positive", "negative", "increasing", "decreasing", "curves", "pairs")
RECIPES = ("auto", "sgd", "paper", "paper-strict")
ROWS_FOR_KNOTS = 4096
"""The number of first rows whose quantiles are the knots of curves."""
REPLICAS = 32
"""The number of replicas of each model that measure its standard errors."""
MOST_ONE_VS_REST = 50
"""With more classes averaged SGD learns their softmax. On 3,000 x 20 simulated rows of 100 classes,
Newton steps one against the rest lose 0.194 on new rows, averaged SGD 0.048."""

MANY_WEIGHTS, SEVERAL_WEIGHTS = 512, 128
"""The weights of all classes but one above which dense rows are learned by matrix products. Of 500
simulated rows, pixels and random features with 30 to 200 columns and 3 to 20 classes, these lose up
to 25% less on new rows than Newton steps, at a tenth of the time; with fewer weights, from 6% less
to 2% more. Of 3,000 rows they lose the same, or less where Newton steps learn classes apart.

The second is for rows in random order that are not fitted at once. Of eleven sets of 60,000 to
120,000 rows with long tails and 150 to 460 weights, matrix products have 0.99 to 1.01 times the
loss of the best batch fit, the other lanes 0.99 to 1.05 times, and once the constant's loss, in 2
to 15 times the processor time. With 120 weights they can have 1.07 times the loss of Newton
steps."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn: settings of "auto" are found from the data, see `polyak.learn.recipes.plan`.

    With ``recipe="paper"``, the paper's rules give the only candidate, with safeguards that
    "paper-strict" leaves out: see `polyak.learn.recipes.plan`. With "sgd", candidates of
    averaged SGD race; settings other than "auto" hold for all of them. With "auto", block Newton
    steps race too, where features are few and nothing is set that only averaged SGD has. In either
    race the best constant is the last candidate. With an ``alpha`` of zero, or a ``penalty`` of
    "none", there is no penalty. Several classes are learned together with log_loss, unless
    ``multi_class`` is "ovr". Columns that are ``increasing`` or ``decreasing`` have curves.

    Examples
    --------
    >>> Recipe(loss="log_loss", recipe="auto").takes_softmax
    True
    >>> Recipe(penalty="none").alpha
    0.0
    """

    loss: str = DEFAULT_LOSS
    recipe: str = "auto"
    alpha: float | Auto = "auto"
    eta0: float | Auto = "auto"
    decay: float | Auto = "auto"
    power_t: float | Auto = "auto"
    average: Auto | bool | int = "auto"
    step: Step | Auto = "auto"
    precondition: float | Auto = "auto"
    fit_intercept: bool = True
    intervals: bool = False
    seed: int = 0
    penalty: str = "l2"
    l1_ratio: float = 0.5
    positive: bool | tuple[str, ...] = False
    negative: tuple[str, ...] = ()
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    multi_class: str = "auto"
    curves: str | tuple[str, ...] | None = None
    pairs: str | int | tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        self._check_constraints()
        self._check_penalty()
        monotone = (*self.increasing, *self.decreasing)
        if self.curves != "all" and monotone:
            curves = dict.fromkeys((*(self.curves or ()), *monotone))
            object.__setattr__(self, "curves", tuple(curves))
        if self.recipe not in RECIPES:
            raise ValueError(f"recipe must be one of {', '.join(RECIPES)}, not {self.recipe!r}")
        if self.penalty == "none":
            object.__setattr__(self, "alpha", 0.0)
        if self.intervals and self.is_paper:
            raise ValueError(
                "intervals need recipe='auto': where the learning rate hardly decays, as under the "
                "paper's with a small alpha, they would be too narrow"
            )

    def _check_constraints(self) -> None:
        """Raise ValueError if constraints of columns contradict each other or other settings."""
        linear, pairs = self.signed_linear, self.pairs if isinstance(self.pairs, tuple) else ()
        constrained = (*linear, *self.increasing, *self.decreasing)
        for name in constrained:
            if constrained.count(name) > 1:
                raise ValueError(f"the column {name!r} can have only one constraint")
            if any(name in pair for pair in pairs):
                raise ValueError(f"the column {name!r} has a constraint, so it can be in no pair")
            if name in linear and self.curves != "all" and name in (self.curves or ()):
                raise ValueError(
                    f"the column {name!r} has a curve, which can be increasing or decreasing, but "
                    "not positive or negative"
                )
        for k, pair in enumerate(pairs):
            if len(set(pair)) != 2 or len(pair) != 2:
                raise ValueError(f"a pair is two different columns, not {pair!r}")
            if set(pair) in map(set, pairs[:k]):
                raise ValueError(f"the pair {pair!r} is asked for twice")
        if self.is_additive and (self.positive is True or self.penalty not in ("l2", "none")):
            raise ValueError(
                f"{self.sparse_setting} is for linear models, without curves, pairs and columns "
                "that are increasing or decreasing"
            )

    def _check_penalty(self) -> None:
        """Raise ValueError if the penalty is invalid, or if other settings exclude it.

        Averages of iterates have no zeros: sparse weights come from block Newton steps and, where
        features are many, from proximal steps.
        """
        if self.penalty not in PENALTIES:
            raise ValueError(f"a penalty is {', '.join(PENALTIES)}, not {self.penalty!r}")
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio is between 0 and 1, not {self.l1_ratio}")
        if self.penalty == "none" and self.alpha not in ("auto", 0):
            raise ValueError(f"with penalty=None alpha must be 'auto' or 0, not {self.alpha}")
        if not (self.is_sparse or self.is_additive):
            return
        what = self.sparse_setting
        if self.is_sparse and self.intervals:
            raise ValueError(f"there are no intervals with {what}: they know nothing of its bias")
        if self.recipe != "auto":
            raise ValueError(f"{what} needs recipe='auto', not {self.recipe!r}")
        for name in OF_AVERAGING:
            if getattr(self, name) != "auto":
                raise ValueError(f"{what} is not for averaged SGD, which {name} is a setting of")
        if not get_loss(self.loss).has_curvature:
            raise ValueError(f"{what} needs a loss with a curvature, which {self.loss} has not")

    @property
    def is_additive(self) -> bool:
        """Whether models of terms race too."""
        return bool(self.curves or self.pairs or self.increasing or self.decreasing)

    @property
    def signed_linear(self) -> tuple[str, ...]:
        """The columns without a curve whose weights have a given sign."""
        return (*(self.positive if isinstance(self.positive, tuple) else ()), *self.negative)

    @property
    def signs(self) -> dict[str, int]:
        """The columns with a constraint: 1 if the score must not fall in them, -1 if not rise."""
        falling = {*self.negative, *self.decreasing}
        every = (*self.signed_linear, *self.increasing, *self.decreasing)
        return {name: -1 if name in falling else 1 for name in every}

    @property
    def needs_columns(self) -> bool:
        """Whether the learner has to know the columns that features come from."""
        return self.is_additive or bool(self.signs)

    def sign_of(
        self, columns: SourceColumns | None
    ) -> Callable[[NDArray[np.int64]], NDArray[np.float64]] | None:
        """Return a function from features to the signs of their weights; None if all are free."""
        signs = self.signs
        if not (signs or self.positive):
            return None
        known = {} if columns is None else columns.signed_features(signs)
        return partial(_signs, known, int(self.positive is True))

    @property
    def first_rows(self) -> int:
        """The number of rows that settings, and the knots of curves, are found from."""
        return ROWS_FOR_KNOTS if self.is_additive else CALIBRATION_ROWS

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Recipe:
        """Return the recipe of fields as JSON has them."""

        def frozen(value: Any) -> Any:
            return tuple(map(frozen, value)) if isinstance(value, list) else value

        return cls(**{name: frozen(value) for name, value in fields.items()})

    @property
    def is_sparse(self) -> bool:
        """Whether weights are to be exactly zero, or of given signs."""
        sparse = self.penalty in ("l1", "elasticnet") and self.alpha != 0
        return sparse or self.positive is True or bool(self.signs)

    @property
    def sparse_setting(self) -> str:
        """The setting that asks for sparse weights, as text."""
        asked = [name for name in CONSTRAINTS if getattr(self, name)] or ["recipe"]
        name = "penalty" if self.penalty in ("l1", "elasticnet") else asked[0]
        return f"{name}={getattr(self, name)!r}"

    @property
    def is_unpenalised(self) -> bool:
        """Whether there is to be no penalty at all, whatever its kind."""
        return self.alpha == 0

    def sparsity(self) -> Sparsity | None:
        """Return the penalty that is asked for, unless it is a ridge in pseudo-observations."""
        if not self.is_sparse and (self.alpha == "auto" or self.is_unpenalised):
            return None
        from polyak.learn.newton.block.penalty import Sparsity  # with all that Newton steps need

        ratio = {"l1": 1.0, "l2": 0.0, "none": 0.0}.get(self.penalty, self.l1_ratio)
        in_rows = self.penalty == "l2" and self.alpha == "auto"
        return Sparsity(ratio, in_rows)

    @property
    def is_paper(self) -> bool:
        """Whether the paper's rules give the only candidate, with safeguards or without."""
        return self.recipe in ("paper", "paper-strict")

    @property
    def for_inference(self) -> bool:
        """Whether the weights themselves are asked for: with intervals, or without a penalty.

        Then the model is not the candidate that predicts best. It is the one that the intervals
        are of, or that has no penalty: Newton steps at the smallest penalty where they can run,
        else averaged SGD. Additive models always have intervals: with them the best of these wins.
        """
        return (self.intervals and not self.is_additive) or self.is_unpenalised

    @property
    def for_optimum(self) -> bool:
        """Whether the optimum of rows in memory is worth more passes of Newton steps."""
        return self.for_inference or self.is_additive or self.alpha != "auto"

    def sets(self, names: Sequence[str]) -> bool:
        """Whether any of these settings is something else than "auto"."""
        return {getattr(self, name) for name in names} != {"auto"}

    def takes_newton_steps(self, features: int, outputs: int) -> bool:
        """Whether features are few, and nothing is asked for that only averaged SGD has.

        Many classes would be learned one against the rest, which takes longer and is less accurate
        than averaged SGD of their softmax.
        """
        if self.takes_softmax and outputs > MOST_ONE_VS_REST:
            return False
        loss = get_loss(self.loss)
        has_steps = loss.is_smooth if self.intervals else loss.has_curvature
        if self.recipe != "auto" or not has_steps or self.sets(OF_AVERAGING):
            return False
        return features <= most_features(self.loss, outputs, intervals=self.intervals)

    def takes_dense_rows(self, width: int, outputs: int, most: int = MANY_WEIGHTS) -> bool:
        """Whether dense rows are learned by matrix products.

        So they are where features are many, or the weights of several classes more than ``most``,
        and nothing is asked for but the best weights at some ridge penalty; at a given one where
        Newton steps cannot find its optimum.
        """
        loss = get_loss(self.loss).name
        plain = self.recipe == "auto" and not self.sets(OF_AVERAGING)
        asked_for = self.intervals or self.is_unpenalised or self.is_sparse or self.is_additive
        if not plain or asked_for:
            return False
        if self.alpha != "auto" and loss == "log_loss":
            if outputs > 1 and self.takes_softmax:
                return not self.learns_together(width, outputs, width)
            return width > most_features(self.loss, outputs)
        if loss != "log_loss":
            return loss == "squared_error" and width > most_features(self.loss, 1)
        return width >= WIDE or (self.takes_softmax and width * (outputs - 1) > most)

    def learns_together(self, seen: int, outputs: int, features: int | None) -> bool:
        """Whether Newton steps learn several classes together, in one matrix.

        Where there may be more features than were ``seen`` in the first rows, room is left for
        twice their number. Intervals are of the weights of each class against the rest.
        """
        if outputs < 2 or not self.takes_softmax:
            return False
        most = 2 * seen if features is None else min(2 * seen, features)
        return most <= most_features(self.loss, outputs, together=True)

    @property
    def takes_softmax(self) -> bool:
        """Whether several classes are learned together, unless they do not fit one matrix."""
        several = self.multi_class == "auto" and not self.is_paper
        one_by_one = self.intervals or self.is_sparse
        return several and self.loss == "log_loss" and not one_by_one

    @property
    def replicas(self) -> int:
        """The number of replicas of each candidate of averaged SGD."""
        return REPLICAS if self.intervals else 0


def _signs(
    known: Mapping[int, int], others: int, features: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the signs of features' weights: of those that are known, and of all others."""
    return np.array([known.get(feature, others) for feature in features.tolist()], dtype=float)

"""Recipes: from what a user asked for and the first rows to the candidates that will learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging, averaging_of
from polyak.learn.bank.settings import Step
from polyak.learn.newton.limits import PENALTIES, SMALL_PENALTIES, UNPENALISED, most_features
from polyak.learn.newton.sparse.asking import OF_AVERAGING, check, is_sparse, is_unpenalised
from polyak.learn.recipes.candidates import (
    ROOM_FOR_MOVING,
    AlphaCandidate,
    AnyCandidate,
    Candidate,
    ConstantCandidate,
    NewtonCandidate,
    most_candidates,
)
from polyak.learn.recipes.plan import ProximalSettings, adaptive_rates, proximal_settings
from polyak.learn.schedules import (
    Polynomial,
    largest_squared_length,
    mean_squares,
    squared_length_by,
)
from polyak.losses import get_loss
from polyak.rows.sparse import Rows, row_widths

Auto = Literal["auto"]
DEFAULT_ALPHA = 1e-4
REPLICAS = 32
"""How many replicas of each model measure its standard errors."""
INTERVAL_DECAY = 0.3
"""The decay a, in units of the curvature, where intervals are asked for.

Their candidates see every feature in units of its own root mean square (p = 1), so the smallest
eigenvalue of the Hessian, which a should be near, is a fraction of the curvature whatever the
number of features. With a much smaller a the rate hardly decays, and the average keeps a bias
that no replica sees.
"""
MOST_ONE_VS_REST = 50
"""With more classes averaged SGD learns their softmax. On 3,000 x 20 simulated rows of 100 classes,
Newton steps one against the rest lose 0.194 on new rows, averaged SGD 0.048."""
BESIDE_NEWTON = 8
"""How many candidates of averaged SGD race beside block Newton steps."""
CONSTANT_RATES = (1 / 8, 1 / 32, 1 / 128)
"""Learning rates of candidates that do not rest, times curvature and mean squared norm: where the
best rate is in between, either side of it is next to as good."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn: whatever is "auto" is found from the data.

    With ``recipe="paper"``, the paper's rules give the one candidate there is. With "sgd",
    candidates of averaged SGD race; whatever is set to something else than "auto" is kept for all
    of them. With "auto", block Newton steps race too, where features are few and nothing is set
    that only averaged SGD has. In either race the best constant is the last candidate. With an
    ``alpha`` of zero, or a ``penalty`` of "none", there is no penalty. Several classes are learned
    together with log_loss, unless ``multi_class`` is "ovr".

    Examples
    --------
    >>> Recipe(loss="log_loss", alpha=1e-5, recipe="paper").candidates(np.eye(3))
    [Candidate(alpha=1e-05, schedule=Polynomial(gamma0=0.5, a=1e-05, c=0.75), ...)]
    >>> len(Recipe(recipe="sgd").candidates(np.eye(3)))
    55
    >>> Recipe(recipe="auto").candidates(np.eye(3))[-2:]
    [NewtonCandidate(penalty=1000.0, softmax=False), ConstantCandidate(constant=True)]
    >>> Recipe(recipe="auto", alpha=0.1).candidates(np.eye(3))[-2:]
    [AlphaCandidate(penalty=0.1, softmax=False, of_mean=True), ConstantCandidate(constant=True)]
    """

    loss: str = "squared_hinge"
    recipe: str = "paper"
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
    positive: bool = False
    multi_class: str = "auto"

    def __post_init__(self) -> None:
        check(self)
        if self.penalty == "none":
            object.__setattr__(self, "alpha", 0.0)
        if self.intervals and self.recipe == "paper":
            raise ValueError(
                "intervals need recipe='auto': where the learning rate hardly decays, as under the "
                "paper's with a small alpha, they would be too narrow"
            )

    @property
    def for_inference(self) -> bool:
        """Whether the weights themselves are asked for: with intervals, or without a penalty.

        Then the model is not the candidate that predicts best. It is the one that the intervals
        are of, or that has no penalty: Newton steps at the smallest penalty where they can run,
        else averaged SGD.
        """
        return self.intervals or is_unpenalised(self)

    def candidates(
        self,
        rows: Rows,
        outputs: int = 1,
        n_features: int | None = None,
        shifted: Rows | None = None,
        *,
        may_drift: bool = False,
        path: Sequence[float] = (),
        unit: float = 1.0,
    ) -> list[AnyCandidate]:
        """Look at the first rows, also as averaged SGD will see them; say what to learn with.

        ``n_features`` is how many there can be, where that is known. Where rows ``may_drift``,
        some candidates do not stop moving: see `polyak.learn.race.elimination`. ``path`` is which
        penalties to try where weights are to be zero and nobody has said how many. Scores are of
        the size of ``unit``.
        """
        if is_sparse(self):
            return self._sparse(rows, outputs, n_features, path, unit)
        if self.recipe == "paper":
            return [self._paper(rows)]
        if self.recipe not in ("auto", "sgd"):
            raise ValueError(f"a recipe is 'auto', 'sgd' or 'paper', not {self.recipe!r}")
        how = self.for_averaged_sgd(outputs, n_features)
        seen = rows if shifted is None else shifted
        averaged = how._sgd(seen)
        from polyak.learn.newton.frequent import features_seen  # the paper's recipe starts sooner

        features, beside = features_seen(rows), BESIDE_NEWTON
        most = most_candidates(int(row_widths(rows).max(initial=0)), outputs * (1 + how.replicas))
        if self._takes_newton_steps(features, outputs):
            averaged = averaged[:most]
        else:
            adaptive = how._adaptive(seen)
            # After those that run beside Newton steps: parts of a race may have them or not.
            first = BESIDE_NEWTON if most >= BESIDE_NEWTON + len(adaptive) else 2
            averaged = [*averaged[:first], *adaptive, *averaged[first:]][:most]
            frequent = self._frequent(rows, outputs)
            if frequent is None:
                moving = how._moving(seen, outputs, 0.5) if may_drift else []
                return [*averaged, *moving, ConstantCandidate()]
            features, n_features, beside = len(frequent), len(frequent), len(averaged)
        moving = how._moving(seen, outputs, 1.0) if may_drift else []
        # They win on most narrow rows, so that a few others will do beside them.
        together = self.learns_together(features, outputs, n_features)
        newton: list[AnyCandidate]
        if is_unpenalised(self):
            newton = [NewtonCandidate(UNPENALISED, together)]
        elif self.alpha != "auto":
            newton = [AlphaCandidate(float(self.alpha), together)]
        else:
            small = (UNPENALISED,) if self.intervals else SMALL_PENALTIES
            newton = [NewtonCandidate(penalty, together) for penalty in (*small, *PENALTIES)]
        return [*averaged[:beside], *newton, *moving, ConstantCandidate()]

    def _sparse(
        self,
        rows: Rows,
        outputs: int,
        n_features: int | None,
        path: Sequence[float],
        unit: float,
    ) -> list[AnyCandidate]:
        """Give Newton steps; proximal steps where features are many, or in reserve, may they be."""
        from polyak.learn.newton.frequent import features_seen

        most = most_features(self.loss, outputs)
        alphas = [] if self.alpha == "auto" else [float(self.alpha)]
        settings = proximal_settings(rows, alphas, path, unit)
        if features_seen(rows) > most:
            return [*self._proximal(rows, outputs, settings), ConstantCandidate()]
        in_rows = self.penalty == "l2" and self.alpha == "auto"  # and no weight is to be negative
        newton = map(NewtonCandidate, PENALTIES) if in_rows else map(AlphaCandidate, alphas or path)
        may_leave = n_features is None or n_features > most
        reserve = [one for one in settings if one.eta == settings[0].eta] if may_leave else []
        return [*self._proximal(rows, outputs, reserve), *newton, ConstantCandidate()]

    def _proximal(
        self, rows: Rows, outputs: int, settings: Sequence[ProximalSettings]
    ) -> list[Candidate]:
        width = int(row_widths(rows).max(initial=0))
        return [
            Candidate(
                alpha=alpha,
                schedule=Polynomial(gamma0=eta, a=hold, c=0.5),
                averaging=Averaging(None),
                step="proximal",
                precondition=0.5,
                capped=True,
                largest_squared_length=largest_squared_length(
                    rows, fit_intercept=self.fit_intercept
                ),
            )
            for alpha, eta, hold in settings
        ][: most_candidates(width, outputs)]

    def for_averaged_sgd(self, outputs: int, n_features: int | None) -> Recipe:
        """Give the same without intervals, where those are certain to come from Newton steps."""
        if n_features is None or not self._takes_newton_steps(n_features, outputs):
            return self
        # Intervals are of each class against the rest, and so are those whom they race with.
        return replace(self, intervals=False, multi_class="ovr") if self.intervals else self

    def _takes_newton_steps(self, features: int, outputs: int) -> bool:
        """Whether features are few, and nothing is asked for that only averaged SGD has.

        Many classes would be learned one against the rest, which takes longer and is less accurate
        than averaged SGD of their softmax.
        """
        if self.takes_softmax and outputs > MOST_ONE_VS_REST:
            return False
        set_by_user = {getattr(self, name) for name in OF_AVERAGING} != {"auto"}
        loss = get_loss(self.loss)
        has_steps = loss.is_smooth if self.intervals else loss.has_curvature
        if self.recipe != "auto" or not has_steps or set_by_user:
            return False
        return features <= most_features(self.loss, outputs, intervals=self.intervals)

    def _frequent(self, rows: Rows, outputs: int) -> NDArray[np.int64] | None:
        """Return the features that Newton steps may learn though there are too many of them."""
        if self.for_inference or not self._takes_newton_steps(0, outputs):
            return None
        from polyak.learn.newton.frequent import frequent_features

        return frequent_features(rows, most_features(self.loss, outputs))

    def learns_together(self, features: int, outputs: int, n_features: int | None) -> bool:
        """Tell whether Newton steps are to learn several classes together, in one matrix.

        Where there may be more features than the first rows have, room is left for as many again.
        Intervals are of the weights of each class against the rest.
        """
        if outputs < 2 or not self.takes_softmax:
            return False
        most = min(2 * features, 2 * features if n_features is None else n_features)
        return most <= most_features(self.loss, outputs, together=True)

    @property
    def takes_softmax(self) -> bool:
        """Tell whether several classes are learned together, unless they do not fit one matrix."""
        several = self.multi_class == "auto" and self.recipe != "paper"
        one_by_one = self.intervals or is_sparse(self)
        return several and self.loss == "log_loss" and not one_by_one

    @property
    def replicas(self) -> int:
        """How many replicas each candidate of averaged SGD has."""
        return REPLICAS if self.intervals else 0

    def _paper(self, rows: Rows) -> Candidate:
        loss = get_loss(self.loss)
        alpha = DEFAULT_ALPHA if self.alpha == "auto" else float(self.alpha)
        M = largest_squared_length(rows, fit_intercept=self.fit_intercept)
        schedule = Polynomial(
            gamma0=1.0 / M if self.eta0 == "auto" else float(self.eta0),
            a=alpha if self.decay == "auto" else float(self.decay),
            c=loss.power if self.power_t == "auto" else float(self.power_t),
        )
        return Candidate(
            alpha=alpha,
            schedule=schedule,
            averaging=averaging_of(self.average) or Averaging("auto"),
            step="explicit" if self.step == "auto" else self.step,
            precondition=0.0 if self.precondition == "auto" else float(self.precondition),
            # A learning rate the user set is used as it is, even where it overshoots.
            capped=self.eta0 == "auto",
            largest_squared_length=M,
        )

    def _sgd(self, rows: Rows) -> list[Candidate]:
        loss = get_loss(self.loss)
        bend = loss.typical_curvature
        M = largest_squared_length(rows, fit_intercept=self.fit_intercept)
        step: Step = "implicit" if self.step == "auto" else self.step
        weighted = Averaging(0, 1.0 if self.intervals else 3.0)
        settings = self._settings()
        means = mean_squares(rows)
        lengths = {
            p: squared_length_by(means, p, fit_intercept=self.fit_intercept)
            for p in {p for *_, p in settings}
        }
        candidates: dict[Candidate, None] = {}
        for alpha, rho, g, p in settings:
            length = lengths[p]
            decay = INTERVAL_DECAY if self.intervals else rho * length
            schedule = Polynomial(
                gamma0=g / (bend * length) if self.eta0 == "auto" else float(self.eta0),
                a=decay * bend if self.decay == "auto" else float(self.decay),
                c=loss.power if self.power_t == "auto" else float(self.power_t),
            )
            candidate = Candidate(
                alpha=alpha,
                schedule=schedule,
                averaging=averaging_of(self.average) or weighted,
                step=step,
                precondition=p,
                capped=True,
                largest_squared_length=M,
            )
            overshoots = step == "explicit" and alpha * schedule.gamma0 >= 1
            if not overshoots:
                candidates[candidate] = None
        if not candidates:
            raise ValueError(
                f"alpha * eta0 must be below 1 for explicit steps, but alpha = {self.alpha} and "
                f"eta0 = {self.eta0}: the penalty alone would push the weights past zero"
            )
        return list(candidates)

    def _adaptive(self, rows: Rows) -> list[Candidate]:
        """Give candidates whose rates follow gradients, for two classes or more: see `adaptive`."""
        asked = {getattr(self, name) for name in OF_AVERAGING} != {"auto"}
        if self.recipe != "auto" or self.intervals or asked or not get_loss(self.loss).classifies:
            return []
        M = largest_squared_length(rows, fit_intercept=self.fit_intercept)
        length = squared_length_by(mean_squares(rows), 0.0, fit_intercept=self.fit_intercept)
        return [
            Candidate(
                alpha=1e-6 if self.alpha == "auto" else float(self.alpha),
                schedule=rate.schedule,
                averaging=Averaging(None),
                step="implicit",
                precondition=rate.power,
                capped=True,
                largest_squared_length=M,
                adagrad=rate.least,
            )
            for rate in adaptive_rates(length)
        ]

    def _moving(self, rows: Rows, outputs: int, p: float) -> list[Candidate]:
        """Give candidates of constant rates, unless it is set how to learn, or memory is short."""
        width = int(row_widths(rows).max(initial=0))
        short = most_candidates(width, outputs) < ROOM_FOR_MOVING
        asked = {getattr(self, name) for name in ("alpha", *OF_AVERAGING)} != {"auto"}
        if short or self.intervals or asked:
            return []
        loss = get_loss(self.loss)
        bend = loss.typical_curvature
        length = squared_length_by(mean_squares(rows), p, fit_intercept=self.fit_intercept)
        return [
            Candidate(
                alpha=1e-6,
                schedule=Polynomial(gamma0=g / (bend * length), a=0.0, c=loss.power),
                averaging=Averaging(None),
                step="implicit",
                precondition=p,
                capped=True,
                largest_squared_length=largest_squared_length(
                    rows, fit_intercept=self.fit_intercept
                ),
            )
            for g in CONSTANT_RATES
        ]

    def _settings(self) -> list[tuple[float, float, float, float]]:
        """List (alpha, rho, g, p), the most promising first: later ones may not fit in memory.

        The learning rate begins at g / (curvature * mean squared norm) and decays by
        a = rho * curvature * mean squared norm.
        """
        powers = [0.5, 0.25, 1.0] if self.precondition == "auto" else [float(self.precondition)]
        if self.intervals:  # two candidates will do: each has its replicas
            alpha = 1e-6 if self.alpha == "auto" else float(self.alpha)
            return [(alpha, 0.0, g, powers[-1]) for g in (2.0, 0.5)]
        rates = [  # (rho, g)
            *[(1e-3, 0.5), (1e-4, 2.0), (1e-3, 2.0), (3e-4, 2.0), (1e-4, 0.5), (1e-2, 8.0)],
            *[(3e-4, 8.0), (1e-2, 2.0), (1e-3, 8.0), (3e-3, 2.0), (1e-4, 8.0), (3e-3, 8.0)],
            *[(1e-3, 0.125), (1e-2, 0.5)],
        ]
        if self.alpha != "auto":
            return [(float(self.alpha), rho, g, p) for (rho, g), p in product(rates, powers)]
        light = [(1e-6, rho, g, p) for (rho, g), p in product(rates, powers)]
        heavy = [(1e-4, 1e-3, g, p) for g, p in product((0.5, 2.0, 8.0, 0.125), powers)]
        return light + heavy

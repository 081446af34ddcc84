"""Recipes: from what a user asked for and the first rows to the candidates that will learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polyak.averaging import Averaging
from polyak.bank import Bank, Step
from polyak.losses import get_loss
from polyak.rows import Rows
from polyak.schedules import Polynomial, largest_squared_length

Auto = Literal["auto"]
DEFAULT_ALPHA = 1e-4


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn: whatever is "auto" is found from the data.

    Examples
    --------
    >>> Recipe(loss="log_loss", alpha=1e-5).candidates(np.eye(3))
    [Candidate(alpha=1e-05, schedule=Polynomial(gamma0=0.5, a=1e-05, c=0.75), ...)]
    """

    loss: str = "squared_hinge"
    recipe: str = "paper"
    alpha: float | Auto = DEFAULT_ALPHA
    eta0: float | Auto = "auto"
    decay: float | Auto = "auto"
    power_t: float | Auto = "auto"
    average: Auto | bool | int = "auto"
    step: Step = "explicit"
    precondition: float = 0.0
    fit_intercept: bool = True
    seed: int = 0

    def candidates(self, rows: Rows) -> list[Candidate]:
        """Look at the first rows and say what to learn with."""
        loss = get_loss(self.loss)
        alpha = DEFAULT_ALPHA if self.alpha == "auto" else float(self.alpha)
        M = largest_squared_length(rows, fit_intercept=self.fit_intercept)
        schedule = Polynomial(
            gamma0=1.0 / M if self.eta0 == "auto" else float(self.eta0),
            a=alpha if self.decay == "auto" else float(self.decay),
            c=loss.power if self.power_t == "auto" else float(self.power_t),
        )
        return [
            Candidate(
                alpha=alpha,
                schedule=schedule,
                averaging=_averaging(self.average),
                step=self.step,
                precondition=self.precondition,
                # A learning rate the user set is used as it is, even where it overshoots.
                capped=self.eta0 == "auto",
                largest_squared_length=M,
            )
        ]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One complete way to learn, ready to run."""

    alpha: float
    schedule: Polynomial
    averaging: Averaging
    step: Step
    precondition: float
    capped: bool
    largest_squared_length: float

    def shares_bank_with(self, other: Candidate) -> bool:
        """Tell whether the two differ only in what the models of one bank may differ in."""
        return self._of_the_bank() == other._of_the_bank()

    def _of_the_bank(self) -> tuple[Any, ...]:
        return (self.averaging, self.step, self.precondition, self.capped, self.schedule.c)


def make_bank(
    candidates: list[Candidate],
    recipe: Recipe,
    *,
    outputs: int,
    one_vs_rest: bool,
    n_features: int | None,
    dtype: Any,
) -> Bank:
    """Make a bank of candidates that can share one: for each, a model an output."""
    first = candidates[0]
    return Bank(
        loss=recipe.loss,
        alpha=np.repeat([c.alpha for c in candidates], outputs),
        schedule=[c.schedule for c in candidates for _ in range(outputs)],
        averaging=first.averaging,
        step=first.step,
        precondition=first.precondition,
        capped=first.capped,
        fit_intercept=recipe.fit_intercept,
        n_features=n_features,
        dtype=dtype,
        one_vs_rest=one_vs_rest,
        outputs=np.tile(np.arange(outputs), len(candidates)),
        group=outputs,
        seed=recipe.seed,
    )


def _averaging(average: Auto | bool | int) -> Averaging:
    if average == "auto" and isinstance(average, str):
        return Averaging("auto")
    if average is False:
        return Averaging(None)
    return Averaging(0 if average is True else int(average))

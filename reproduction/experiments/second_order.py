"""Where averaged SGD and block Newton steps meet: at the paper's lower bound.

Of any estimate from t rows the excess risk is at least about ``tr(A⁻¹S) / 2t``, A being the Hessian
at the optimum and S the covariance of the gradient there. Averaged SGD comes near it after some
``1 / (λ0 γ0)`` rows; second-order SGD, ``γ_t = A⁻¹ / t``, as soon as it knows A. Here both learn a
logistic regression whose flattest direction is made flatter and flatter. A tenth of the labels are
drawn by lot, so that the model is not true and ``S`` is not ``A``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.newton.solver import NewtonSolver
from polyak.learn.schedules import Polynomial
from reproduction.claims import Claim
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result, share_of_drawn
from reproduction.tables import Table
from reproduction.theory import asymptotic_variance, rows_to_asymptotics
from reproduction.thresholds import number

TITLE = "Where averaged SGD and block Newton steps meet"
ABOUT = (
    "After t rows no algorithm can be expected to be nearer to the best risk than tr(A⁻¹S) / 2t. "
    "Averaged stochastic gradient descent (ASGD) comes near that after 1 / (λ0 γ0) rows, the more "
    "of them the flatter the flattest direction; steps that use the curvature need not wait. Here "
    "both learn a logistic regression, one row after the other, each row once."
)

Floats = NDArray[np.float64]
FEATURES, LOT = 10, 0.1
CONDITIONS = (1, 100, 10_000)
"""Variances of the features go from one to one over these."""
ROWS, SEEDS, WHOLE = 200_000, 10, 100_000
NEWTON = "block Newton steps"
MARKS = sorted({round(10 ** (step / 4)) for step in range(8, 22)} | {ROWS})


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Run every seed of every problem."""
    rows = max(1000, round(ROWS * share_of_drawn(scale)))
    return [
        Piece(
            f"second-order-{condition}-seed{seed}",
            simulate,
            {"condition": condition, "seed": seed, "rows": rows},
        )
        for condition in CONDITIONS
        for seed in range(SEEDS)
    ]


class Problem:
    """Features, their labels' probabilities, and what the theory asks for."""

    def __init__(self, condition: float) -> None:
        self.sizes = np.geomspace(1.0, 1.0 / np.sqrt(condition), FEATURES)
        self.truth = 0.5 / self.sizes
        self.X = np.random.default_rng(20111113).standard_normal((WHOLE, FEATURES)) * self.sizes
        self.p = self.probabilities(self.X)
        self.best = np.zeros(FEATURES)
        for _ in range(20):  # Newton's method, from where it converges
            slope, bend = self._slope_and_bend()
            self.best -= np.linalg.solve(self._mean(bend), self.X.T @ slope / WHOLE)
        guess = _sigmoid(self.X @ self.best)
        self.A = self._mean(guess * (1 - guess))
        self.S = self._mean(self.p * (1 - guess) ** 2 + (1 - self.p) * guess**2)
        self.gamma0 = 1.0 / float(np.square(self.sizes).sum())
        self.lambda0 = float(np.linalg.eigvalsh(self.A)[0])

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of the positive class."""
        return LOT / 2 + (1 - LOT) * _sigmoid(X @ self.truth)

    def draw(self, random: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
        """Draw rows and their labels."""
        X = random.standard_normal((rows, FEATURES)) * self.sizes
        return X, np.where(random.random(rows) < self.probabilities(X), 1.0, -1.0)

    def excess(self, theta: Floats) -> float:
        """Return the excess risk over the best weights."""
        return self._risk(theta) - self._risk(self.best)

    def _risk(self, theta: Floats) -> float:
        scores = self.X @ theta
        return float(np.mean(np.logaddexp(0.0, scores) - self.p * scores))

    def _slope_and_bend(self) -> tuple[Floats, Floats]:
        guess = _sigmoid(self.X @ self.best)
        return guess - self.p, guess * (1 - guess)

    def _mean(self, weights: Floats) -> Floats:
        return np.asarray((self.X * weights[:, None]).T @ self.X / WHOLE)


def simulate(condition: float, seed: int, rows: int) -> Result:
    """Let both learn the same rows, and measure the excess risk over the bound now and then."""
    problem = _problem(condition)
    random = np.random.default_rng([20111114, seed])
    rate = Polynomial(problem.gamma0, problem.lambda0, 3 / 4)
    bank = Bank(
        loss="log_loss",
        alpha=0.0,
        schedule=rate,
        averaging=Averaging(0),
        fit_intercept=False,
        n_features=FEATURES,
        progressive=False,
        capped=False,
    )
    X, y = problem.draw(random, rows)
    lane = NewtonSolver("log_loss", X[:1000], penalties=(0.1,), fit_intercept=False)
    variance = asymptotic_variance(problem.A, problem.S)
    marks = [mark for mark in MARKS if mark <= rows]
    over: dict[str, list[float]] = {"ASGD": [], NEWTON: []}
    for begin, end in zip([0, *marks], marks, strict=False):
        for learner in (bank, lane):
            learner.learn(X[begin:end], y[begin:end])
        for name, theta in (("ASGD", bank.coef[0]), (NEWTON, lane.weights()[0][0])):
            over[name].append(2 * end * problem.excess(theta) / variance)
    return {
        "condition": condition,
        "rows": marks,
        "over": over,
        "variance": variance,
        "rows_needed": rows_to_asymptotics(problem.lambda0, problem.gamma0),
    }


@cache
def _problem(condition: float) -> Problem:
    """Make a problem once a process: all seeds have the same, and its optimum takes a while."""
    return Problem(condition)


def _sigmoid(scores: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


# -- what it shows ---------------------------------------------------------------------------------


def _of_conditions(results: dict[str, Result]) -> list[tuple[Result, dict[str, Floats]]]:
    """Return a result of every condition, and the means over seeds."""
    found = []
    for condition in CONDITIONS:
        own = [result for result in results.values() if result["condition"] == condition]
        names = own[0]["over"]
        means = {name: np.mean([part["over"][name] for part in own], axis=0) for name in names}
        found.append((own[0], means))
    return found


def meeting(rows: list[int], over: Floats, within: float = 2.0) -> int | None:
    """Return the row from which an excess risk stays within a multiple of the bound."""
    beyond = np.flatnonzero(over > within)
    after = int(beyond[-1]) + 1 if len(beyond) else 0
    return rows[after] if after < len(rows) else None


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says of second-order SGD, and of averaging given enough rows."""
    told, met, early = [], [], []
    for one, means in _of_conditions(results):
        asgd, newton = (meeting(one["rows"], means[name]) for name in ("ASGD", NEWTON))
        words = f"not by {one['rows'][-1]:,}" if asgd is None else f"from {asgd:,} rows on"
        told.append(f"{words} where 1 / (λ0 γ0) is {one['rows_needed']:,.0f}")
        if one["rows"][-1] >= number("order") * one["rows_needed"]:  # enough rows, by the theory
            met.append(asgd is not None)
        early.append(newton is not None and newton <= 1000)
    enough = max(_of_conditions(results)[0][0]["rows"]) >= ROWS
    return [
        Claim(
            "“If this optimal matrix step size is used, then asymptotically second order SGD is as "
            "good as explicitly optimizing the empirical loss”",
            "section 1",
            "block Newton steps are within twice the least excess risk that can be expected from "
            + ("1,000 rows on at the latest" if all(early) else "later than 1,000 rows on"),
            all(early) if enough else None,
            "second-order",
        ),
        Claim(
            "“θ̄_t converges to θ* as good as full second order SGD, which means that if there are "
            "enough training samples, ASGD can obtain the parameter as good as the empirical "
            "optimal parameter”",
            "section 1",
            f"ASGD is within twice the least excess risk that can be expected {', '.join(told)}",
            all(met) if enough else None,
            "second-order",
        ),
    ]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw both for every condition."""
    axes: dict[str, Any] = {"x_log": True, "y_log": True}
    panels = [
        Panel(
            f"1 / (λ0 γ0) = {one['rows_needed']:,.0f} rows",
            "rows",
            "excess risk over tr(A⁻¹S) / 2t",
            [
                Series(name, one["rows"], mean.tolist(), style="auto" if name == NEWTON else None)
                for name, mean in means.items()
            ],
            **axes,
            y_range=(0.3, 300.0),
            lines_at={1.0: "the bound"},
        )
        for one, means in _of_conditions(results)
    ]
    return [
        Figure(
            "second-order",
            "Averaged SGD and block Newton steps meet at the bound",
            "How many times the least excess risk that can be expected after so many rows each of "
            f"them has, means of {SEEDS} seeds. From left to right the flattest direction becomes "
            "a hundred times flatter: ASGD needs as many times more rows to come down to 1, the "
            "steps that use the curvature do not.",
            panels,
            columns=3,
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the means as numbers."""
    lines = [
        [one["condition"], one["rows_needed"], one["variance"], t, asgd, newton]
        for one, means in _of_conditions(results)
        for t, asgd, newton in zip(one["rows"], means["ASGD"], means[NEWTON], strict=True)
    ]
    heads = ["largest over smallest variance", "1 / (λ0 γ0)", "tr(A⁻¹S)", "rows", "ASGD", NEWTON]
    about = f"Excess risk over tr(A⁻¹S) / 2t, means of {SEEDS} seeds."
    return [Table("second-order", "Excess risk over the bound", about, heads, lines)]

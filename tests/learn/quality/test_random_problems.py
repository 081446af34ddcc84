"""Random problems: whatever the table, a fit is sound, honest, and the same by any route.

A seed describes a problem completely. To look at some of them alone, or to count what fails:

    python tests/learn/quality/test_random_problems.py 17 202
    python tests/learn/quality/test_random_problems.py --problems 2000
    POLYAK_PROBLEMS=2000 python -m pytest tests/learn/quality/test_random_problems.py -m slow
"""

from __future__ import annotations

import argparse
import os
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from row_losses import constant_losses, effective_rows, estimate, model_losses
from scipy import sparse

from polyak import ASGDClassifier, ASGDRegressor
from polyak.losses import get_loss, names_of

PROBLEMS = int(os.environ.get("POLYAK_PROBLEMS", "300"))
FRESH_ROWS = 20_000
"""Four times the largest table, so that the error of fresh rows is the smaller part."""
MOST_VALUES, MOST_VALUES_OF_A_PATH = 200_000, 20_000
"""Rows times columns, at most, so that 300 problems take minutes; L1 paths take longest."""
HONEST = 5.0
"""Standard errors between ``recent_loss_`` and the loss on fresh rows, at most."""
NOT_WORSE = 4.0
"""Standard errors above the constant's loss, at most: chance exceeds them in 3e-5 of all cases,
so in none of 2,000 problems; three would be exceeded in 2.7 of them."""
OWN_FIGURES = 2.0
"""Standard errors of ``recent_loss_`` above ``constant_loss_``, at most: no chance is in it, but
the losses that choose may be capped, and those reported are not."""
TOLERANCE = 0.01
"""The share of the constant's loss that counts as nothing."""
NOTHING = 1e-8
"""A loss that is none: a constant for counts that are all zero loses 1e-9."""
ROWS_TO_JUDGE = 5
"""Of fewer rows a standard error says nothing."""

CLASSIFIES = names_of(classifies=True)
PENALTIES: list[dict[str, Any]] = [
    {},
    {"alpha": 0.0},
    {"alpha": 1e-4},
    {"alpha": 1e-2},
    {"alpha": 1.0},
    {"penalty": "l1"},
    {"penalty": "l1", "alpha": 1e-2},
    {"penalty": "elasticnet"},
    {"penalty": "elasticnet", "alpha": 1e-2, "l1_ratio": 0.2},
    {"positive": True},
]


class Table(NamedTuple):
    """Rows as numbers, a word for each row where there are dummies, targets and weights."""

    X: np.ndarray
    levels: np.ndarray | None
    y: np.ndarray
    weights: np.ndarray | None

    def part(self, rows: Any) -> Table:
        return Table(*(None if each is None else each[rows] for each in self))


@dataclass(frozen=True)
class Problem:
    """What to learn, and from which rows; everything else follows from the seed."""

    seed: int
    loss: str
    penalty: dict[str, Any]
    rows: int
    columns: int
    container: str
    classes: int = 0
    levels: int = 0
    ingredients: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def draw(cls, seed: int) -> Problem:
        """Draw a problem; half of them have the default penalty, which most users have."""
        rng = np.random.default_rng([seed, 0])
        classifies = bool(rng.random() < 0.5)
        loss = str(rng.choice(names_of(classifies=classifies)))
        penalty = {} if rng.random() < 0.5 else PENALTIES[rng.integers(len(PENALTIES))]
        columns = round(np.exp(rng.uniform(0.0, np.log(300))))
        most = MOST_VALUES_OF_A_PATH if _is_path(penalty) else MOST_VALUES
        rows = min(round(np.exp(rng.uniform(0.0, np.log(5000)))), most // columns)
        absurd = ["absurd feature", "absurd weight"] + (["absurd target"] * (not classifies))
        chances = {
            "lognormal": 0.3,
            "zeros": 0.3,
            "weights": 0.2,
            "missing": 0.15,
            "rare": 0.4 if classifies else 0.0,
            str(rng.choice(absurd)): 0.15,
        }
        ingredients = {name for name, chance in chances.items() if rng.random() < chance}
        levels = int(rng.integers(2, min(columns, 50) + 1)) if columns > 2 else 0
        levels *= int(rng.random() < 0.3)
        if levels and rng.random() < 0.5:
            columns = levels  # a table of nothing but words
        containers = ["dense", "CSR", "frame"] + (["words"] if levels else [])
        if "missing" in ingredients:
            containers.remove("CSR")  # which is documented to have no missing values
        return cls(
            seed,
            loss,
            penalty,
            rows,
            columns,
            str(rng.choice(containers)),
            classes=int(rng.choice([2, 2, 3, 4, 5])) if classifies else 0,
            levels=levels,
            ingredients=frozenset(ingredients),
        )

    def __str__(self) -> str:
        penalty = ", ".join(f"{name}={value!r}" for name, value in self.penalty.items())
        words = [self.loss, penalty or "default penalty", f"{self.rows} x {self.columns}"]
        words += [f"{self.classes} classes"] * bool(self.classes)
        words += [f"{self.levels} dummies"] * bool(self.levels)
        words += [*sorted(self.ingredients), self.container]
        return f"seed {self.seed}: {', '.join(words)}"

    @property
    def is_absurd(self) -> bool:
        return any(name.startswith("absurd") for name in self.ingredients)

    def estimator(self) -> Any:
        one = ASGDClassifier if self.loss in CLASSIFIES else ASGDRegressor
        return one(loss=self.loss, random_state=self.seed, n_jobs=1, **self.penalty)

    # -- the rows ------------------------------------------------------------------------------

    def table(self) -> Table:
        """Draw the rows to learn from, one value of which may be absurd."""
        found = self.sample(self.rows, np.random.default_rng([self.seed, 1]))
        rng = np.random.default_rng([self.seed, 2])
        row, factor = rng.integers(self.rows), 10.0 ** rng.uniform(3, 9)
        if "absurd feature" in self.ingredients:
            found.X[row, rng.integers(self.columns - self.levels or 1)] = factor
        if "absurd target" in self.ingredients:
            found.y[row] = factor * (1.0 + np.abs(found.y).max())
        if "absurd weight" in self.ingredients:
            weights = np.ones(self.rows) if found.weights is None else found.weights
            weights[row] = factor
            found = found._replace(weights=weights)
        return found

    def fresh(self) -> Table:
        """Draw rows of the same kind, none of them absurd."""
        return self.sample(FRESH_ROWS, np.random.default_rng([self.seed, 3]))

    def sample(self, rows: int, rng: np.random.Generator) -> Table:
        """Draw rows of the population that the seed describes."""
        of = np.random.default_rng([self.seed, 4])
        numbers, outputs = self.columns - self.levels, max(self.classes, 1)
        Z = rng.normal(size=(rows, numbers))
        if "zeros" in self.ingredients:
            Z *= (rng.random(Z.shape) < 0.3) & (of.random(numbers) < 0.8)
        weigh = of.normal(size=(numbers, outputs)) * (of.random((numbers, 1)) < 0.5)
        signal = Z @ weigh
        X = Z
        if "lognormal" in self.ingredients:
            heavy = of.random(numbers) < 0.5
            X = np.where(heavy, np.exp(of.uniform(0.5, 2.0, numbers) * Z), Z)
        if "zeros" not in self.ingredients:
            X = X + of.choice([0.0, 1.0, 100.0], numbers)  # as a year is, in standard deviations
        X = X * 10.0 ** of.uniform(-2, 2, numbers)
        levels = None
        if self.levels:
            shares = of.dirichlet(np.full(self.levels, 0.7))
            levels = rng.choice(self.levels, size=rows, p=shares)
            signal = signal + of.normal(size=(self.levels, outputs))[levels]
            X = np.hstack([X, levels[:, None] == np.arange(self.levels)])
        size = np.sqrt(np.square(weigh).sum(axis=0) + bool(self.levels))
        signal = signal * of.uniform(0.0, 2.0) / np.maximum(size, 1.0)
        if "missing" in self.ingredients:
            X[:, :numbers][rng.random((rows, numbers)) < 0.1 * (of.random(numbers) < 0.5)] = np.nan
        weights = rng.exponential(size=rows) + 0.01 if "weights" in self.ingredients else None
        return Table(np.ascontiguousarray(X), levels, self._targets(signal, of, rng), weights)

    def _targets(
        self, signal: np.ndarray, of: np.random.Generator, rng: np.random.Generator
    ) -> np.ndarray:
        if self.classes:
            share = of.uniform(0.02, 0.05) if "rare" in self.ingredients else 1 / self.classes
            odds = np.full(self.classes, np.log((1 - share) / (self.classes - 1)))
            odds[-1] = np.log(share)
            noise = rng.gumbel(size=signal.shape)
            return np.argmax(odds + signal + noise, axis=1)
        score, scale = signal[:, 0], 10.0 ** of.uniform(-2, 3)
        if self.loss == "poisson":
            return rng.poisson(of.uniform(0.1, 10.0) * np.exp(np.minimum(score, 5.0))).astype(float)
        if self.loss == "gamma":
            return scale * np.exp(score) * (rng.gamma(2.0, size=len(score)) + 1e-6)
        noise = (
            rng.standard_t(4, size=len(score)) if of.random() < 0.3 else rng.normal(size=len(score))
        )
        return scale * (of.choice([0.0, 10.0]) + score + noise)

    def held(self, table: Table, container: str) -> Any:
        """Return the rows in a container."""
        if container == "dense":
            return table.X
        if container == "CSR":
            return sparse.csr_matrix(table.X)
        numbers = self.columns - self.levels if container == "words" else self.columns
        frame = pd.DataFrame(table.X[:, :numbers], columns=[f"n{j}" for j in range(numbers)])
        if container == "words":
            frame["word"] = np.char.add("level", table.levels.astype(str))
        return frame


def _is_path(penalty: dict[str, Any]) -> bool:
    return "positive" in penalty or penalty.get("penalty") in ("l1", "elasticnet")


class Case:
    """A problem, its rows, and the model of them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.table = problem.table()

    def fit(self, container: str) -> Any:
        table = self.table
        X = self.problem.held(table, container)
        return self.problem.estimator().fit(X, table.y, sample_weight=table.weights)

    @cached_property
    def fitted(self) -> Any:
        return self.fit(self.problem.container)

    @cached_property
    def fresh(self) -> Table:
        """Fresh rows; those of a class that the table does not have cannot be judged."""
        found = self.problem.fresh()
        known = np.isin(found.y, self.fitted.classes_) if self.problem.classes else slice(None)
        return found.part(known)

    def losses(self, table: Table) -> np.ndarray:
        return model_losses(self.fitted, self.problem.held(table, self.problem.container), table.y)

    @cached_property
    def fresh_losses(self) -> np.ndarray:
        return self.losses(self.fresh)

    def above_constant(self, table: Table, losses: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how much more rows lose than by the constant, and what they lose by that."""
        own = self.table
        constant = constant_losses(self.fitted, own.y, own.weights, table.y)
        return losses - constant, float(np.average(constant, weights=table.weights))


# -- what is asserted of each ----------------------------------------------------------------------


def is_refused_as_documented(problem: Problem, table: Table) -> str | None:
    """Return the documented reason for which a problem cannot be learned at all."""
    if problem.classes and len(np.unique(table.y)) < 2:
        return "The number of classes has to be greater than one"
    if _is_path(problem.penalty) and not get_loss(problem.loss).has_curvature:
        return "needs a loss with a curvature"
    return None


def is_finite(case: Case) -> None:
    fitted, problem = case.fitted, case.problem
    X = problem.held(case.table, problem.container)
    assert np.isfinite(fitted.coef_).all(), "a weight is not finite"
    assert np.isfinite(fitted.intercept_).all(), "an intercept is not finite"
    assert np.isfinite(fitted.predict(X)).all(), "a prediction is not finite"
    if problem.classes:
        chances = fitted.predict_proba(X)
        assert np.isfinite(chances).all(), "a probability is not finite"
        assert np.abs(chances.sum(axis=1) - 1.0).max() < 1e-9, "probabilities do not sum to one"
    recent = fitted.recent_
    assert np.isfinite(recent.loss), f"recent_loss_ is {recent.loss}"
    assert recent.loss_std_err >= 0, f"the error of recent_loss_ is {recent.loss_std_err}"


def away_from_fresh(case: Case) -> tuple[float, float] | None:
    """Return how far ``recent_loss_`` is above the loss on fresh rows, and its standard error.

    Its own standard error knows nothing of what its rows do not have, say a rare class: then the
    spread of fresh losses tells. One absurd row has a loss as absurd, which ``recent_loss_`` must
    count and fresh rows do not have, so there is nothing to compare. Nor is there where classes
    are separated and ``alpha=0``: a warning says that there is no finite optimum.
    """
    recent = case.fitted.recent_
    unpenalised = case.problem.classes and case.problem.penalty.get("alpha") == 0.0
    if case.problem.is_absurd or recent.rows < ROWS_TO_JUDGE or unpenalised:
        return None
    fresh = estimate(case.fresh_losses, case.fresh.weights)
    weights = case.table.weights
    share = 1.0 if weights is None else effective_rows(weights) / len(weights)
    own = max(recent.loss_std_err, fresh.deviation / np.sqrt(share * recent.rows))
    return recent.loss - fresh.mean, float(np.hypot(own, fresh.std_err))


def is_honest(case: Case) -> None:
    """Compare ``recent_loss_`` with fresh rows."""
    found = away_from_fresh(case)
    if found is None:
        return
    away, error = found
    recent, fresh = case.fitted.recent_, estimate(case.fresh_losses, case.fresh.weights)
    # A row that is left out moves a constant away from itself, by about its share of all rows.
    of_one_row = 3.0 / recent.rows * abs(fresh.mean)
    assert abs(away) <= HONEST * error + of_one_row, (
        f"recent_loss_ {recent.loss:.5g} but {fresh.mean:.5g} on fresh rows: "
        f"{away / error:+.1f} standard errors ({case.fitted.method_})"
    )


def is_not_worse_than_the_constant(case: Case) -> None:
    """Compare with the best constant of the training rows, on fresh rows.

    The model was chosen on the training rows alone, so a choice is wrong only where the paired
    difference exceeds the standard error that its rows leave it. ``alpha=0`` is exempt: it
    asks for maximum likelihood, however bad that is. Any other given ``alpha`` is given up only if
    it is worse by two standard errors of ``recent_loss_``.
    """
    if case.problem.penalty.get("alpha") == 0.0:
        return
    fresh, own = case.fresh, case.table
    above, constant = case.above_constant(fresh, case.fresh_losses)
    more = estimate(above, fresh.weights)
    rows = float(len(own.y)) if own.weights is None else effective_rows(own.weights)
    error = float(np.hypot(more.deviation / np.sqrt(rows), more.std_err))
    if "alpha" in case.problem.penalty:
        error += 2.0 * float(np.nan_to_num(case.fitted.recent_.loss_std_err)) / NOT_WORSE
    assert more.mean <= NOT_WORSE * error + TOLERANCE * abs(constant) + NOTHING, (
        f"{1 + more.mean / constant:.4g} of the constant's loss {constant:.4g} on fresh rows, "
        f"{more.mean / error:.1f} standard errors above it ({case.fitted.method_})"
    )


def is_not_worse_by_its_own_figures(case: Case) -> None:
    """Compare ``recent_loss_`` with ``constant_loss_``, which are of the same rows.

    The selection of the model was based on these figures, so it must not be clearly worse by them.
    Problems with an absurd row are exempt: figures must count it, choices must not.
    """
    recent = case.fitted.recent_
    if case.problem.is_absurd or case.problem.penalty.get("alpha") == 0.0:
        return
    if case.fitted.n_iter_ > 1:  # the figures are those of the first pass
        return
    if recent.rows >= ROWS_TO_JUDGE:
        most = recent.constant_loss + OWN_FIGURES * recent.loss_std_err
        assert recent.loss <= most + TOLERANCE * abs(recent.constant_loss) + NOTHING, (
            f"recent_loss_ {recent.loss:.4g} +- {recent.loss_std_err:.2g} is above constant_loss_ "
            f"{recent.constant_loss:.4g} ({case.fitted.method_})"
        )


def is_not_worse_on_its_own_rows(case: Case) -> None:
    """Compare with the constant on the training rows, which no penalised optimum is above.

    Averaged SGD is not at the optimum after a pass, and an absurd row is exempt, since what it
    loses may be the price for serving all others.
    """
    if case.problem.is_absurd or case.fitted.method_ != "newton":
        return
    above, constant = case.above_constant(case.table, case.losses(case.table))
    more = float(np.average(above, weights=case.table.weights))
    assert more <= TOLERANCE * abs(constant) + NOTHING, (
        f"{1 + more / constant:.4g} of the constant's loss {constant:.4g} on training rows"
    )


def is_the_same_in_other_containers(case: Case) -> None:
    """Learn the same numbers from another container: the same winner, weights to 1e-10."""
    others = {"dense": "CSR", "CSR": "dense", "frame": "dense"}
    if "missing" in case.problem.ingredients:
        others["dense"] = "frame"
    if case.problem.container not in others:  # words are other numbers
        return
    container = others[case.problem.container]
    one, other = case.fitted, case.fit(container)
    winners = [(each.method_, each.best_candidate_["number"]) for each in (one, other)]
    assert winners[0] == winners[1], f"{winners[1]} wins as {container}, not {winners[0]}"
    away = np.abs(one.coef_ - other.coef_).max() / max(np.abs(one.coef_).max(), 1e-300)
    assert away <= 1e-10, f"weights as {container} differ by {away:.2g}"


def is_the_same_in_several_calls(case: Case) -> None:
    """Learn by ``partial_fit``, in one call and in several: the same bits.

    What words mean is found from the first call, which is documented to need 1,000 rows for it.
    """
    problem, table = case.problem, case.table
    rng = np.random.default_rng([problem.seed, 5])
    cuts = np.sort(rng.integers(1, problem.rows + 1, size=3))
    if problem.container == "words":
        cuts = np.maximum(cuts, 1000)
    ends = np.unique(np.minimum([*cuts, problem.rows], problem.rows))
    once, often = problem.estimator(), problem.estimator()
    for estimator, begins in ((once, [0]), (often, [0, *ends[:-1]])):
        for begin, end in zip(begins, [*begins[1:], problem.rows], strict=True):
            some = table.part(slice(begin, end))
            known = {"classes": np.unique(table.y)} if problem.classes else {}
            X = problem.held(some, problem.container)
            estimator.partial_fit(X, some.y, sample_weight=some.weights, **known)
    calls = f"calls that end at {', '.join(map(str, ends))}"
    for name in ("coef_", "intercept_", "recent_loss_"):
        one, other = (np.asarray(getattr(each, name)) for each in (once, often))
        assert one.shape == other.shape, f"{calls}: {name} has shape {other.shape}, not {one.shape}"
        assert one.tobytes() == other.tobytes(), (
            f"{calls}: {name} differs by {np.abs(one - other).max():.2g}"
        )


CHECKS: tuple[Callable[[Case], None], ...] = (
    is_finite,
    is_honest,
    is_not_worse_than_the_constant,
    is_not_worse_by_its_own_figures,
    is_not_worse_on_its_own_rows,
    is_the_same_in_other_containers,
    is_the_same_in_several_calls,
)


def failures(problem: Problem) -> dict[str, str]:
    """Return what is wrong with a problem, by the name of the check."""
    case = Case(problem)
    refusal = is_refused_as_documented(problem, case.table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            _ = case.fitted
        except Exception as error:
            if refusal is not None and isinstance(error, ValueError) and refusal in str(error):
                return {}
            return {"fit": _where(error)}
        if refusal is not None:
            return {"fit": f"was to be refused: {refusal}"}
        found = {}
        for check in CHECKS:
            try:
                check(case)
            except AssertionError as error:
                found[check.__name__] = str(error).splitlines()[0]
            except Exception as error:
                found[check.__name__] = _where(error)
    return found


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(error).__name__} at {place}: {str(error).splitlines()[0] if str(error) else ''}"


def _message(problem: Problem, found: dict[str, str]) -> str:
    return "\n".join([str(problem), *(f"  {name}: {what}" for name, what in found.items())])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_problem(seed):
    problem = Problem.draw(seed)
    found = failures(problem)
    assert not found, _message(problem, found)


def report(seeds: list[int]) -> None:
    """Print each problem that fails, and how many fail each check."""
    counts: Counter[str] = Counter()
    failing, begin = 0, time.perf_counter()
    for seed in seeds:
        problem, since = Problem.draw(seed), time.perf_counter()
        found = failures(problem)
        taken = time.perf_counter() - since
        if found:
            failing += 1
            counts.update(found.keys())
            print(_message(problem, found), flush=True)
        if taken > 10:
            print(f"{problem}\n  took {taken:.0f} s", flush=True)
        elif len(seeds) <= 10 and not found:
            print(f"{problem}\n  is clean, in {taken:.2f} s", flush=True)
    print(f"\n{failing} of {len(seeds)} problems fail, {time.perf_counter() - begin:.0f} s")
    for name, count in counts.most_common():
        print(f"{count:6} {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--problems", type=int, default=PROBLEMS, help="seeds from 0 up to this")
    asked = parser.parse_args()
    report(asked.seeds or list(range(asked.problems)))

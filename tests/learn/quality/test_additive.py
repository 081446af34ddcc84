"""Additive models: bands that cover, tests that hold their level, and losses on real tables.

A report with as many runs as wanted:

    python -m tests.learn.quality.test_additive --runs 200
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from tests.real_sets import REAL, real_file

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.race.race import Leader
from polyak.learn.recipes import Recipe
from polyak.model.columns import SourceColumns
from polyak.model.effects import effect
from polyak.model.linear import LinearModel


class Design(NamedTuple):
    """What the first column does; the second is linear, the third does nothing."""

    curve: str
    loss: str = "squared_error"
    rows: int = 2000
    skewed: bool = False
    correlated: bool = False


DESIGNS = {
    "smooth": Design("sine"),
    "jump": Design("jump"),
    "flat": Design("flat"),
    "skewed": Design("logarithm", skewed=True),
    "correlated": Design("sine", correlated=True),
    "poisson": Design("sine", loss="poisson"),
    "logistic": Design("sine", loss="log_loss"),
    "many rows": Design("sine", rows=50_000),
}
CURVES = {
    "sine": lambda x: np.sin(1.5 * x),
    "jump": lambda x: np.where(x > 0.3, 1.0, 0.0),
    "flat": np.zeros_like,
    "logarithm": np.log,
}


class Run(NamedTuple):
    """The share of a curve that its band covers, and what is said of the column without effect."""

    coverage: float
    p_value: float
    freedom: float


def additive(X: np.ndarray, y: np.ndarray, loss: str) -> LinearModel:
    """Return the additive model, whether or not it wins the race."""
    classes = np.array([0, 1]) if loss == "log_loss" else None
    columns = SourceColumns.of_array(X.shape[1])
    recipe = Recipe(loss=loss, curves="all")
    learner = Learner(recipe, n_features=X.shape[1], columns=columns, classes=classes)
    learner.learn(X, y)
    learner.finish()
    race = learner.race
    assert race is not None
    lane = next(lane for lane in race.lanes if lane.terms is not None)
    chosen = Leader(lane.numbers[0], lane.candidates[0], lane, 0, lane.n_features)
    race.leader = lambda **_: chosen  # type: ignore[method-assign]
    return learner.model()


def run(design: Design, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(design.rows, 3))
    if design.skewed:
        X[:, 0] = np.exp(X[:, 0])
    if design.correlated:
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    curve, share = CURVES[design.curve], 0.5 if design.loss == "poisson" else 1.0
    score = share * (curve(X[:, 0]) + 0.5 * X[:, 1])
    y: np.ndarray = score + rng.normal(size=design.rows)
    if design.loss == "poisson":
        y = rng.poisson(np.exp(score)).astype(float)
    elif design.loss == "log_loss":
        y = (rng.random(design.rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = additive(X, y, design.loss)
    grid = np.quantile(X[:, 0], np.linspace(0.01, 0.99, 99))
    band = effect(model, "x0", grid=grid)
    truth = share * (curve(grid) - curve(X[:, 0]).mean())
    assert model.report is not None
    null = next(term for term in model.report.terms if term.name == "x2")
    assert null.p_value is not None
    covered = np.mean((band.lower <= truth) & (truth <= band.upper))
    return Run(float(covered), null.p_value, null.edf)


def runs(design: Design, count: int) -> Run:
    """Return the arrays of several runs."""
    found = [run(design, seed) for seed in range(count)]
    return Run(*(np.array(one) for one in zip(*found, strict=True)))


def distance_from_uniform(p_values: np.ndarray) -> float:
    """Return the statistic of Kolmogorov and Smirnov times the root of the number of values."""
    ranks = (np.arange(len(p_values)) + 0.5) / len(p_values)
    return float(np.abs(np.sort(p_values) - ranks).max() * np.sqrt(len(p_values)))


@pytest.mark.slow
def test_bands_cover_and_nothing_is_found_where_nothing_is() -> None:
    found = {name: runs(one, 40 if one.rows < 10_000 else 8) for name, one in DESIGNS.items()}
    coverage = np.mean([one.coverage.mean() for one in found.values()])
    assert 0.92 <= coverage <= 0.98
    for name, one in found.items():
        assert one.coverage.mean() > 0.88, name
        assert np.median(one.freedom) < 0.5, name
        assert distance_from_uniform(one.p_value) < 1.63, name  # exceeded once in a hundred


# -- real tables -----------------------------------------------------------------------------------


def real(test: Any) -> Any:
    """Mark a test of real data."""
    for mark in REAL:
        test = mark(test)
    return test


def california() -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(real_file("california_housing.csv.gz"))
    return table, table.pop("median_house_value").to_numpy(float)


def flights() -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(real_file("nycflights13.csv.gz"))
    table = table[table.arr_delay.notna()].sample(60_000, random_state=1)
    columns = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest"]
    return table[[*columns, "distance", "hour"]], (table.arr_delay > 15).to_numpy(int)


def held_out(estimator: Any, X: pd.DataFrame, y: np.ndarray) -> float:
    """Return 1 - R², or the log-loss, on a fifth of the rows."""
    test = np.random.default_rng(0).random(len(X)) < 0.2
    estimator.fit(X[~test], y[~test])
    if hasattr(estimator, "classes_"):
        p = estimator.predict_proba(X[test])[np.arange(test.sum()), y[test]]
        return float(-np.log(np.clip(p, 1e-12, 1.0)).mean())
    return float(np.mean((estimator.predict(X[test]) - y[test]) ** 2) / np.var(y[test]))


@real
def test_pairs_come_close_to_boosting_on_california() -> None:
    loss = held_out(ASGDRegressor(curves="all", pairs="auto", random_state=0), *california())
    assert loss < 1.05 * 0.16902  # that of interpret's explainable boosting machine


@real
def test_curves_and_pairs_improve_on_linear_models_of_flights() -> None:
    linear, curves, pairs = (
        held_out(ASGDClassifier(random_state=0, **terms), *flights())
        for terms in ({}, {"curves": "all"}, {"curves": "all", "pairs": "auto"})
    )
    assert pairs < curves < linear


def report() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("designs", nargs="*", default=list(DESIGNS))
    options = parser.parse_args()
    for name in options.designs:
        found = runs(DESIGNS[name], options.runs)
        print(
            f"{name:12} coverage {found.coverage.mean():.3f}  p < 0.05: "
            f"{np.mean(found.p_value < 0.05):.3f}  from uniform "
            f"{distance_from_uniform(found.p_value):.2f} (1.36 at 5%)  "
            f"median edf {np.median(found.freedom):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    report()

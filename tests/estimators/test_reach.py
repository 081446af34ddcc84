"""Means of a log link stay near those of the rows learned, however far a row lies from them."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.extras import pandas as pd

from polyak import ASGDRegressor, LinearModel
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

Rows = tuple[np.ndarray, np.ndarray]

LOSSES = ("poisson", "gamma")
TIMES = {"fit": 2.0, "partial_fit": 10.0}
"""How far means are from those of the rows learned, at most. Batches are fitted several times, and
the means by earlier fits count too."""


def amounts(rows: int, seed: int, loss: str = "poisson") -> Rows:
    """Draw rows of a column with long tails, and targets that grow with its logarithm."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 3))
    mean = np.exp(0.8 * Z[:, 0] - 0.3 * Z[:, 1])
    y = rng.poisson(mean) if loss == "poisson" else mean * rng.gamma(2.0, size=rows) + 1e-6
    return np.column_stack([np.exp(1.5 * Z[:, 0]), Z[:, 1:]]), y.astype(float)


def regressor(loss: str, **options: Any) -> ASGDRegressor:
    return ASGDRegressor(loss=loss, random_state=0, **options)


def far(X: np.ndarray) -> np.ndarray:
    return np.array([[1e4, 0.0, 0.0], [0.0, 1e4, 1e4], [0.0, -1e4, -1e4]])[:, : X.shape[1]]


def as_words(X: np.ndarray) -> Any:
    frame = pd.DataFrame(X, columns=[f"n{j}" for j in range(X.shape[1])])
    return frame.assign(word=np.where(X[:, 0] > 1.0, "much", "little"))


def fitted(loss: str, how: str, X: Any, y: np.ndarray) -> ASGDRegressor:
    if how == "fit":
        return regressor(loss).fit(X, y)
    learned = regressor(loss)
    for some in np.array_split(np.arange(len(y)), 7):
        part = X.iloc[some] if hasattr(X, "iloc") else X[some]
        learned.partial_fit(part, y[some])
    return learned


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("held", [np.asarray, sparse.csr_matrix, as_words])
def test_means_stay_near_those_of_the_rows_learned(loss: str, how: str, held: Any) -> None:
    X, y = amounts(7000, seed=0, loss=loss)
    learned = fitted(loss, how, held(X), y)
    means, beyond = learned.predict(held(X)), learned.predict(held(far(X)))
    most = TIMES[how] * (1.0 + 1e-6)
    assert most * means.max() > beyond.max() > 1.5 * means.max()
    assert means.min() / most < beyond.min() < means.min() / 1.5


@pytest.mark.parametrize("loss", LOSSES)
def test_fresh_rows_lose_what_is_reported(loss: str) -> None:
    worst = []
    for seed in range(5):
        learned = regressor(loss).fit(*amounts(300, seed, loss))
        X, y = amounts(20_000, seed + 100, loss)
        score = np.log(learned.predict(X))
        lost = np.exp(score) - y * score if loss == "poisson" else y * np.exp(-score) + score
        alone = np.log(y.mean())
        of_constant = np.exp(alone) - y * alone if loss == "poisson" else 1.0 + alone
        worst.append(lost.mean() - np.mean(of_constant))
    assert max(worst) < 0.0


@pytest.mark.parametrize("how", [{}, {"intervals": True}, {"alpha": 1e-3}, {"curves": "all"}])
def test_an_offset_moves_the_means_beyond(how: dict[str, Any]) -> None:
    X, y = amounts(3000, seed=1)
    years = np.random.default_rng(2).uniform(0.01, 5.0, len(y))
    counts = np.random.default_rng(3).poisson(y * years).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = regressor("poisson", **how).fit(X, counts, offset=np.log(years))
    rows = np.vstack([X[:500], far(X)])
    plain = learned.predict(rows, offset=np.zeros(len(rows)))
    moved = learned.predict(rows, offset=np.full(len(rows), 7.0))
    np.testing.assert_allclose(moved, plain * np.exp(7.0), rtol=1e-9)
    assert plain.max() < 1e3
    if "intervals" in how:
        ends = learned.predict_interval(rows, offset=np.full(len(rows), 7.0))
        assert max(end.max() for end in ends) <= moved.max() * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (5, 1), (30, 3)])
def test_few_rows(loss: str, rows: int, columns: int) -> None:
    X, y = amounts(rows, seed=4, loss=loss)
    X, y = X[:, :columns], y + 0.5
    learned = regressor(loss).fit(X, y, sample_weight=np.arange(1.0, rows + 1.0))
    means, beyond = learned.predict(X), learned.predict(far(X))
    most = TIMES["fit"] * (1.0 + 1e-6)
    assert means.min() / most < beyond.min() <= beyond.max() < most * means.max()


def test_a_file_keeps_them(tmp_path: Path) -> None:
    X, y = amounts(500, seed=5)
    learned = regressor("poisson").fit(X, y, offset=np.full(len(y), 0.5))
    expected = learned.predict(far(X), offset=np.full(3, 0.7))
    learned.to_model().save(tmp_path / "m")
    rows = np.column_stack([far(X), np.full(3, 0.7)])
    np.testing.assert_array_equal(LinearModel.load(tmp_path / "m").predict(rows), expected)


def test_merged_parts_reach_as_far_as_each() -> None:
    X, y = amounts(9000, seed=6)
    base = Learner(Recipe(loss="poisson", alpha=1e-3))
    base.learn(X[:3000], y[:3000])
    parts = [copy.deepcopy(base) for _ in range(2)]
    for part, some in zip(parts, (slice(3000, 5000), slice(5000, 9000)), strict=True):
        part.learn(X[some], y[some])
    reaches = [part.model().reach for part in parts]
    parts[0].merge(parts[1:], base)
    low, high = parts[0].model().reach
    np.testing.assert_array_equal(low, np.min([one[0] for one in reaches], axis=0))
    np.testing.assert_array_equal(high, np.max([one[1] for one in reaches], axis=0))


def test_other_losses_have_no_limit() -> None:
    X, y = amounts(500, seed=7)
    model = regressor("squared_error").fit(X, y).to_model()
    assert model.reach is None
    np.testing.assert_allclose(model.scores(far(X)), far(X) @ model.weights + model.intercept)

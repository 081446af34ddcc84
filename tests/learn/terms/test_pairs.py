"""Pairs of columns: how fine each is, and the rows they are looked for in."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.newton.block.leave_one_out import scores_left_out
from polyak.learn.terms.pairs import FUNCTIONS_OF_A_PAIR, bins_of_levels, sizes_of_pairs
from polyak.learn.training_rows import FirstRows, TrainingRows
from polyak.losses import get_loss
from polyak.rows.sparse import SparseRows, dense_as_sparse

COARSEST, FINEST = FUNCTIONS_OF_A_PAIR


@pytest.mark.parametrize("seed", range(20))
def test_pairs_fill_the_room_and_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 40, (24, 2))
    gains, room = rng.gamma(0.5, 100.0, 24) + 1e-9, 460
    sizes = sizes_of_pairs(whole, gains, room)
    taken = np.minimum(whole, sizes[:, None]).prod(axis=1)
    assert 0.5 * room < taken.sum() <= room
    assert set(np.unique(sizes)) <= {0, *range(COARSEST, FINEST + 1)}
    kept = np.flatnonzero(sizes)
    order = kept[np.argsort(gains[kept])]
    assert (np.diff(sizes[order]) >= 0).all()  # the finer the more it gains
    assert not sizes[(whole == 0).any(axis=1)].any()


def test_what_gains_most_is_not_made_coarse_by_what_gains_little() -> None:
    whole = np.full((24, 2), 30)
    gains = np.concatenate([[1000.0], np.full(23, 10.0)])
    assert sizes_of_pairs(whole, gains, 460)[0] == FINEST
    assert (sizes_of_pairs(whole[:2], gains[:2], 460) == FINEST).all()
    assert not sizes_of_pairs(whole, gains, 10).any()
    assert len(sizes_of_pairs(whole[:0], gains[:0], 460)) == 0


def test_levels_have_bins() -> None:
    rows = dense_as_sparse(np.array([[0.0, 1, 0, 0], [0, 0, 0, 1], [5, 0, 0, 0], [0, 0, 1, 0]]))
    found = bins_of_levels(rows, (1, 2))
    assert found.bins.tolist() == [0, 2, 2, 1]
    assert found.size == 3


def test_kept_rows_are_joined_and_kept() -> None:
    first, rng = FirstRows(), np.random.default_rng(0)
    for count in (3, 2):
        first.add(TrainingRows(dense_as_sparse(rng.normal(size=(count, 2))), np.ones(count)))
    once, again = first.joined(), first.joined()
    assert len(first) == once.total == again.total == 5
    assert isinstance(once.rows, SparseRows)
    np.testing.assert_array_equal(once.rows.values, again.rows.values)


def product(rows: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three columns, and targets that the product of the first two explains."""
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 3))
    return X, X[:, 0] * X[:, 1] + noise * rng.normal(size=rows)


@pytest.mark.parametrize("rows", [300, 3000])
@pytest.mark.parametrize("how", ["fit", "passes", "stream"])
def test_pairs_are_looked_for_once_rows_end(rows: int, how: str) -> None:
    X, y = product(rows + 1000)
    passes: Any = 2 if how == "passes" else "auto"
    model = ASGDRegressor(pairs="auto", max_iter=passes, random_state=0)
    if how == "stream":
        for part in np.array_split(np.arange(rows), 3):
            model.partial_fit(X[part], y[part])
    else:
        model.fit(X[:rows], y[:rows])
    assert [term["name"] for term in model.terms_ if term["kind"] == "pair"] == ["x0 × x1"]
    assert model.score(X[rows:], y[rows:]) > 0.9


def test_classes_have_pairs_in_few_rows() -> None:
    X, score = product(1600)
    y = np.digitize(score, [-0.5, 0.5])
    model = ASGDClassifier(pairs="auto", random_state=0).fit(X[:600], y[:600])
    assert "x0 × x1" in {term["name"] for term in model.terms_}
    assert model.score(X[600:], y[600:]) > 0.75  # the most frequent class has 0.46


def test_few_rows_have_all_pairs_that_gain_on_rows_left_out() -> None:
    rng = np.random.default_rng(1500)
    X = rng.random((1500, 4))
    y = np.prod(1.0 + X, axis=1) * np.sin(3.0 * X[:, 0] + 2.0 * X[:, 2])
    y += 0.1 * rng.normal(size=1500)
    every: Any = list(combinations([f"x{k}" for k in range(4)], 2))
    losses = []
    for pairs in ("auto", every):
        model = ASGDRegressor(curves="all", pairs=pairs, random_state=0).fit(X[:500], y[:500])
        losses.append(np.mean((model.predict(X[500:]) - y[500:]) ** 2) / 2)
        assert model.recent_loss_ == pytest.approx(losses[-1], rel=0.15)
    assert losses[0] < 1.03 * losses[1]  # with the clearest pairs alone 2.7


@pytest.mark.parametrize("noise", [0.5, 4.0])
def test_few_rows_without_pairs_have_none(noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=400)
    model = ASGDRegressor(curves="all", pairs="auto", random_state=0).fit(X, y)
    assert "pair" not in {term["kind"] for term in model.terms_}


def test_choosing_penalties_adds_to_what_all_rows_leave_unexplained() -> None:
    rng = np.random.default_rng(0)
    Z = np.column_stack([np.ones(40), rng.normal(size=40), np.eye(40)[0]])
    y = rng.normal(size=40)
    shrink = np.array([[0.0], [1.0], [0.05]])  # the first row has a leverage of 0.95
    W = np.linalg.solve(Z.T @ Z + np.diag(shrink[:, 0]), Z.T @ y)[:, None]
    own = (get_loss("squared_error"), Z, y, None, W, shrink)
    without, with_choice = (scores_left_out(*own, spent=spent)[:, 0] for spent in (0.0, 4.0))
    ratio = (with_choice - y) / (without - y)
    np.testing.assert_allclose(ratio, ratio[0])
    assert 40 / 36 < ratio[0] < 1.2


def test_no_more_pairs_than_asked_for() -> None:
    X, y = product(400, noise=0.5)
    y += X[:, 1] * X[:, 2]
    model = ASGDRegressor(pairs=1, random_state=0).fit(X, y)
    assert len([term for term in model.terms_ if term["kind"] == "pair"]) == 1


@pytest.mark.parametrize("rows", [300, 4200, 6000])
def test_losses_are_those_of_models_with_pairs(rows: int) -> None:
    X, y = product(rows + 3000, noise=0.5)
    model = ASGDRegressor(pairs="auto", random_state=0)
    for part in np.array_split(np.arange(rows), 3):
        model.partial_fit(X[part], y[part])
    loss = np.mean((model.predict(X[rows:]) - y[rows:]) ** 2) / 2  # 0.5 without the pair
    assert model.recent_loss_ == pytest.approx(loss, rel=0.3)
    assert model.progressive_loss_ == pytest.approx(loss, rel=0.3)
    assert model.constant_loss_ > 3 * loss

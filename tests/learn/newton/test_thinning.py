"""A block's matrix of some of its rows: right on average, and with every row that is rare."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import assert_same, labels, solver_of

from polyak.learn.newton.block import curvature, thinning
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.softmax import ClassesBlock
from polyak.losses import get_loss


def block_and_past(n=4096, d=6, before=200_000):
    """Rows of which the last column is rare, and the matrix of many more of the same kind."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, d)) * np.geomspace(1.0, 3.0, d)
    Z[:, -1] = rng.random(n) < 0.002
    G = 0.2 * before / n * Z.T @ Z
    G[-1, -1] = 0.2 * Z[:, -1].sum()  # it has come up only lately
    return Z, G


def test_rows_are_taken_as_often_as_their_chances_say():
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.0, 0.4, 1000)
    chances[::50], chances[7::50] = 1.0, 0.0
    counts = np.zeros(1000)
    for first in np.linspace(0.0, 1.0, 500, endpoint=False):  # wherever the sum begins
        places = thinning.taken_of(np.concatenate([[first], chances])) - 1
        counts[places[places >= 0]] += 1
    np.testing.assert_allclose(counts / 500, chances, atol=0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_thin_matrix_is_that_of_all_rows_on_average(weighted):
    Z, G = block_and_past()
    rng = np.random.default_rng(2)
    targets, scores = labels(Z[:, 0]), rng.normal(size=len(Z))
    weights = rng.uniform(0.5, 2.0, len(Z)) if weighted else None
    bend = np.exp(scores) / np.square(1 + np.exp(scores)) * (1.0 if weights is None else weights)
    whole = Z.T @ (Z * bend[:, None])
    rare, found = thinning.rarity(G, np.ones(len(G))), np.zeros_like(whole)
    for k in range(200):
        order = np.random.default_rng(k).permutation(len(Z))
        own = None if weights is None else weights[order]
        block = Block(Z[order], targets[order], own, rarity=rare)
        found += block.hessian(get_loss("log_loss"), scores[order], safe=False) / 200
    root = np.sqrt(np.diagonal(whole))
    assert np.abs((found - whole) / root / root[:, None]).max() < 0.03


@pytest.mark.parametrize("safe", [False, True])
def test_a_thin_hessian_of_classes_is_that_of_all_rows_on_average(safe):
    Z, _ = block_and_past()
    rng, loss = np.random.default_rng(4), get_loss("log_loss")
    targets = np.where(rng.integers(0, 3, len(Z))[:, None] == np.arange(3), 1.0, -1.0)
    scores, weights = rng.normal(size=(len(Z), 3)), rng.uniform(0.5, 2.0, len(Z))
    whole = ClassesBlock(Z, targets, weights).hessian(loss, scores, safe=safe)
    rare, found = thinning.rarity(50.0 * whole, np.ones(len(whole))), np.zeros_like(whole)
    for k in range(200):
        order = np.random.default_rng(k).permutation(len(Z))
        block = ClassesBlock(Z[order], targets[order], weights[order], rarity=rare)
        assert len(block.sampled(np.full((len(Z), 2), 0.2))[1]) < 0.2 * len(Z)
        found += block.hessian(loss, scores[order], safe=safe) / 200
    root = np.sqrt(np.diagonal(whole))
    assert np.abs((found - whole) / root / root[:, None]).max() < 0.03


def test_few_rows_are_taken_and_all_that_are_rare(monkeypatch):
    Z, G = block_and_past()
    taken = []
    monkeypatch.setattr(curvature, "gram", lambda some, h, threads: taken.append((some, h)))
    Block(Z, labels(Z[:, 0]), None, rarity=thinning.rarity(G, np.ones(len(G)))).hessian(
        get_loss("log_loss"), np.zeros(len(Z)), safe=False
    )
    some, h = taken[0]
    assert len(some) < 0.1 * len(Z)
    assert some[:, -1].sum() == Z[:, -1].sum() > 3
    np.testing.assert_allclose(h[some[:, -1] > 0], 0.25)  # each counts once
    assert h[some[:, -1] == 0].min() > 1.0


def test_columns_that_nothing_is_known_of_leave_no_trace():
    _, G = block_and_past()
    wider = np.pad(G, (0, 3))
    found = thinning.rarity(wider, np.full(9, 0.5))
    np.testing.assert_allclose(found[:6], thinning.rarity(G, np.full(6, 0.5)), rtol=1e-12)


def test_wide_blocks_that_grow_give_the_same_bits_in_any_batches():
    """With 150 columns; Hessians are of some rows, and blocks longer from 32,768 rows on."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((36_000, 150), dtype=np.float32)
    y = labels(X @ rng.normal(size=150) / 10)
    lanes = [solver_of("log_loss", X[:1000], penalties=(1.0, 100.0)) for _ in range(2)]
    lanes[0].threads = 2
    lanes[0].learn(X, y)
    for begin, end in ((0, 700), (700, 32_769), (32_769, 34_000), (34_000, 36_000)):
        lanes[1].learn(X[begin:end], y[begin:end])
    assert lanes[0].state()[0]["block"] == 8192
    assert_same(*lanes)

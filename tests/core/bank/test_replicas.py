"""Random row weights come from a counter, not from a sequence."""

from __future__ import annotations

import numpy as np
import pytest
from problems import distance, make_bank, make_rows, same_bits

from polyak import _core

GOLDEN, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def weight(seed: int, row: int, replica: int) -> float:
    """core/learn/random.hpp once more, in integers of any size."""
    group, bit = divmod(replica, 64)
    draw = mix(mix(seed + GOLDEN & MASK) + row * GOLDEN & MASK)
    return 2.0 * (mix(draw + (group + 1) * GOLDEN & MASK) >> bit & 1)


def test_the_core_draws_the_documented_weights():
    for seed in (0, 1, 2**64 - 1):
        for row in (1, 2, 1000, 2**40):
            for replica in (0, 1, 63, 64, 200):
                assert _core.replica_weight(seed, row, replica) == weight(seed, row, replica)


def test_weights_are_fair_and_unrelated():
    table = np.array([[weight(7, row, r) for row in range(1, 4001)] for r in (0, 1, 2, 64, 65)])
    assert set(table.ravel()) == {0.0, 2.0}
    assert np.abs(table.mean(axis=1) - 1).max() < 5 / np.sqrt(4000)
    between = np.corrcoef(table) - np.eye(5)
    along = [np.corrcoef(row[1:], row[:-1])[0, 1] for row in table]
    assert np.abs(between).max() < 5 / np.sqrt(4000)
    assert np.abs(along).max() < 5 / np.sqrt(4000)


def test_replicas_are_models_with_those_weights(kernels):
    X, y = make_rows(700, 6)
    replicas = [-1, 0, 1, 77]
    bank = make_bank("squared_error", replicas=replicas, seed=11)
    bank.learn(X, y)
    rows = range(1, len(y) + 1)
    weights = np.array([[1.0 if r < 0 else weight(11, t, r) for r in replicas] for t in rows])
    spelled_out = make_bank("squared_error", alpha=[1e-2] * 4)
    spelled_out.learn(X, y, weights)
    assert distance(bank.coef, spelled_out.coef) < 1e-14
    assert np.array_equal(bank.field("weight"), weights.sum(axis=0))


@pytest.mark.parametrize("size", [1, 7, 256])
def test_batches_do_not_change_the_draw(size):
    X, y = make_rows(700, 6)
    whole, split = (make_bank("squared_error", replicas=[0, 1, 2], n_features=6) for _ in range(2))
    whole.learn(X, y)
    for i in range(0, 700, size):
        split.learn(X[i : i + size], y[i : i + size])
    assert same_bits(whole, split)


def test_rows_of_weight_zero_do_not_shift_the_draw():
    X, y = make_rows(700, 6)
    keep = np.random.default_rng(0).random(700) < 0.5
    weighted, shorter = (make_bank("squared_error", replicas=[0, 1], n_features=6) for _ in "ab")
    weighted.learn(X, y, keep.astype(float))
    shorter.learn(X[keep], y[keep])
    assert same_bits(weighted, shorter)

"""Coordinate descent of the core, held against plain NumPy and against what a minimum is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyak._core import coordinate_descent

FREE = -np.inf


def plainly(H: Any, c: Any, ridge: Any, threshold: Any, lowest: Any, sweeps: int = 20_000) -> Any:
    """Minimise along one coordinate after the other, and nothing else."""
    v = np.zeros(len(c))
    for _ in range(sweeps):
        before = v.copy()
        for j in range(len(v)):
            pull = H[j, j] * v[j] - (H[j] @ v + c[j])
            size = max(abs(pull) - threshold[j], 0.0)
            v[j] = max(np.sign(pull) * size / (H[j, j] + ridge[j]), lowest[j])
        if np.abs(v - before).max() < 1e-15:
            break
    return v


def problem(seed: int, n: int, rows: int, positive: bool) -> tuple[Any, ...]:
    """Draw correlated columns; the first coordinate is free, like an intercept."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, n)) @ (np.eye(n) + 0.2)
    target = Z @ np.where(np.arange(n) % 3 == 0, rng.normal(size=n), 0.0) + rng.normal(size=rows)
    threshold, lowest = np.full(n, 0.3 * rows), np.full(n, 0.0 if positive else FREE)
    threshold[0], lowest[0] = 0.0, FREE
    return Z.T @ Z, -Z.T @ target, np.full(n, 0.01 * rows), threshold, lowest


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("n", "rows"), [(1, 50), (7, 50), (40, 400)])
def test_it_is_where_plain_sweeps_lead(n: int, rows: int, positive: bool) -> None:
    for seed in range(5):
        goal = problem(seed, n, rows, positive)
        want, v = plainly(*goal), np.zeros(n)
        assert coordinate_descent(*goal, v, 1e-20, 1000)
        np.testing.assert_allclose(v, want, rtol=1e-8, atol=1e-12)
        np.testing.assert_array_equal(v == 0, want == 0)


@pytest.mark.parametrize("positive", [False, True])
def test_where_it_ends_no_slope_is_left_if_columns_depend_on_each_other(
    positive: bool,
) -> None:
    H, c, _, threshold, lowest = problem(3, 60, 25, positive)  # more coordinates than rows
    v = np.random.default_rng(0).normal(size=60)
    assert coordinate_descent(H, c, np.zeros(60), threshold, lowest, v, 1e-18, 5000)
    slope = H @ v + c
    there = v != 0
    assert there.sum() < 30
    assert (v >= lowest).all()
    np.testing.assert_allclose(slope[there], -(threshold * np.sign(v))[there], atol=1e-6)
    still = ~there
    over = -slope[still] if positive else np.abs(slope[still])
    assert (over <= threshold[still] + 1e-6).all()


def test_where_it_begins_makes_no_difference() -> None:
    goal = problem(1, 30, 300, False)
    ends = []
    for start in (np.zeros(30), np.full(30, 5.0), np.random.default_rng(1).normal(size=30)):
        v = start.copy()
        assert coordinate_descent(*goal, v, 1e-22, 1000)
        ends.append(v)
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=1e-9, atol=1e-12)


def test_it_refuses_columns_of_other_sizes() -> None:
    H, c, ridge, threshold, lowest = problem(0, 4, 20, False)
    with pytest.raises(ValueError, match="differ in size"):
        coordinate_descent(H, c, ridge[:3].copy(), threshold, lowest, np.zeros(4), 1e-9, 10)
    with pytest.raises(ValueError, match="not square"):
        coordinate_descent(H[:3].copy(), c, ridge, threshold, lowest, np.zeros(4), 1e-9, 10)

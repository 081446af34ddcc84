"""`LemmaNonQuadratic`, as printed and repaired, against all that can happen in a few rows."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.experiments.theory.noise_tree import (
    NoiseTree,
    counter_example,
    random_tree,
)
from reproduction.theory import c0, non_quadratic_bound
from reproduction.theory.constants import rate_sum, rates


def test_the_lemma_as_printed_has_a_counter_example():
    tree = counter_example()
    constants = tree.constants(c3=0.0, c6=0.0)  # there is no noise
    assert max(tree.shares(constants, printed=True)) > 1e4
    repaired = tree.shares(constants, printed=False)
    assert max(repaired) <= 1
    assert max(repaired) > 0.9999  # and no smaller repair would do


def test_the_counter_example_written_out():
    theta, found = 0.1, []
    for _ in range(5):
        found.append(theta**2)  # ξ⁽³⁾, and X̄ is 1 at a constant learning rate of 1
        theta = theta - (theta + theta**2)
    assert counter_example().left(5) == pytest.approx(sum(found) ** 2 / 5)


@pytest.mark.parametrize(("c", "a", "times"), [(2 / 3, 1.0, 10), (0.75, 1.0, 4), (0.75, 0.5, 200)])
def test_falling_learning_rates_exceed_the_printed_bound_too(c, a, times):
    tree = counter_example(c, a)
    constants = tree.constants(c3=0.0, c6=0.0)
    assert max(tree.shares(constants, printed=True)) > times
    assert max(tree.shares(constants, printed=False)) <= 1


def test_the_repaired_lemma_holds_where_the_printed_one_does_not():
    printed, repaired = [], []
    for number in range(60):
        tree, constants = random_tree(number, rows=7)
        printed.append(max(tree.shares(constants, printed=True)))
        repaired.append(max(tree.shares(constants, printed=False)))
    assert np.sum(np.array(printed) > 1) > 15
    assert max(repaired) <= 1
    assert max(repaired) > 0.9  # so that a constant forgotten would show


def test_both_halves_of_the_repair_are_needed():
    # Noise a fifth as large as the start, which is forgotten at once: c2 and c5 are tiny.
    rate, one, rows = {"gamma0": 1.0, "a": 0.0, "c": 0.0}, np.ones(1), 6
    tree = NoiseTree(one, np.full((1, 1, 1), 1e-3), 0.2 * one, one, rate, rows)
    constants = tree.constants(c3=0.2**2, c6=0.2**4)
    whole = float(non_quadratic_bound(rows, lambda0=1.0, **rate, **constants, delta0=1.0))
    fourth = (1 + 2 * constants["c2"]) * constants["c4"] ** 2 / rows
    cross = 2 * constants["c3"] * constants["c4"] ** 2
    assert tree.left(rows) <= whole
    assert tree.left(rows) > whole - fourth
    assert tree.left(rows) > whole - cross


@pytest.mark.slow
def test_the_repaired_lemma_holds_on_many_settings():
    for number in range(60, 1000):
        tree, constants = random_tree(number, rows=9)
        assert max(tree.shares(constants, printed=False)) <= 1, number


def test_the_tree_is_what_simulation_sees():
    values, rate = np.array([0.5, 1.0]), {"gamma0": 0.8, "a": 0.3, "c": 0.6}
    bend = np.random.default_rng(1).normal(size=(2, 2, 2)) * 0.1
    noise, delta0, runs = np.array([0.5, -0.3]), np.array([1.0, 0.5]), 40_000
    tree = NoiseTree(values, bend, noise, delta0, rate, 6)
    random = np.random.default_rng(2)
    delta, gammas = np.tile(delta0, (runs, 1)), rates(6, **rate)
    plain, total, plain_total = delta.copy(), np.zeros((runs, 2)), np.zeros((runs, 2))
    for t in range(1, 7):
        xi = noise * random.choice([-1.0, 1.0], (runs, 1))
        curved = np.einsum("ijk,nj,nk->ni", bend, delta, delta)
        delta = delta - gammas[t] * (values * delta + curved + xi)
        plain = plain - gammas[t] * (values * plain + xi)  # the same rows without the bend
        total, plain_total = total + delta, plain_total + plain
    each = np.square(total - plain_total) @ values / 6
    assert abs(each.mean() - tree.left(6)) <= 5 * each.std() / np.sqrt(runs)
    distance = np.square(delta) @ values
    assert abs(distance.mean() - tree.squares[6].mean()) <= 5 * distance.std() / np.sqrt(runs)


def test_the_constants_are_the_smallest_that_the_assumptions_allow():
    tree, constants = random_tree(3, rows=6)
    gammas, squares = tree.gammas, tree.squares
    slack = []
    for j in range(1, 7):
        for t in range(j, 7):
            sums = sum(squares[i].reshape(2 ** (j - 1), -1).mean(axis=1) for i in range(j, t + 1))
            right = constants["c2"] * squares[j - 1] + constants["c3"] * gammas[j : t + 1].sum()
            slack.append(np.min((right - sums) / right))
    assert -1e-9 < min(slack) < 1e-9 or constants["c2"] == 0


def test_c2_has_to_grow_with_the_rows_where_the_rate_falls():
    # A_DeltaBound asks for one c2 from every row on, but the later the row, the longer it takes.
    few, many = (counter_example(0.75, 1.0, rows).constants(0.0, 0.0) for rows in (10, 100))
    assert many["c2"] > 5 * few["c2"]


def test_the_bound_is_as_printed_and_as_repaired():
    rate = {"lambda0": 0.1, "gamma0": 0.5, "a": 0.05, "c": 0.7}
    more = {"c2": 0.5, "c3": 0.2, "c4": 0.3, "c5": 0.4, "c6": 0.6}
    t, delta0 = 300.0, 2.0
    total = float(rate_sum(t, 0.5, 0.05, 0.7))
    outer = (1 + c0(**rate)) ** 2 * 0.3**2 / t
    for printed, first in ((True, 0.0), (False, 1.0)):
        found = non_quadratic_bound(t, **rate, **more, delta0=delta0, printed=printed)
        middle = 2 * (first + 0.5) * 0.2 * delta0 + (1 + 2 * 0.5) * 0.6
        start = (1 + 2 * 0.5) * (first + 0.4) * delta0**2
        assert found == pytest.approx(outer * (start + middle * total + 0.2**2 * total**2))

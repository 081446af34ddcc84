"""The parts of the theory's experiment, scaled down: they find what is true of their problems."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.experiments.theory import best_powers, overtaking, two_lemmas
from reproduction.experiments.theory.one_feature_rows import (
    OneFeatureRows,
    average_errors,
)
from reproduction.theory import best_power, linear_errors


def test_the_average_overtakes_where_there_is_something_to_gain():
    flat, level = (overtaking.follow(flattest, 1.0, 30.0) for flattest in (0.02, 1.0))
    assert overtaking.overtakes(flat) < 1
    assert overtaking.overtakes(level) is None  # SGD with the best rate is as good as can be
    assert overtaking.overtakes(level, "its own iterate") == 1
    far = overtaking.follow(0.02, 10.0, 60.0)
    assert 10 < overtaking.overtakes(far) < 60


def test_an_average_that_falls_behind_again_has_not_overtaken():
    result = {"K": [1, 2, 3, 4], "ASGD": [1, 3, 1, 1], "SGD": [2, 2, 2, 2]}
    assert overtaking.overtakes(result) == 3
    assert overtaking.overtakes(result | {"SGD": [2, 2, 2, 0]}) is None


def test_the_lemmas_hold_but_for_one_as_printed():
    results = {
        "theory-regression": two_lemmas.regression(settings=3, rows=100),
        "theory-non-quadratic": two_lemmas.non_quadratic(trees=10, rows=5),
    }
    regression, non_quadratic = two_lemmas.claims(results)
    assert regression.holds is True
    assert non_quadratic.holds is False
    assert "exceeded" in non_quadratic.measured
    assert "10,001 times" in non_quadratic.measured
    assert max(map(max, results["theory-non-quadratic"]["repaired"])) <= 1


def test_one_feature_in_every_row_is_the_linear_equation():
    powers = np.array([0.5, 0.75])
    found = average_errors(OneFeatureRows(np.ones(1), 0.3, 2.0), [7, 50], [1.5], 0.9, 0.2, powers)
    for power, errors in zip(powers, found, strict=True):
        A, S = np.full((1, 1), 0.3), np.full((1, 1), 0.6)
        exact = linear_errors([7, 50], A, S, [1.5], 0.9, 0.2, power).average * [7, 50]
        np.testing.assert_allclose(errors, exact)


def test_the_error_of_least_squares_falls_fastest_with_a_smaller_power_than_its_bound():
    result = best_powers.least_squares(rows=20_000)
    fall = dict(zip(best_powers.POWERS, best_powers.falls(result), strict=True))
    assert max(fall, key=fall.get) in (0.5, 0.55, 0.6)
    assert fall[0.5] > fall[2 / 3] > fall[0.8]
    for power in best_powers.POWERS:  # and no error falls more slowly than its bound
        assert fall[power] >= best_powers.fall_of_bound(power, quadratic=True)


@pytest.mark.parametrize("quadratic", [True, False])
def test_the_bounds_fall_fastest_with_the_powers_of_the_paper(quadratic):
    grid = np.linspace(0.52, 0.98, 93)
    falls = [best_powers.fall_of_bound(power, quadratic=quadratic) for power in grid]
    assert grid[np.argmax(falls)] == pytest.approx(best_power(quadratic=quadratic), abs=0.01)


def test_a_curvature_that_changes_needs_a_learning_rate_that_falls():
    result = best_powers.logistic(rows=3000, runs=100)
    grown = {
        power: added[-1] / added[-2]
        for power, added in zip(best_powers.POWERS, result["added"], strict=True)
    }
    assert grown[0.4] > 1 > grown[0.6] > grown[0.75]  # like t^(1 - 2c), and not before long

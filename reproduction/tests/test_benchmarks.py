"""Section 6.3's contests: what is run, and how contests are counted."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.datasets import load_benchmark
from reproduction.experiments import benchmarks
from reproduction.experiments.benchmarks import ALGORITHMS, KAPPA, MARKS, ONE_PASS, Contest, first


def curve(one_pass, before=0.5):
    return {"error": [before] * ONE_PASS + [one_pass], "cost": [0.0] * (ONE_PASS + 1)}


def contest(rivals, ours, orders=10, loss="hinge", **more):
    """Make a contest whose rivals err at these rates, with a little noise over the orders."""
    random = np.random.default_rng(0)
    names = {"ASGD": ours, **dict(zip(benchmarks.NEWER, rivals, strict=True)), **more}
    drawn = [
        {name: curve(rate + 1e-4 * random.normal()) for name, rate in names.items()}
        for _ in range(orders)
    ]
    return Contest({"title": "x", "test rows": 10_000}, loss, drawn)


def test_every_algorithm_learns_every_loss_that_it_has():
    rows = load_benchmark("delta", "/nowhere", 0.05)
    for loss in benchmarks.LOSSES:
        found = benchmarks.compete(rows, loss, passes=2)
        absent = {"LIBLINEAR"} if loss == "log_loss" else {KAPPA}
        assert set(found) == set(ALGORITHMS) - absent
        assert {len(one["error"]) for one in found.values()} == {len(MARKS)}
        assert found["ASGD"]["error"][ONE_PASS] < 0.4


def test_first_is_below_every_rival():
    assert first(contest([0.2] * 5, 0.1), "M", False).high < 0
    assert first(contest([0.2, 0.2, 0.05, 0.2, 0.2], 0.1), "M", False).low > 0
    tied = first(contest([0.2, 0.2, 0.1, 0.2, 0.2], 0.1), "M", False)
    assert tied.low <= 0 <= tied.high
    assert tied.orders


@pytest.mark.parametrize(
    ("rivals", "ours", "sign"),
    [([0.2] * 5, 0.1, -1), ([0.1] * 5, 0.1, 1), ([0.2] * 4 + [0.1], 0.2, 1)],
)
def test_good_while_others_are_poor(rivals, ours, sign):
    assert contest(rivals, ours).good_while_others_poor("M", False).value == sign


def test_the_second_reading_counts_where_the_loss_has_a_smaller_curvature():
    one = contest([0.2] * 5, 0.3, loss="log_loss", **{KAPPA: 0.1})
    assert first(one, "M", False).low > 0
    assert first(one, "κ", False).high < 0

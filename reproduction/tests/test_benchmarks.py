"""Section 6.3's contests: what is run, and how contests are counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student_t

from reproduction.datasets import load_benchmark
from reproduction.experiments import benchmarks
from reproduction.experiments.benchmarks import (
    ALGORITHMS,
    GROUPS,
    KAPPA,
    MARKS,
    ONE_PASS,
    Contest,
    first,
)

TEST_ROWS = 10_000


def curve(rates, random, scatter=0.0):
    """Return sums by mark and group of the test rows, whose own error has this size in a group."""
    of_groups = scatter * random.normal(size=GROUPS)
    sums = [((rate + of_groups) * TEST_ROWS / GROUPS).tolist() for rate in rates]
    return {"error": sums, "cost": sums}


def contest(rivals, ours, orders=10, loss="hinge", scatter=0.0, what="error", **more):
    """Make a contest whose rivals err at these rates, with a little noise over the orders.

    The noise of the test rows is the same in all orders, and of each algorithm alone.
    """
    random = np.random.default_rng(0)
    names = {"ASGD": ours, **dict(zip(benchmarks.NEWER, rivals, strict=True)), **more}
    drawn = [
        {
            name: curve(
                [0.5] * ONE_PASS + [rate + 1e-4 * random.normal()],
                np.random.default_rng(place),
                scatter,
            )
            for place, (name, rate) in enumerate(names.items())
        }
        for _ in range(orders)
    ]
    return Contest({"title": "x", "test rows": TEST_ROWS}, loss, drawn, what)


def test_every_algorithm_learns_every_loss_that_it_has():
    rows = load_benchmark("delta", "/nowhere", 0.05)
    for loss in benchmarks.LOSSES:
        found = benchmarks.compete(rows, loss, passes=2)
        absent = {"LIBLINEAR"} if loss == "log_loss" else {KAPPA}
        assert set(found) == set(ALGORITHMS) - absent
        assert {len(one["error"]) for one in found.values()} == {len(MARKS)}
        assert sum(found["ASGD"]["error"][ONE_PASS]) < 0.4 * len(rows.y_test)
        assert found["LIBLINEAR" if loss != "log_loss" else "ASGD"]["cost"][ONE_PASS]


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


@pytest.mark.parametrize("what", ["error", "cost"])
def test_intervals_count_the_error_of_the_test_rows(what):
    apart = {"rivals": [0.2, 0.2, 0.101, 0.2, 0.2], "ours": 0.1, "what": what}
    assert first(contest(**apart), "M", False).high < 0
    of_few_rows = first(contest(**apart, scatter=0.02), "M", False)
    assert of_few_rows.low < 0 < of_few_rows.high
    assert not of_few_rows.orders  # which more orders do not decide


def test_the_jackknife_is_the_variance_of_the_mean_of_the_groups():
    one = contest([0.2] * 5, 0.1, scatter=0.02)
    groups = 0.02 * np.random.default_rng(0).normal(size=GROUPS)
    number = one.number(lambda of: of.after_one_pass("ASGD"))
    wanted = student_t.ppf(0.975, GROUPS - 1) * groups.std(ddof=1) / np.sqrt(GROUPS)
    assert (number.high - number.low) / 2 == pytest.approx(wanted, rel=1e-3)


def test_an_overflow_is_worse_than_any_value():
    one = contest([0.2] * 5, 0.1).after_one_pass("ASGD")
    assert (one < benchmarks.OVERFLOWED["error"]).all()
    for what in ("error", "cost"):
        orders = [{"ASGD": {what: [[1.0] * GROUPS] * ONE_PASS + [[]]}}] * 2
        of = Contest({"title": "x", "test rows": TEST_ROWS}, "hinge", orders, what)
        assert (of.after_one_pass("ASGD") == benchmarks.OVERFLOWED[what]).all()


def test_the_second_pass_goes_on_from_the_mean_of_all_orders():
    sums = [
        [[rate * TEST_ROWS / GROUPS] * GROUPS for rate in line]
        for line in (
            [0.3] * ONE_PASS + [0.2, 0.1, 0.1, 0.1, 0.1],  # of two passes
            [0.3] * ONE_PASS + [0.4],
        )
    ]
    orders = [{"ASGD": {"error": line}} for line in sums]
    mean = Contest({"title": "x", "test rows": TEST_ROWS}, "hinge", orders).mean_curve("ASGD")
    np.testing.assert_allclose(mean[ONE_PASS:], [0.3, 0.2, 0.2, 0.2, 0.2])


def test_figure_3_shows_errors_against_the_time_of_the_loops():
    rows = load_benchmark("delta", "/nowhere", 0.05)
    result = benchmarks.run_set("delta", "/nowhere", 0, 2, 0.05)
    result["about"] |= {"form": "real"}
    loops = dict.fromkeys(("ASGD", *benchmarks.NEWER), 0.5)
    results = {"benchmarks-delta-0": result, "speed-loops": {"timings": {"delta": loops}}}
    drawn = {figure.name: figure for figure in benchmarks.figures(results)}
    panel = drawn["benchmarks-time"].panels[0]
    assert panel.x_label == "seconds"
    line = next(series for series in panel.series if series.label == "ASGD")
    assert line.x == [mark * 0.5 for mark in MARKS]  # fewer rows than are timed: a pass is 0.5 s
    assert len(rows.y) < benchmarks.TIMED

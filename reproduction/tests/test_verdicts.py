"""One rule judges all sentences: from numbers, their intervals and a limit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from reproduction.__main__ import EXPERIMENTS
from reproduction.sentences import SENTENCES
from reproduction.verdicts import Number, Sentence, count_of, judge, student


def sentence(sense="<", limit=1.0, **readings):
    return Sentence("q", "w", "linear", readings or {"": "x"}, sense, limit, "c", "x is {x}")


@pytest.mark.parametrize(
    ("number", "sense", "verdict"),
    [
        (0.5, "<", "holds"),
        (1.0, "<", "does not hold"),
        (1.0, "<=", "holds"),
        (1.5, ">", "holds"),
        (1.5, "<=", "does not hold"),
        (None, "<", "cannot be told"),
        (Number(0.5, 0.2, 0.8), "<", "holds"),
        (Number(0.9, 0.5, 1.3, (30,)), "<", "undecided"),
        (Number(2.0, 1.5, 2.5), "<", "does not hold"),
        (Number(2.0, 1.5, 2.5), ">", "holds"),
    ],
)
def test_a_number_and_its_interval_decide(number, sense, verdict):
    assert judge(sentence(sense), {"x": number}).verdict == verdict


def test_undecided_names_the_further_orders():
    found = judge(sentence(), {"x": Number(0.9, 0.5, 1.3, (30,))})
    assert found.measured == "x is 0.9 (0.5 to 1.3) (30 further orders needed)"


def test_readings_are_judged_apart():
    found = judge(sentence(first="x", second="y"), {"x": 0.5, "y": 2.0})
    assert found.verdict == "holds in one reading"
    assert found.measured.endswith("[first: holds; second: does not hold]")
    assert judge(sentence(first="x", second="y"), {"x": 3.0, "y": 2.0}).verdict == "does not hold"


@pytest.mark.parametrize(("other", "verdict"), [(0.5, "holds"), (None, "cannot be told")])
def test_a_reading_that_is_open_decides_nothing(other, verdict):
    assert judge(sentence(first="x", second="y"), {"x": 0.5, "y": other}).verdict == verdict
    open_ = {"x": 2.0, "y": Number(0.9, 0.5, 1.3, (30,))}
    assert judge(sentence(first="x", second="y"), open_).verdict == "undecided"


def test_parts_of_the_sets_decide_nothing():
    whole = replace(sentence(), whole_sets=True)
    assert judge(whole, {"x": 0.5}).verdict == "holds"
    found = judge(whole, {"x": 0.5}, quick=True)
    assert found.verdict == "cannot be told"
    assert found.measured.startswith("x is 0.5")


def test_more_orders_do_not_make_test_rows_more():
    values, rows = np.random.default_rng(0).normal(1.0, 0.1, 25), [0.0, 2.0] * 10
    found = student(values, 0.9, rows)
    assert found.low < 0.9 < found.high
    assert found.orders == ()
    shown = judge(sentence(limit=0.9), {"x": found}).measured
    assert shown.endswith("(more test rows needed)")


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(1.0, 2.0, 25)
    found = student(values)
    low, high = ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_a_majority_needs_as_many_of_the_open_contests_as_are_missing():
    won, lost = Number(-2, -3, -1), Number(2, 1, 3)
    open_ = [Number(-1, -3, 1, (orders,)) for orders in (40, 900)]
    counted = count_of([won, won, *open_, lost], 0.0)
    found = judge(sentence(">", 2.5), {"x": counted})
    assert found.verdict == "undecided"
    assert "(40 further orders needed)" in found.measured
    assert judge(sentence(">", 1.5), {"x": counted}).verdict == "holds"
    assert judge(sentence(">", 4.5), {"x": counted}).verdict == "does not hold"


def test_every_sentence_has_an_experiment_and_a_criterion():
    assert len({one.quote for one in SENTENCES}) == len(SENTENCES) >= 26
    for one in SENTENCES:
        assert one.experiment in EXPERIMENTS
        assert one.criterion
        assert one.readings
        assert one.whole_sets or one.experiment != "benchmarks" or one.limit == 0.45  # beta
        assert not one.changed or re.search(r"\b[0-9a-f]{7}\b", one.changed)

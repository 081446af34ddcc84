"""Random orders, and sums whose order is that of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from polyak import _core


@pytest.mark.parametrize("count", [0, 1, 2, 2048, 2049, 100_003])
def test_a_random_order_has_every_number_once(count):
    order = _core.random_order(count, 3)
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
    np.testing.assert_array_equal(order, _core.random_order(count, 3))
    assert count < 3 or (order != _core.random_order(count, 4)).any()


def test_it_is_the_same_on_every_machine():
    assert _core.random_order(8, 1).tolist() == [6, 3, 4, 0, 5, 7, 1, 2]
    assert _core.random_order(5000, 1)[:4].tolist() == [2611, 2033, 1677, 5]


def test_all_orders_of_four_are_equally_likely():
    orders = np.array([_core.random_order(4, seed) for seed in range(24_000)])
    counts = np.unique(orders @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert np.square(counts - 1000.0).sum() / 1000 < 50  # chi-square of 23 degrees: 1 in 1000


def test_places_among_several_piles_are_equally_likely():
    places = np.array([np.argsort(_core.random_order(5000, seed)) for seed in range(2000)])
    for number in (0, 1, 2500, 4999):
        counts = np.histogram(places[:, number], 10, (0, 5000))[0]
        assert np.square(counts - 200.0).sum() / 200 < 28  # of 9 degrees
    together = np.corrcoef(places[:, [0, 1, 2500]].T)
    assert np.abs(together - np.eye(3)).max() < 4 / np.sqrt(2000)


@pytest.mark.parametrize("kinds", [1, 6, 8, 11])
def test_sums_are_added_up_one_by_one(kinds):
    rng = np.random.default_rng(kinds)
    numbers, totals = rng.lognormal(0, 20, (kinds, 1000)), rng.lognormal(0, 20, kinds)
    wanted = np.add.accumulate(np.column_stack([totals, numbers]), axis=1)[:, -1]
    _core.add_in_order(numbers[:, :400].copy(), totals)
    _core.add_in_order(numbers[:, 400:].copy(), totals)
    np.testing.assert_array_equal(totals, wanted)
    with pytest.raises(ValueError, match="totals"):
        _core.add_in_order(numbers, np.zeros(kinds + 1))

"""The order in which rows in memory are learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from polyak.training.in_memory import ROWS_TO_ORDER, _shuffled


@pytest.mark.parametrize("count", [ROWS_TO_ORDER - 1, ROWS_TO_ORDER])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("some", [False, True])
def test_an_order_has_every_row_that_is_there_once(count, form, some):
    there = np.flatnonzero(np.arange(2 * count) % 2) if some else np.arange(count)
    rows, present = form(np.zeros((there[-1] + 1, 1))), there if some else None
    orders = [_shuffled(np.random.RandomState(seed), rows, present) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(np.sort(orders[0]), there)
    np.testing.assert_array_equal(orders[0], orders[1])
    assert (orders[0] != orders[2]).mean() > 0.99
    assert abs(np.corrcoef(orders[0], there)[0, 1]) < 0.03

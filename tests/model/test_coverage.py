"""Do 95% intervals contain the weights of the population 95 times of a hundred?

Each part of the slow tests can be run alone, as in ``-k "rare and 2000 and log_loss"``.
"""

from __future__ import annotations

import numpy as np
import pytest
from interval_designs import (
    DESIGNS,
    LOSSES,
    batch_coverage,
    best_weights,
    coverage,
    draw,
    learned,
)

from polyak.model.intervals import centres


def bounds(runs, weights, errors=4.0):
    """Return the range of the observed share for 95% of this number of independent weights."""
    reach = errors * np.sqrt(0.95 * 0.05 / (runs * weights))
    return 0.95 - reach, 0.95 + reach


@pytest.mark.parametrize(
    ("design", "loss"), [("far from zero", "log_loss"), ("heteroscedastic", "squared_error")]
)
def test_coverage_of_a_few_runs(design, loss):
    least, most = bounds(8, 10)
    assert least < coverage(design, loss, 2000, 8) < most


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_weights_are_where_many_rows_lead(loss):
    model = learned(loss, *draw("misspecified", loss, 50_000, 0))
    away = centres(model.to_model())[0][:, 0] - best_weights("misspecified", loss)
    assert np.abs(away / np.ravel(model.coef_std_err_)).max() < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("design", DESIGNS)
def test_coverage(design, loss):
    """The bounds are four and three errors of 0.95 away: 1,000 weights have one of 0.007.

    A true coverage of 0.90 is below them with a probability of 98%, one of 0.89 of 99.9%. Of the
    design with 50 weights there are 2,000, since those of neighbours are not independent.
    """
    rows, runs = 2000, 40 if design == "correlated" else 100
    share = coverage(design, loss, rows, runs)
    least = 0.92
    if (design, loss) == ("rare class", "log_loss"):
        least = batch_coverage(design, loss, rows, runs) - 0.02
    assert least <= share <= 0.97

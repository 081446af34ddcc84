"""Who is best where all rows are at hand and few: by leaving each of them out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.past import proportionate
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]


def best_left_out(
    newton: NewtonRacer,
    constant: ConstantLane | None,
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
) -> int | None:
    """Give the number of the penalty, or the constant, that loses least on rows it does not know.

    The rows are all that were learned. None where nothing is a number any more.
    """
    losses = newton.newton.losses_left_out(rows, targets, weights)
    numbers = list(newton.numbers)
    usual = proportionate(losses.min(axis=1))  # one absurd row must not decide
    if constant is not None:
        alone = constant.losses_left_out(targets, weights)
        losses, numbers = np.column_stack([alone, losses]), [*constant.numbers, *numbers]
    means = losses[usual].mean(axis=0)
    return numbers[int(np.nanargmin(means))] if np.isfinite(means).any() else None

"""A sample of streamed targets, for constants that running sums cannot give, such as a median.

It holds all rows up to a limit, then every second, every fourth and so on by row number, so that it
does not depend on the batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.losses.base import Loss

Floats = NDArray[np.float64]

MOST = 1 << 14


class TargetSample:
    """An evenly spaced sample of rows: weight, offset, and the target of each output.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> sample = TargetSample(1)
    >>> sample.add(np.array([[1.0], [5.0], [2.0]]), None)
    >>> sample.constants(get_loss("quantile(0.5)"))
    array([2.])
    """

    def __init__(self, outputs: int, most: int = MOST) -> None:
        self.table: Floats = np.zeros((0, 2 + outputs))
        self.rows = 0
        self.every = 1
        self.most = most

    def add(self, targets: Floats, weights: Floats | None, offsets: Floats | None = None) -> None:
        """Add rows whose targets have one column per output."""
        while len(targets):
            # The rows until the sample is full and has to be thinned.
            free = (self.most - len(self.table)) * self.every
            take = min(len(targets), free)
            first = -self.rows % self.every
            own = np.ones(take) if weights is None else weights[:take]
            shift = np.zeros(take) if offsets is None else offsets[:take]
            some = np.column_stack([own, shift, targets[:take]])[first :: self.every]
            self.table = np.concatenate([self.table, some])
            self.rows += take
            targets, weights = targets[take:], None if weights is None else weights[take:]
            offsets = None if offsets is None else offsets[take:]
            if len(self.table) >= self.most:
                self.table, self.every = self.table[::2], 2 * self.every

    def constants(self, loss: Loss) -> Floats:
        """Return the best constant of each output; zero without rows."""
        if not self.table[:, 0].sum() > 0:
            return np.zeros(self.table.shape[1] - 2)
        own, shift, *targets = self.table.T
        each = enumerate(targets)
        return np.array([loss.of_output(k).best_intercept(y, own, shift) for k, y in each])

    def losses(self, loss: Loss, constants: Floats) -> Floats:
        """Return the losses of the rows by these constants, summed over the outputs."""
        values = loss.value(constants + self.table[:, 1:2], self.table[:, 2:])
        return np.asarray(values.sum(axis=1))

    def mean_loss(self, loss: Loss) -> float:
        """Return the mean loss of the best constants, summed over the outputs."""
        losses = self.losses(loss, self.constants(loss))
        return float(self.table[:, 0] @ losses / self.table[:, 0].sum())

    def join(self, others: list[TargetSample]) -> None:
        """Add the samples of other rows."""
        for other in others:
            self.every = max(self.every, other.every)
        tables = [one.table[:: self.every // one.every] for one in (self, *others)]
        self.table = np.concatenate(tables)
        self.rows += sum(other.rows for other in others)
        while len(self.table) >= self.most:
            self.table, self.every = self.table[::2], 2 * self.every
        self.rows = len(self.table) * self.every  # the next row is in the sample

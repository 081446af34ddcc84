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
    """An evenly spaced sample of rows: the weight and the target of each output.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> sample = TargetSample(1)
    >>> sample.add(np.array([[1.0], [5.0], [2.0]]), None)
    >>> sample.constants(get_loss("quantile(0.5)"))
    array([2.])
    """

    def __init__(self, outputs: int, most: int = MOST) -> None:
        self.table: Floats = np.zeros((0, 1 + outputs))
        self.rows = 0
        self.every = 1
        self.most = most

    def add(self, targets: Floats, weights: Floats | None) -> None:
        """Add rows whose targets have one column per output."""
        while len(targets):
            # The rows until the sample is full and has to be thinned.
            free = (self.most - len(self.table)) * self.every
            take = min(len(targets), free)
            first = -self.rows % self.every
            own = np.ones(take) if weights is None else weights[:take]
            some = np.column_stack([own, targets[:take]])[first :: self.every]
            self.table = np.concatenate([self.table, some])
            self.rows += take
            targets, weights = targets[take:], None if weights is None else weights[take:]
            if len(self.table) >= self.most:
                self.table, self.every = self.table[::2], 2 * self.every

    def constants(self, loss: Loss) -> Floats:
        """Return the best constant of each output; zero without rows."""
        if not self.table[:, 0].sum() > 0:
            return np.zeros(self.table.shape[1] - 1)
        own, targets = self.table[:, 0], self.table[:, 1:]
        return np.array([loss.of_output(k).constant_of(y, own) for k, y in enumerate(targets.T)])

    def mean_loss(self, loss: Loss) -> float:
        """Return the mean loss of the best constants, summed over the outputs."""
        losses = loss.value(self.constants(loss), self.table[:, 1:]).sum(axis=1)
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

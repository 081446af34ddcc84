"""Rows that come in pieces, handed on in pieces that do not depend on how they came."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, join_rows, take_rows

Floats = NDArray[np.float64]


class Engine(Protocol):
    """What learns: its whole memory is arrays, so a deep copy goes on as the original would."""

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Learn from rows; all but the last call bring whole mini-batches."""

    @property
    def coef(self) -> Floats:
        """The weights as they are now."""

    @property
    def intercept(self) -> float:
        """The intercept as it is now."""


class Stream:
    """Keeps rows back until an engine can begin, and until a mini-batch is full.

    Parameters
    ----------
    begin : function of (rows, targets)
        Makes the engine, having looked at the first rows without learning from them.
    sample : int
        How many rows it looks at.
    unit : int
        How many rows make a mini-batch.
    """

    def __init__(self, begin: Callable[[Rows, Floats], Engine], sample: int, unit: int = 1) -> None:
        self._begin, self._sample, self._unit = begin, sample, unit
        self._engine: Engine | None = None
        self._settled: Engine | None = None
        self._kept: list[tuple[Rows, Floats]] = []

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Learn from rows, or keep them until there are enough."""
        self._settled = None
        kept = sum(len(part) for part, _ in self._kept)
        wanted = self._unit if self._engine is not None else max(self._sample, self._unit)
        if kept + len(rows) < wanted:
            self._keep(rows, targets)
            return
        if self._engine is None:
            rows, targets = self._joined(rows, targets)
            self._engine = self._begin(rows[: self._sample], targets[: self._sample])
        elif kept:  # fill the mini-batch that was begun
            missing = wanted - kept
            self._engine.learn(*self._joined(rows[:missing], targets[:missing]))
            rows, targets = rows[missing:], targets[missing:]
        whole = len(rows) // self._unit * self._unit
        if whole:
            self._engine.learn(rows[:whole], targets[:whole])
        if whole < len(rows):
            self._keep(rows[whole:], targets[whole:])

    def begin(self) -> None:
        """Make do with the rows there are, should there be too few to begin with."""
        if self._engine is None and self._kept:
            rows, targets = self._joined()
            self._sample = min(self._sample, len(rows))
            self._engine = self._begin(rows[: self._sample], targets[: self._sample])
            self.learn(rows, targets)

    def settled(self) -> Engine:
        """Return a copy of the engine as it would be if the rows ended here."""
        if self._settled is None:
            self._settled = self._finished() if self._kept else self._engine
        assert self._settled is not None
        return self._settled

    def _finished(self) -> Engine:
        kept = self._kept
        rows, targets = self._joined()
        self._kept = kept
        if self._engine is None:
            engine = self._begin(rows[: self._sample], targets[: self._sample])
        else:
            engine = copy.deepcopy(self._engine)
        engine.learn(rows, targets)
        return engine

    def _keep(self, rows: Rows, targets: Floats) -> None:
        # A copy: the caller may use its arrays again.
        if len(rows):
            self._kept.append((take_rows(rows, np.arange(len(rows))), targets.copy()))

    def _joined(
        self, rows: Rows | None = None, targets: Floats | None = None
    ) -> tuple[Rows, Floats]:
        """Return the rows held back followed by these, and clear the buffer."""
        parts, self._kept = self._kept, []
        if rows is not None and targets is not None:
            parts = [*parts, (rows, targets)]
        if len(parts) == 1:
            return parts[0]
        return join_rows([part for part, _ in parts]), np.concatenate([y for _, y in parts])

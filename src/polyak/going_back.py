"""A race as it was before a batch, for when learning it fails halfway.

What can be checked is checked before anything is learned. What is left is weights that overflow,
memory that runs out, and Ctrl-C. Keeping a copy of all weights for that costs as much as the
weights are large, however small the batch. So it is kept where weights can be expected to
overflow, which takes explicit steps of a length that somebody set and that nothing caps; and
anywhere else where it is small beside the batch, as it is while a file is learned. Otherwise a
race whose weights overflowed stays as it is, and its model says so.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from polyak.rows import Rows, SparseRows

if TYPE_CHECKING:
    from polyak.race import Race

SMALL = 0.25
"""Beside a batch, a copy of all weights is small if it takes at most this share of its bytes."""


class Before:
    """A race as it stands, kept to go back to."""

    def __init__(self, race: Race) -> None:
        # The race replaces these lists when somebody drops out, and changes what is in them.
        self._lanes, self._banks = race.lanes, race.banks
        self._states = [bank.state() for bank in race.banks]
        self._histograms = copy.deepcopy(race.histograms)
        self._scored, self._marks = race.scored, len(race.marks)

    def put_back(self, race: Race) -> None:
        """Make the race what it was."""
        race.lanes, race.banks, race.histograms = self._lanes, self._banks, self._histograms
        for bank, state in zip(self._banks, self._states, strict=True):
            bank.set_state(state)
        race.scored = self._scored
        del race.marks[self._marks :], race.history[self._marks :]


def before(race: Race, rows: Rows) -> Before | None:
    """Keep the race as it stands, if it is worth the copy."""
    uncapped = any(c.step == "explicit" and not c.capped for c in race.candidates)
    of_weights = sum(2 * len(bank) * bank.n_features * bank.dtype.itemsize for bank in race.banks)
    return Before(race) if uncapped or of_weights <= SMALL * _bytes(rows) else None


def _bytes(rows: Rows) -> int:
    if not isinstance(rows, SparseRows):
        return int(rows.nbytes)
    stored = int(rows.indptr[-1]) - int(rows.indptr[0])
    return stored * (rows.indices.itemsize + rows.values.itemsize)

"""The lane of additive models: block Newton steps on curves, categories and pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.protocol import NewOutput
from polyak.learn.recipes.candidates import NewtonCandidate, TermsCandidate
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.terms.basis import curve_axis
from polyak.learn.training_rows import TrainingRows
from polyak.model.terms import ROWS_AT_A_TIME, Term, Terms, columns_of
from polyak.rows.sparse import Rows
from polyak.storage.container import plain
from polyak.storage.records import read
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


class TermsLane(NewtonRacer):
    """Newton steps on rows that are expanded in terms, each with a penalty of its own."""

    kinds = (TermsCandidate,)
    terms: Terms | None = None

    def _objective(self, candidates: list[NewtonCandidate]) -> Any:
        from dataclasses import replace

        objective = super()._objective(candidates)
        return replace(objective, intervals=False, sparsity=None, term_of=self._term_of)

    def _term_of(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the terms of features: columns first, then curves."""
        columns, terms = self.problem.columns, self.terms
        assert columns is not None and terms is not None
        found = np.empty(len(features), dtype=np.int64)
        own = features >= terms.begin
        found[~own] = columns.term_numbers(features[~own])
        ends = np.cumsum([term.size for term in terms.terms])
        number = np.searchsorted(ends, features[own] - terms.begin, side="right")
        found[own] = 2 * len(columns.names) + 1 + number
        return found

    def _find_terms(self, rows: Rows) -> Terms:
        columns = self.problem.columns
        assert columns is not None
        found = []
        for column in columns.curves(self.recipe.curves):
            features = columns.numbers[column]
            values = columns_of(rows, features)
            there = values[:, 1] == 0 if len(features) > 1 else slice(None)
            axis = curve_axis(columns.names[column], features, values[there, 0])
            if axis is not None:
                found.append(Term((axis,)))
        replaced = tuple(term.axes[0].features[0] for term in found)
        return Terms(columns.n_features, tuple(found), replaced)

    @property
    def n_features(self) -> int:
        """The number of features with those of the terms."""
        return super().n_features if self.terms is None else self.terms.n_features

    @property
    def fewest(self) -> int:
        """It stays: what has most to learn is behind at first."""
        return len(self.numbers)

    @property
    def stays(self) -> list[int]:
        return []

    def _own_rows(self, rows: Rows) -> Rows:
        assert self.terms is not None
        return self.terms.expand(rows)

    def warm_up(self, rows: Rows) -> None:
        """Take knots, centres and spreads from the rows that calibration looks at."""
        self.terms = self._find_terms(rows)
        super().warm_up(rows)

    def most_rows(self, rows: Rows, *, again: bool) -> int:
        return ROWS_AT_A_TIME

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        if not again:
            given = given.taken()
            given = given._replace(rows=self._own_rows(given.rows))
        return super().learn(given, again=again, stops=stops, threads=threads)

    def converge(self, rows: Rows, targets: NDArray[Any], weights: Floats | None) -> bool:
        return True

    def add_output(self, new: NewOutput) -> Self:
        grown = super().add_output(new)
        grown.terms = self.terms
        return grown

    def state(self) -> tuple[Page, Arrays]:
        page, arrays = super().state()
        return page | {"terms": plain(self.terms)}, arrays

    def set_state(self, stored: StoredState, clock: int) -> None:
        self.terms = read(Terms, stored.field("terms"), "terms")
        super().set_state(stored, clock)

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        with np.errstate(all="ignore"):
            return self.newton.weights(self.n_features, place=place)

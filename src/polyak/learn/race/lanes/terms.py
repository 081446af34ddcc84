"""The lane of additive models: block Newton steps on curves, categories and pairs of columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import score_rows
from polyak.free_memory import release_memory
from polyak.learn.newton.block.curvature import curvature, with_offsets
from polyak.learn.newton.cadence import BLOCK
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.protocol import NewOutput, Problem
from polyak.learn.recipes import Recipe, TermsCandidate
from polyak.learn.recipes.recipe import ROWS_FOR_KNOTS
from polyak.learn.schedules import CALIBRATION_ROWS
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.terms.axes import Axes
from polyak.learn.terms.pairs import RatedPairs, rated_pairs
from polyak.learn.training_rows import FirstRows, TrainingRows
from polyak.losses.softmax import odds_of_softmax
from polyak.model.terms import ROWS_AT_A_TIME, Terms
from polyak.model.training_report import TermReport
from polyak.rows.sparse import Rows, bytes_of, core_rows, take_rows
from polyak.rows.taken import spread_evenly
from polyak.storage.container import plain
from polyak.storage.records import read
from polyak.storage.sandwich import Sandwich

if TYPE_CHECKING:
    from polyak.learn.newton.objective import Objective

Floats = NDArray[np.float64]

FIRST_SEARCH, LATER_SEARCH, LAST_SEARCH = 2048, 16384, 262144
"""Pairs are looked for in all rows so far when there are this many, at every doubling up to the
second number and whenever there are four times as many up to the last: those of few rows are found
again and better. Doubling up to the last takes a fifth more time. Until then all rows are kept. The
first is half of the rows that a stream begins with, so that the others tell what pairs gain."""
HAS_EFFECT = 1.0
"""The effective degrees of freedom of a pair of rows at hand below which it is left out again."""
HALF = 0.5
"""Pairs gain something on rows left out if it is more than this many standard errors."""
MOST_BYTES = 1 << 28
"""The memory of rows that are kept."""


class TermsLane(NewtonRacer):
    """Newton steps on rows that are expanded in terms, each with a penalty of its own."""

    kinds = (TermsCandidate,)
    counts_from = 0

    def __init__(
        self,
        numbers: list[int],
        candidates: list[Any],
        recipe: Recipe,
        problem: Problem,
    ) -> None:
        super().__init__(numbers, candidates, recipe, problem)
        self.terms: Terms | None = None
        # The last features asked for, and their terms.
        self._known_terms: tuple[Any, Any] = (None, None)
        # Rows to look for pairs in, which are learned again with the pairs that are found.
        self._kept = FirstRows("pairs")
        self._has_pairs: bool = candidates[0].pairs
        asked = recipe.pairs if self._has_pairs else ()
        self._next_search = 0 if isinstance(asked, tuple) else FIRST_SEARCH

    def _objective(self, candidates: list[Any]) -> Objective:
        own = super()._objective(candidates)
        assert self.problem.columns is not None
        begin = self.problem.columns.n_features
        own = replace(own, intervals=False, sparsity=None, term_of=self.term_of)
        own = replace(own, first_of_terms=begin)
        return own if own.sign_of is None else replace(own, sign_of=self.sign_of)

    @property
    def axes(self) -> Axes:
        """The columns that terms are made of."""
        assert self.problem.columns is not None
        return Axes(self.problem.columns, self.newton.widest, self.recipe)

    def term_of(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the terms of features: columns first, then curves and pairs."""
        assert self.terms is not None
        if self._known_terms[0] is not features:
            self._known_terms = (features, self.axes.term_numbers(features, self.terms))
        found: NDArray[np.int64] = self._known_terms[1]
        return found

    def sign_of(self, features: NDArray[np.int64]) -> Floats:
        """Return the signs of features' weights; those of a curve have the sign of its column."""
        assert self.terms is not None
        linear = self.recipe.sign_of(self.problem.columns)
        assert linear is not None
        found, own = linear(features), features >= self.terms.begin
        signs = [self.recipe.signs.get(term.name, 0) for term in self.terms.terms]
        found[own] = np.array(signs)[self.terms.numbers(features[own])]
        return found

    # -- what the race asks ----------------------------------------------------------------------

    @property
    def most_features(self) -> int | None:
        """The number of features with those of the terms."""
        return None if self.terms is None else self.terms.n_features

    @property
    def fewest(self) -> int:
        """It stays: what has most to learn is behind at first."""
        return len(self.numbers)

    @property
    def stays(self) -> list[int]:
        asked_for = self.recipe.intervals and not self.recipe.for_inference
        return self.numbers if asked_for else []

    def warm_up(self, rows: Rows) -> None:
        """Take knots, centres and spreads from the rows that calibration looks at."""
        self._take_knots(rows)
        super().warm_up(rows)

    def _take_knots(self, rows: Rows) -> None:
        axes, asked = self.axes, self.recipe.pairs
        self.terms = axes.curves(rows)
        if isinstance(asked, tuple) and self._has_pairs:
            pairs = [(axes.columns.place(a), axes.columns.place(b)) for a, b in asked]
            self.terms = axes.with_pairs(self.terms, pairs, np.ones(len(pairs)), rows)

    def begin_part(self) -> None:
        """Look for no more pairs: other parts would find others."""
        self._next_search, self._kept = 0, FirstRows("pairs")

    # -- learning ------------------------------------------------------------------------------

    def _own_rows(self, rows: Rows) -> Rows:
        assert self.terms is not None
        return self.terms.expand(rows)

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        if again:
            return super().learn(given, again=again, stops=stops, threads=threads)
        done, sums = 0, list[Floats]()
        while done < given.total or not sums:
            end = min(done + ROWS_AT_A_TIME, given.total)
            if self._next_search:
                end = min(end, done + self._next_search - len(self._kept))
            part, here = (
                given.part(done, end).taken(),
                stops[(stops > done) & (stops <= end)] - done,
            )
            expanded = part._replace(rows=self._own_rows(part.rows))
            sums.append(super().learn(expanded, again=False, stops=here, threads=threads))
            if self._next_search and self.newton.left is None:
                self._kept.add(part)
                if len(self._kept) == self._next_search:
                    self._search(threads)
                    self._plan_next_search()
            done = end
        return np.concatenate(sums)

    # -- rows that are at hand -----------------------------------------------------------------

    def fit(self, given: TrainingRows, threads: int) -> bool:
        """Learn all rows at once, with the pairs that gain most when rows are left out in turn."""
        some = take_rows(given.rows, spread_evenly(given.total, ROWS_FOR_KNOTS))
        self._take_knots(some)
        with np.errstate(all="ignore"):
            fits = self._fit(given, threads)
            if fits and self._next_search:
                self._add_pairs(given, some, threads)
        self._next_search = 0
        return fits

    def _fit(self, given: TrainingRows, threads: int) -> bool:
        """Fit the weights of the terms there are now and their penalties to the optimum."""
        if super().fit(given, threads):
            own = (given.targets, given.weights, given.offsets)
            self.newton, _ = self.newton.converged(self._own_rows(given.rows), *own)
        return self.newton.left is None

    def _add_pairs(self, given: TrainingRows, some: Rows, threads: int) -> None:
        """Add all pairs that there is room for, or those alone that these fits leave an effect.

        Where rows are few, pairs have no more features than rows; those of fewer are finer. The
        fewest pairs are taken of those that are equally good on rows left out in turn.
        """
        assert self.terms is not None
        assert self.problem.columns is not None
        axes = Axes(self.problem.columns, min(self.newton.widest, given.total), self.recipe)
        curves, rated = self.terms, self._rated_pairs(given)
        gains = dict(zip(rated.pairs, np.maximum(rated.gains, rated.chances), strict=True))
        most = self.recipe.pairs if isinstance(self.recipe.pairs, int) else len(gains)
        tried = [(self._losses_left_out(given), self.newton, curves)]

        def fit(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
            """Fit a model with pairs, and return those that have an effect in it."""
            sizes = np.sqrt([gains[pair] for pair in pairs])
            self.terms = axes.with_pairs(curves, pairs, sizes, some)
            made = self.terms.terms[len(curves.terms) :]
            if not made or not self._fit(given, threads):
                return []
            if len(made) <= most:
                tried.append((self._losses_left_out(given), self.newton, self.terms))
            freedom = self.newton.freedom[axes.first_term + len(curves.terms) :]
            names = [[axis.column for axis in term.axes] for term in made]
            places = [(axes.columns.place(a), axes.columns.place(b)) for a, b in names]
            order = np.argsort(-freedom, kind="stable")[:most]
            return [places[k] for k in order if freedom[k] >= HAS_EFFECT]

        found = fit(rated.pairs) if rated.pairs else []
        for pairs in (found, rated.pairs[: min(rated.clear, most)]):
            if 0 < len(pairs) < len(self.terms.terms) - len(curves.terms):
                fit(pairs)
        lowest = min((losses for losses, *_ in tried), key=lambda losses: float(losses.sum()))
        tried.sort(key=lambda one: len(one[2].terms))
        as_good = (one for one in tried if _is_as_good(one[0], lowest))
        _, self.newton, self.terms = next(as_good, tried[0])  # where losses are not finite

    def _losses_left_out(self, given: TrainingRows) -> Floats:
        """Return the losses of rows, times their weights, by weights found without them."""
        losses = self.newton.losses_of(self.leaving_out(given)([0])[:, 0], given.targets)
        return losses if given.weights is None else losses * given.weights

    def converge(self, given: TrainingRows) -> bool:
        return self.problem.solved or super().converge(given)

    # -- rows that come and go -----------------------------------------------------------------

    def _plan_next_search(self) -> None:
        """Look for pairs again when there are several times as many rows, if memory has room."""
        times = 2 if self._next_search < LATER_SEARCH else 4
        size = times * bytes_of(self._kept.joined().rows)
        if self._next_search >= LAST_SEARCH or size > MOST_BYTES:
            self._next_search, self._kept = 0, FirstRows("pairs")
        self._next_search *= times

    def _search(self, threads: int) -> None:
        """Look for pairs in all rows so far, and learn the rows again with those that are found."""
        assert self.terms is not None
        kept, sums = self._kept.joined(), self.newton.sums()
        before, self.terms = self.terms, self.terms.curves_only()
        if self.terms.size < before.size:
            self._learn_anew(kept, threads)
        pairs, gains, _ = rated = self._rated_pairs(kept)
        most = self.recipe.pairs if isinstance(self.recipe.pairs, int) else len(pairs)
        if count := min(rated.clear, most):
            first = kept.rows[: self.recipe.first_rows]
            self.terms = self.axes.with_pairs(self.terms, pairs[:count], gains[:count], first)
            self._learn_anew(kept, threads)
        if len(before.terms) == len(before.curves_only().terms) < len(self.terms.terms):
            self.counts_from, sums = self.clock, np.zeros_like(sums)
        self.newton.continue_sums(sums)

    def _learn_anew(self, given: TrainingRows, threads: int) -> None:
        """Learn rows with the terms there are now, and nothing else."""
        self.newton = self._solver(self._own_rows(given.rows[:CALIBRATION_ROWS]), self.candidates)
        self.newton.threads = threads
        release_memory()  # that of the solver before
        for begin in range(0, given.total, BLOCK):
            part = given.part(begin, min(begin + BLOCK, given.total))
            self.newton.fit(self._own_rows(part.rows), part.targets, part.weights, part.offsets)

    def _rated_pairs(self, given: TrainingRows) -> RatedPairs:
        """Rate all pairs of columns by what the model leaves of these rows."""
        binned, unexplained = self.axes.binned(given.rows), self._unexplained(given)
        return rated_pairs(binned, *unexplained, self.newton.dispersion)

    def _unexplained(self, given: TrainingRows) -> tuple[Floats, Floats]:
        """Return the slopes and curvatures of rows by the model, a column per output."""
        rows, targets, weights, _, _, offsets = given
        coef, intercept = self.newton.weights(self.n_features, place=0)
        matrix = np.ascontiguousarray(coef.T)
        assert self.terms is not None
        parts = [score_rows(core_rows(part), matrix) for part in self.terms.parts(rows)]
        scores = with_offsets(np.concatenate(parts) + intercept, offsets)
        scores = odds_of_softmax(scores) if self.softmax else scores
        objective = self.newton.objective
        loss, signs = objective.smooth_loss(len(rows), len(matrix)), objective.signs(targets)
        slopes = loss.value_and_slope(scores, signs)[1]
        curvatures = curvature(loss, scores, signs)
        if weights is None:
            return slopes, curvatures
        return slopes * weights[:, None], curvatures * weights[:, None]

    # -- state -----------------------------------------------------------------------------------

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with a class more; pairs are not looked for any longer."""
        grown = super().add_output(new)
        grown.terms, grown.counts_from, grown._next_search = self.terms, self.counts_from, 0
        return grown

    def state(self) -> tuple[Page, Arrays]:
        page, arrays = super().state()
        kept, rows = self._kept.state()
        own = {"terms": plain(self.terms), "next_search": self._next_search}
        own["counts_from"] = self.counts_from
        return page | own | kept, arrays | rows

    def set_state(self, stored: StoredState, clock: int) -> None:
        self.terms = read(Terms, stored.field("terms"), "terms")
        self._next_search = stored.whole("next_search", most=LAST_SEARCH)
        self.counts_from = stored.whole("counts_from", most=clock)
        self._kept = FirstRows.from_state(stored, self.problem.outputs, "pairs")
        super().set_state(stored, clock)

    # -- what came out -------------------------------------------------------------------------

    def sandwich(self) -> tuple[Sandwich, None]:
        """Return the weights and their covariance."""
        from polyak.learn.terms.results import covariance_of

        with np.errstate(all="ignore"):
            return covariance_of(self.newton.learned(), self.newton.clock), None

    def term_reports(self) -> tuple[TermReport, ...]:
        from polyak.learn.terms.results import term_reports

        assert self.terms is not None
        with np.errstate(all="ignore"):
            return term_reports(self.newton.learned(), self.axes, self.terms, self.newton.clock)

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        with np.errstate(all="ignore"):
            return self.newton.weights(self.n_features, place=place)


def _is_as_good(losses: Floats, lowest: Floats) -> bool:
    """Whether losses are not higher than others by more than half a standard error of that."""
    worse = losses - lowest
    return bool(worse.sum() <= HALF * np.linalg.norm(worse - worse.mean()))

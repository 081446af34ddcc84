"""The race: candidates learn the same rows side by side, and the best one is the model.

Every candidate is scored on each row before it learns it. Each time the number of rows doubles,
those whose loss since the last doubling was highest drop out, so that few are left when rows are
many. A recipe with a single candidate, as the paper's, is a race of one.
"""

from __future__ import annotations

import copy
import math
import sys
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows, model_fields
from polyak.averaging import Averaging
from polyak.bank import Bank
from polyak.calibration import ScoreHistogram
from polyak.going_back import before
from polyak.leader import Leader
from polyak.marks import FIRST_DECISION, is_doubling, next_doubling, next_mark
from polyak.processors import processors
from polyak.recipes import Candidate, Recipe, make_bank
from polyak.rows import Rows
from polyak.schedules import Polynomial
from polyak.threads import on_threads

Floats = NDArray[np.float64]

MOST_SCORES = 1 << 22
"""How many progressive scores to hold at a time, so that memory stays bounded."""

_BANK_ARRAYS = ("lines", "squares", "models")


class Race:
    """Banks of candidates, what each of them has achieved so far, and which of them leads."""

    def __init__(
        self,
        candidates: list[Candidate],
        recipe: Recipe,
        *,
        outputs: int,
        one_vs_rest: bool,
        n_features: int | None,
        dtype: Any,
        calibrate: bool,
    ) -> None:
        self.candidates = candidates
        self.outputs = outputs
        self.models_each = outputs * (1 + recipe.replicas)
        self.entered = len(candidates)
        self.lanes: list[list[int]] = []  # the candidates of each bank, by their numbers
        for number, candidate in enumerate(candidates):
            for lane in self.lanes:
                if candidate.shares_bank_with(candidates[lane[0]]):
                    lane.append(number)
                    break
            else:
                self.lanes.append([number])
        self.banks = [
            make_bank(
                [candidates[number] for number in lane],
                recipe,
                outputs=outputs,
                one_vs_rest=one_vs_rest,
                n_features=n_features,
                dtype=dtype,
            )
            for lane in self.lanes
        ]
        # The scores of log_loss are the odds' logarithm as they stand: a sample shows how true.
        sampled = recipe.loss == "log_loss"
        self.histograms = [
            ScoreHistogram(len(lane) * outputs, sampled=sampled) if calibrate else None
            for lane in self.lanes
        ]
        self.scored = 0  # how many rows were scored; those learned again were not
        # A part of a larger race, one of several that learn at the same time, lets nobody drop
        # out, since the others might keep him; and leaves the other processors to the others.
        self.is_part = False
        self.threads: int | None = None  # how many learn; as many as there are processors if None
        # What each candidate's rows, losses, squared losses and errors add up to, at each mark.
        self.marks: list[int] = [0]
        self.history: list[Floats] = [np.zeros((len(candidates), 4))]

    @property
    def clock(self) -> int:
        """How many rows of non-zero weight were learned."""
        return self.banks[0].clock

    @property
    def running(self) -> list[int]:
        """The numbers of the candidates that have not dropped out."""
        return [number for lane in self.lanes for number in lane]

    def look(self, rows: Rows) -> None:
        """Show the candidates the rows that calibration looks at, before any is learned."""
        for bank in self.banks:
            bank.look(rows)

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
        again: bool = False,
    ) -> None:
        """Let every candidate learn the rows, all of them of non-zero weight.

        ``again`` says that they were learned before: then nothing is scored, and nobody drops out.
        After an error the race is as it was before, as far as `polyak.going_back` says.
        """
        kept = before(self, rows)
        try:
            self._learn_pieces(rows, targets, weights, order, again)
        except BaseException:
            if kept is not None:
                kept.put_back(self)
            raise

    def _learn_pieces(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
        again: bool,
    ) -> None:
        total = len(rows) if order is None else len(order)
        done = 0
        checked: Rows | CheckedRows = rows
        # All pieces are good and every bank has room for them, or none is learned. A single bank
        # that learns all at once sees to that by itself, while it learns.
        if len(self.banks) > 1 or (not again and total > self._longest_piece()):
            for bank in self.banks:
                checked = bank.check(checked, targets, weights)
        while done < total:
            take = total - done if again else min(total - done, self._longest_piece())
            piece = _piece(checked, targets, weights, order, done, done + take)
            marks = [] if again else self._marks_within(take)
            notes = self._learn_piece(*piece, again=again, marks=marks)
            done += take
            if not again:
                self.scored += take
                self._note(marks, notes)

    def _longest_piece(self) -> int:
        """How many rows until somebody may have to drop out, or as many as memory has room for."""
        most = sys.maxsize
        if len(self.running) > 1 and not self.is_part:
            most = next_doubling(self.scored) - self.scored
        if self.histograms[0] is not None:
            columns = max(len(bank) for bank in self.banks)
            most = min(most, max(1024, MOST_SCORES // columns))
        return most

    def _marks_within(self, rows: int) -> list[int]:
        """Give the marks among the next rows; where one is overdue, as after a merge, their end."""
        end, marks = self.scored + rows, []
        mark = next_mark(self.scored)
        while mark <= end:
            marks.append(mark)
            mark = next_mark(mark)
        return marks if marks or next_mark(self.marks[-1]) > end else [end]

    def _learn_piece(
        self,
        rows: Rows | CheckedRows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
        *,
        again: bool,
        marks: list[int],
    ) -> list[Floats]:
        """Let every bank learn, and give the numbers that its models had at each mark."""
        stops = np.array(marks, dtype=np.int64) - self.scored
        notes: dict[int, Any] = {}

        def drive(number: int) -> None:
            bank, histogram = self.banks[number], self.histograms[number]
            n = len(rows) if order is None else len(order)
            how: dict[str, Any] = {"order": order, "stops": stops}
            if histogram is None or again or not histogram.wants(n):
                notes[number] = bank.learn(rows, targets, weights, again=again, **how)
                if histogram is not None and not again:
                    histogram.skip(n)
                return
            scores = np.empty((n, len(bank)))
            notes[number] = bank.learn(rows, targets, weights, scores=scores, **how)
            chosen = slice(None) if order is None else order
            own = targets[chosen, None]
            positive = own == np.arange(self.outputs) if bank.one_vs_rest else own > 0
            counted = None if weights is None else weights[chosen]
            entries = len(self.lanes[number])
            if len(bank) > 1:
                positive = np.tile(positive, (1, entries))
                scores = scores.reshape(n, entries, self.models_each)[:, :, : self.outputs]
            histogram.add(scores.reshape(n, -1), positive, counted)

        if len(self.banks) == 1 or self.is_part:
            for number in range(len(self.banks)):
                drive(number)
        else:  # banks share nothing but the rows, so their number of threads leaves no trace
            on_threads(drive, range(len(self.banks)), self.threads or processors())
        return [notes[number] for number in range(len(self.banks))]

    def _note(self, marks: list[int], notes: list[Floats]) -> None:
        """Keep where everybody stood at the marks; at a doubling, let the slowest drop out."""
        if not marks:
            return
        self.history.extend(self._sums(notes))
        self.marks.extend(marks)
        if marks[-1] < self.scored:
            return
        keep = self._how_many()
        if len(self.running) > keep and is_doubling(self.scored) and not self.is_part:
            self._keep_best(keep, self.scored // 2)

    def _drop_all_but(self, chosen: set[int]) -> None:
        lanes, banks, histograms = [], [], []
        for lane, bank, histogram in zip(self.lanes, self.banks, self.histograms, strict=True):
            places = [place for place, number in enumerate(lane) if number in chosen]
            if not places:
                continue
            if len(places) < len(lane):
                each = np.arange(self.models_each)
                bank = bank.select(np.concatenate([p * self.models_each + each for p in places]))
                if histogram is not None:
                    outputs = np.arange(self.outputs)
                    columns = np.concatenate([p * self.outputs + outputs for p in places])
                    histogram = histogram.select(columns)
            lanes.append([lane[place] for place in places])
            banks.append(bank)
            histograms.append(histogram)
        self.lanes, self.banks, self.histograms = lanes, banks, histograms

    # -- what came out -------------------------------------------------------------------------

    def leader(self) -> Leader:
        """Find the candidate with the lowest loss since half of the rows."""
        losses = self._losses_since(self.scored / 2)
        best = min(self.running, key=lambda number: (losses[number], number))
        number = next(n for n, lane in enumerate(self.lanes) if best in lane)
        return Leader(
            number=best,
            candidate=self.candidates[best],
            bank=self.banks[number],
            place=self.lanes[number].index(best),
            outputs=self.outputs,
            models_each=self.models_each,
            histogram=self.histograms[number],
        )

    def sums(self) -> Floats:
        """Give what each candidate's rows, losses, squared losses and errors add up to."""
        sums: Floats = self._sums([bank.fields()[None] for bank in self.banks])[0]
        return sums

    def _sums(self, notes: list[Floats]) -> Floats:
        """Add up like that the numbers that each bank's models had, once or several times."""
        # Of those who dropped out, as they stood.
        sums = np.repeat(self.history[-1][None], len(notes[0]), axis=0)
        for lane, bank, numbers in zip(self.lanes, self.banks, notes, strict=True):
            of_each = np.take(numbers, _summed(bank), axis=1)
            of_each = of_each.reshape(*of_each.shape[:2], len(lane), -1)[..., : self.outputs]
            count, losses, squares, errors = of_each.swapaxes(0, 1)
            wrong = errors[..., 0] if bank.one_vs_rest else errors.mean(axis=-1)
            sums[:, lane] = np.stack(
                [count[..., 0], losses.sum(axis=-1), squares.sum(axis=-1), wrong], axis=-1
            )
        return sums

    def measure(self, number: int, since: float = 0) -> dict[str, float]:
        """Say how a candidate has done since so many rows.

        Gives its mean loss on rows it had not learned, the standard error of that (with several
        outputs a bound on it, since what their losses have in common is not known), and its
        errors.
        """
        then = self._mark_before(since)
        count, loss, squares, errors = self._gained(then)[number]
        if not (count > 0 and math.isfinite(squares)):
            return {"rows": 0, "loss": math.nan, "loss_std_err": math.nan, "error": math.nan}
        mean = loss / count
        variance = max(self.outputs * squares / count - mean * mean, 0.0)
        return {
            "rows": self.scored - self.marks[then],
            "loss": float(mean),
            "loss_std_err": math.sqrt(variance / count),
            "error": float(errors / count),
        }

    def recent(self, number: int) -> dict[str, float]:
        """Say how a candidate has done since half of the rows."""
        return self.measure(number, self.scored / 2)

    def table(self) -> list[dict[str, Any]]:
        """List every candidate: its settings, the rows it survived, its loss and its curve.

        The curve is its mean loss between one mark and the next, as long as it ran.
        """
        sums = self.sums()
        with np.errstate(invalid="ignore"):
            steps = np.diff(np.stack([*self.history, sums]), axis=0)
        marks = [*self.marks[1:], self.scored]
        running = set(self.running)
        rows = []
        for number, candidate in enumerate(self.candidates):
            ran = steps[:, number, 0] > 0
            means = steps[ran, number, 1] / steps[ran, number, 0]
            weight = sums[number, 0]
            rows.append(
                asdict(candidate)
                | {
                    "number": number,
                    "running": number in running,
                    "rows": max(
                        (mark for mark, yes in zip(marks, ran, strict=True) if yes), default=0
                    ),
                    "progressive_loss": float(sums[number, 1] / weight) if weight > 0 else None,
                    "curve": [
                        [mark, float(f"{mean:.6g}")]
                        for mark, mean in zip(np.array(marks)[ran].tolist(), means, strict=True)
                    ],
                }
            )
        return rows

    def _mark_before(self, rows: float) -> int:
        return max(place for place, mark in enumerate(self.marks) if mark <= rows)

    def _gained(self, mark: int) -> Floats:
        with np.errstate(invalid="ignore"):  # what has overflowed is noticed elsewhere
            return self.sums() - self.history[mark]

    def _losses_since(self, rows: float) -> Floats:
        gained = self._gained(self._mark_before(rows))
        losses = np.full(self.entered, np.inf)
        np.divide(gained[:, 1], gained[:, 0], out=losses, where=gained[:, 0] > 0)
        losses[np.isnan(losses)] = np.inf
        return losses

    # -- stopping, going on, and learning in parts ---------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out the candidates and all they have learned: what JSON holds, and arrays."""
        page: dict[str, Any] = {
            "candidates": [asdict(candidate) for candidate in self.candidates],
            "running": self.running,
            "outputs": self.outputs,
            "one_vs_rest": self.banks[0].one_vs_rest,
            "clock": self.clock,
            "scored": self.scored,
            "looked": [bank.state()["looked"] for bank in self.banks],
            "marks": list(self.marks),
            "histograms": [
                None if histogram is None else {"rows": histogram.rows, "mark": histogram.mark}
                for histogram in self.histograms
            ],
        }
        arrays: dict[str, NDArray[Any]] = {"history": np.stack(self.history)}
        for number, (bank, histogram) in enumerate(zip(self.banks, self.histograms, strict=True)):
            state = bank.state()
            for name in _BANK_ARRAYS:
                arrays[f"bank{number}.{name}"] = state[name]
            if histogram is not None:
                arrays[f"bank{number}.histogram"] = histogram.counts.copy()
        return page, arrays

    @classmethod
    def from_state(
        cls,
        page: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        recipe: Recipe,
        n_features: int | None,
    ) -> Race:
        """Undo ``state``: the race goes on as if it had never stopped."""
        race = cls(
            [_candidate(fields) for fields in page["candidates"]],
            recipe,
            outputs=page["outputs"],
            one_vs_rest=page["one_vs_rest"],
            n_features=n_features,
            dtype=arrays["bank0.lines"].dtype,
            calibrate=page["histograms"][0] is not None,
        )
        race._drop_all_but(set(page["running"]))
        race.scored = page["scored"]
        race.marks = list(page["marks"])
        race.history = list(arrays["history"])
        for number, (bank, histogram) in enumerate(zip(race.banks, race.histograms, strict=True)):
            state = {name: arrays[f"bank{number}.{name}"] for name in _BANK_ARRAYS}
            bank.set_state(state | {"clock": page["clock"], "looked": page["looked"][number]})
            if histogram is not None:
                histogram.counts[:] = arrays[f"bank{number}.histogram"]
                histogram.rows = page["histograms"][number]["rows"]
                histogram.mark = page["histograms"][number]["mark"]
        return race

    def merge(self, others: list[Race], base: Race | None = None) -> None:
        """Become what these races learned together, each from rows of its own.

        Candidates correspond by their numbers, whatever rates each race's first rows gave them.
        Only those that are still in every race go on. Where all went on from the same race,
        ``base``, what was known there counts once.
        """
        if any(other.entered != self.entered for other in others):
            raise ValueError("only races of as many candidates can be merged")
        common = set(self.running).intersection(*(other.running for other in others))
        if not common:
            raise ValueError("the races have no candidate in common any more")
        then = 0 if base is None else base.scored
        marks, history = [0], [np.zeros((self.entered, 4))]
        if base is not None:
            marks, history = list(base.marks), list(base.history)
            if then > marks[-1]:
                marks.append(then)
                history.append(base.sums())
            base = copy.copy(base)  # whose lists are replaced, not changed
        for race in (self, *others, *([] if base is None else [base])):
            race._drop_all_but(common)
        for number, bank in enumerate(self.banks):
            bank.merge(
                [other.banks[number] for other in others],
                None if base is None else base.banks[number],
            )
            histogram = self.histograms[number]
            if histogram is not None:
                theirs = [other.histograms[number] for other in others]
                before = None if base is None else base.histograms[number]
                histogram.merge([counts for counts in theirs if counts is not None], before)
        self.scored = then + sum(race.scored - then for race in (self, *others))
        self.marks, self.history = marks, history

    def settle(self) -> None:
        """After a merge: note where everybody stands, and let those drop out who are behind.

        It is what happens at every doubling while one learner learns all rows.
        """
        if self.scored > self.marks[-1]:
            self.marks.append(self.scored)
            self.history.append(self.sums())
        keep = self._how_many()
        if len(self.running) > keep:
            self._keep_best(keep, self.scored / 2)

    def _how_many(self) -> int:
        """How many candidates may run after so many rows."""
        share: float = (FIRST_DECISION / (2 * max(self.scored, 1))) ** (2 / 3)
        return max(round(self.entered * share), 1)

    def _keep_best(self, keep: int, since: float) -> None:
        losses = self._losses_since(since)
        best = sorted(self.running, key=lambda number: (losses[number], number))
        self._drop_all_but(set(best[:keep]))


def _piece(
    rows: Rows | CheckedRows,
    targets: NDArray[Any],
    weights: Floats | None,
    order: NDArray[np.int64] | None,
    begin: int,
    end: int,
) -> tuple[Rows | CheckedRows, NDArray[Any], Floats | None, NDArray[np.int64] | None]:
    """Give the rows that have the turns from begin to end."""
    if order is not None:
        return rows, targets, weights, order[begin:end]
    if end - begin == len(rows):
        return rows, targets, weights, None
    some = None if weights is None else weights[begin:end]
    return rows[begin:end], targets[begin:end], some, None


def _candidate(fields: dict[str, Any]) -> Candidate:
    nested = {
        "schedule": Polynomial(**fields["schedule"]),
        "averaging": Averaging(**fields["averaging"]),
    }
    return Candidate(**fields | nested)


def _summed(bank: Bank) -> list[int]:
    """Say which of a model's numbers are its rows, losses, squared losses and errors."""
    names = ("weight", "loss", "loss_squared", "confusion" if bank.one_vs_rest else "error")
    return [model_fields.index(name) for name in names]

"""The solver of wide dense rows: a grid of penalties, and which of them are worth solving.

While rows can be held, the penalised problems of all rows so far are solved whenever the rows have
doubled, and the rows that come next are scored before they are used. The first time every second
penalty of the grid is solved, then the best and its neighbours, since the best penalty moves as
rows grow. A penalty that is not solved counts as its nearest neighbour. As long as rows are few, or
those that are not of the most common class, the penalty of the model is chosen by cross-validation
instead, which tells more; where all rows are at hand, so is whether the constant is better.

When rows are too many to hold, the best penalty goes on alone, block by block: the loss of the new
rows plus a quadratic function around the weights so far, which stands for the loss of all rows that
are gone (`polyak.learn.dense.optimum.Past`). At every doubling its neighbours are solved as well,
and scored on one block.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from polyak.learn.dense.losses import errors, values
from polyak.learn.dense.optimum import Block, Moments, Past, Units, scores_of, solve, weight_of
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.sums import RATED, SUMS
from polyak.losses import get_loss
from polyak.rows.tensors import device_memory, on_host
from polyak.threads import on_threads

Floats = NDArray[np.float64]
Count = Callable[[Any, Block], None]
"""What is called with the scores of rows by the best penalty, and the rows."""

FIRST_SOLVE, MANY_ROWS = 125, 64_000
"""Problems are solved with this many rows and at every doubling, of many rows at every second."""
FEW_ROWS, FOLDS = 2_000, 5
"""The most rows of a cross-validation, and the number of its folds. With 500 rows of mnist's pixels
and of random features of them it chooses penalties that lose 0.6 and 1.1% more than the best, and
losses on rows as they came such that lose 2.0 and 2.5% more; with 2,000 rows 0.3 and 0.2%, and 0.8
and 0.3%."""
MOST_LEFT_OUT = 1 << 24
"""The most values, times outputs, of a cross-validation of more rows, of which all but half of
`FEW_ROWS` are of one class: losses on rows as they came depend on few of these others."""
BLOCK, ON_DEVICE = 1024, 1 << 14
"""The rows of a product, on a processor and on another device."""
STEP = 1 << 14
"""The fewest rows that are held. Later rows are learned in steps of this size."""
MOST_BYTES, MOST_SCORES = 1 << 28, 1 << 20
"""The most bytes of rows that are held, and of scores by one candidate, which solutions take time
for. What is lost when rows go is little: with 4,096 rows held nothing of simulated rows, 2% of the
loss of mnist's pixels, 4% of that of activations of a network."""
DEVICE_SHARE = 1 / 8
"""The share of its memory that held rows take at most on another device, which is fast."""
FIRST_STEPS, STEPS, LAST_STEPS = 25, 10, 40
GAIN, LAST_GAIN = 1e-3, 1e-4
"""The iterations of a solution, and the share of the objective that the last must gain: of those
that choose the penalty, which begin at the one before but for the first, and of the model."""
EXACT_STEPS, EXACT_GAIN = 400, 1e-6
"""The same where the optimum of a given penalty is asked for: 32 bits allow no less."""
FEWEST = 1.25
"""How many times the rows of a solution there must be for the rows since to tell."""
NEAREST = 1e-9
"""How much worse than its neighbour a penalty counts that was not solved, so that it does not win
a tie."""
FARTHER = 3
"""How many places beyond the best penalty are solved where it was the last on that side."""
OF_PAST = ("weights", "intercepts", "slopes", "intercept_slopes", "strength")
"""The arrays of a `Past`, its moments apart."""


class DenseSolver:
    """Weights of wide dense rows at several penalties.

    Parameters
    ----------
    kind : str
        The loss, see `polyak.learn.dense.losses`.
    penalties : array
        The grid, in rows, from small to large.
    outputs : int
    fit_intercept : bool
    limits_of : callable
        `polyak.learn.race.row_limits.limits_of_all`.
    of_mean : bool
        The one penalty there is was given: it is that of the mean loss, for features in the units
        in which they come.
    """

    def __init__(
        self,
        kind: str,
        penalties: Floats,
        outputs: int,
        *,
        fit_intercept: bool,
        limits_of: Callable[..., Floats],
        of_mean: bool = False,
    ) -> None:
        self.kind, self.penalties, self.outputs = kind, penalties, outputs
        self.of_mean = of_mean
        self.fit_intercept, self.limits_of = fit_intercept, limits_of
        self.clock = self.since = 0
        self.ratio = float(penalties[1] / penalties[0]) if len(penalties) > 1 else 1.0
        self.next_solve = FIRST_SOLVE
        self.solved = [len(penalties) // 2]  # the places of the penalties that have weights
        self.recent: Floats = np.zeros(1)  # their rated losses since the last solution
        self.curve: dict[int, float] = {}  # those of the last penalties that many rows compared
        self.totals: Floats = np.zeros((1, SUMS))  # their sums since the last milestone
        self.blocks: list[Block] = []  # full ones
        self.open: list[Block] = []  # the parts of the one that is not
        self.waiting: list[Block] = []  # its last parts, which are not scored yet
        self.past: Past | None = None  # what the rows told that are gone
        self.compares = False  # whether the next update is to compare penalties
        self.kept = 0.0  # the penalty until then
        self._latest: tuple[int, int, Any] | None = None
        self._expected: tuple[int, Floats] | None = None
        self._left_out: tuple[int, dict[int, Floats]] | None = None
        self._units: tuple[int, Units] | None = None

    def begin(self, rows: Any) -> None:
        """Take the shift from the first rows, and the library and device that hold them."""
        xp = array_namespace(rows)
        self._set_place(rows)
        wide = xp.astype(rows, xp.float64)
        # The mean of equal values is not always their value. Without the limits a constant column
        # would vary by the rounding, in units of which 300 in a later row is 1e18.
        low, high = xp.min(wide, axis=0), xp.max(wide, axis=0)
        self.shift = xp.minimum(xp.maximum(xp.mean(wide, axis=0), low), high)
        self.moments = Moments.none(xp, xp.astype(self.shift, xp.float32))
        shape = (rows.shape[1], 1, self.outputs)
        W = xp.zeros(shape, dtype=xp.float32, device=self.shift.device)
        self.plain = (W, W[0])  # weights and intercepts of shifted rows

    @property
    def xp(self) -> Any:
        """The library of the arrays: a module, which copies and pickles must not contain."""
        return array_namespace(self.shift)

    @property
    def _device(self) -> Any:
        return getattr(self.shift, "device", None)

    def _set_place(self, array: Any) -> None:
        """Learn in blocks that suit the device of an array."""
        self.on_host = isinstance(array, np.ndarray)
        self.block = BLOCK if str(getattr(array, "device", "cpu")) == "cpu" else ON_DEVICE
        self.device_memory = device_memory(array)

    @property
    def best(self) -> int:
        """The place of the best penalty since the last solution."""
        return self.solved[int(np.argmin(self.recent))]

    @property
    def nbytes(self) -> int:
        """The memory of weights and held rows."""
        held = sum(block.rows.nbytes for block in (*self.blocks, *self.open, *self.waiting))
        return int(held + self.plain[0].nbytes)

    def held(self) -> list[Block]:
        """Return all rows that are held."""
        parts = [*self.open, *self.waiting]
        return [*self.blocks, _joined(self.xp, parts)] if parts else self.blocks

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self,
        rows: Any,
        targets: NDArray[Any],
        weights: Floats | None,
        limits: Floats | None,
        order: NDArray[np.int64] | None,
        stops: NDArray[np.int64],
        count: Count,
        threads: int = 1,
    ) -> Floats:
        """Learn rows, and return the sums of each interval that ends at one of the stops.

        Rows wait until the next stop, solution or end of a block, and are scored together: the last
        bits of a product depend on its size, and must not depend on the batches that rows come in.
        """
        self._move_to(rows)
        total = len(rows) if order is None else len(order)
        notes: list[Floats] = []
        done, ends = 0, stops.tolist()
        while done < total:
            room = self.block - sum(len(part.rows) for part in (*self.open, *self.waiting))
            end = min(done + room, total, done + self.next_solve - self.clock)
            end = min([end, *(stop for stop in ends if stop > done)])
            some = slice(done, end) if order is None else order[done:end]
            limited = None if limits is None else limits[done:end]
            self.waiting.append(self._block(rows, targets, weights, limited, some))
            is_full = end - done == room
            self.clock, done = self.clock + end - done, end
            if done in ends or is_full or self.clock == self.next_solve:
                self.score_waiting(count, threads)
            if done in ends:
                notes.append(self.sums())
                self.start_interval()
            if is_full:
                self._close_block()
            if self.clock == self.next_solve:
                self._solve()
        return np.array(notes).reshape(-1, len(self.penalties), SUMS)

    def hold(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> None:
        """Learn the first rows all at once, unscored: penalties are compared by `left_out`."""
        for begin in range(0, len(rows), self.block):
            some = slice(begin, begin + self.block)
            block = self._block(rows, targets, weights, None, some)._replace(limits=None)
            self.moments.add(block)
            (self.blocks if len(block.rows) == self.block else self.open).append(block)
        self.clock = len(rows)
        while self.next_solve <= self.clock:
            self.next_solve *= 2

    def _block(self, rows: Any, targets: Any, weights: Any, limits: Any, some: Any) -> Block:
        """Return some rows, shifted, on the device of the rows."""
        xp, device = self.xp, self.shift.device
        place = some if isinstance(some, slice) else xp.asarray(some, device=device)
        own = rows[place]
        if own.dtype == xp.float64:  # digits beyond those of 32 bits are in the differences
            own = xp.astype(own - self.shift, xp.float32)
        else:
            own = xp.astype(own, xp.float32) - xp.astype(self.shift, xp.float32)
        kind = np.int64 if self.kind == "softmax" else np.float32
        goals = np.ascontiguousarray(targets[some], dtype=kind)
        if self.kind != "softmax":
            goals = goals.reshape(len(own), -1)
        mine = None
        if weights is not None:
            mine = xp.asarray(weights[some].astype(np.float32), device=device)
        limits = np.full((len(own), 2), [np.inf, 1.0]) if limits is None else limits
        limits = xp.asarray(limits.astype(np.float32), device=device)
        return Block(own, xp.asarray(goals, device=device), mine, limits)

    def score_waiting(self, count: Count, threads: int = 1) -> None:
        """Score the rows that wait, which ends their waiting, and let their scores be counted."""
        if not self.waiting:
            return
        block = _joined(self.xp, self.waiting)
        work: list[Callable[[], Any]] = [
            partial(self._score, block),
            partial(self.moments.add, block),
        ]
        of_each, found = on_threads(lambda one: one(), work, threads if self.on_host else 1)[0]
        count(found[:, int(np.argmin(self.recent))], block)
        self.recent, self.totals = self.recent + of_each[:, RATED], self.totals + of_each
        self.open, self.waiting = [*self.open, block._replace(limits=None)], []

    def _score(self, block: Block) -> tuple[Floats, Any]:
        """Return the sums of rows, one for each penalty that is solved, and their scores."""
        found = scores_of(self.xp, block.rows, *self.plain)
        return self._sums(block, found, values(self.xp, self.kind, found, block.targets)), found

    def _sums(self, block: Block, found: Any, lost: Any) -> Floats:
        """Return the sums of rows with these scores and losses, one for each candidate."""
        xp, (_, targets, own, limits) = self.xp, block
        wrong = errors(xp, self.kind, found, targets)
        weight = xp.ones_like(found[:, 0, 0]) if own is None else own
        cap, share = limits[:, 0], limits[:, 1]
        full = lost <= cap[:, None, None]  # false for a loss that is not a number
        rated = xp.sum(xp.where(full, lost, cap[:, None, None]), axis=2)
        sums = [
            xp.sum(weight) * xp.ones_like(rated[0]),
            weight @ xp.sum(lost, axis=2),
            weight @ xp.sum(lost * lost, axis=2),
            weight @ wrong,
            (weight * share) @ rated,
            xp.sum(xp.astype(~full, rated.dtype), axis=(0, 2)),
        ]
        return np.asarray(on_host(xp.stack(sums, axis=1)), dtype=np.float64)

    def _of_waiting(self) -> Floats:
        """Return the sums of rows that wait, which go on waiting."""
        if not self.waiting:
            return np.zeros((len(self.solved), SUMS))
        if self._expected is None or self._expected[0] != self.clock:
            self._expected = self.clock, self._score(_joined(self.xp, self.waiting))[0]
        return self._expected[1]

    def _close_block(self) -> None:
        """Let go of rows where they are too many."""
        self.blocks.append(_joined(self.xp, self.open))
        self.open = []
        if self.past is not None:
            if len(self.blocks) * self.block >= STEP:
                self._update()
        elif len(self.blocks) * self.block >= self._most_rows():
            self._let_go()

    def _most_rows(self) -> float:
        """Return the number of rows that are held at most."""
        if self.device_memory is not None:
            most = DEVICE_SHARE * self.device_memory / (4 * len(self.shift))
        else:
            most = min(MOST_BYTES / (4 * len(self.shift)), MOST_SCORES / self.outputs)
        return max(most, STEP, self.block)

    def _solve(self) -> None:
        """Solve for the best penalty so far and its neighbours, or for all if it is the first.

        Where rows are gone, the next update does so.
        """
        is_first = self.clock == FIRST_SOLVE
        self.next_solve *= 2 if self.clock < MANY_ROWS or self.past is not None else 4
        if self.past is not None:
            self.compares = True
        elif FEWEST * self.clock <= self._most_rows():  # else all are gone before enough can tell
            best = round(self._minimum(self._losses(), self.best))  # the place of the least loss
            wanted = range(best % 2, len(self.penalties), 2) if is_first else self._around(best)
            self._go_on(list(wanted), FIRST_STEPS if is_first else STEPS, GAIN)

    def _around(self, place: int) -> list[int]:
        """Return a place of the grid and its neighbours.

        Where it is the first or last of those that were solved there are more on that side: with
        many classes the best penalty can fall or rise by a decade as rows double.
        """
        several, last = len(self.solved) > 1, len(self.penalties) - 1
        below = FARTHER if several and place <= min(self.solved) else 1
        above = FARTHER if several and place >= max(self.solved) else 1
        return list(range(max(place - below, 0), min(place + above, last) + 1))

    def _go_on(
        self, places: list[int], most: int, gain: float, penalty: float | None = None
    ) -> None:
        """Solve for these penalties, and score the rows to come by them."""
        self.plain = self._solution(places, most, gain, penalty)
        self.totals = self.totals[self._nearest(places)]
        self.curve = self._losses()
        self.solved, self.recent = places, np.zeros(len(places))
        self.since = self.clock

    def _solution(
        self, places: list[int], most: int, gain: float, penalty: float | None = None
    ) -> tuple[Any, Any]:
        """Return weights and intercepts at penalties of the grid, or at one near to a place."""
        wanted = self.penalties[places] if penalty is None else np.array([penalty])
        near = self._nearest(places)
        return self._fitted((self.plain[0][:, near], self.plain[1][near]), wanted, most, gain)

    def _fitted(
        self,
        plain: tuple[Any, Any],
        penalties: Floats,
        most: int,
        gain: float,
        blocks: list[Block] | None = None,
    ) -> tuple[Any, Any]:
        """Return the weights of rows, all that are held or some, beginning with other weights."""
        xp, units = self.xp, self._units_now()
        blocks = self.held() if blocks is None else blocks
        start, rows = units.standard(xp, *plain), sum(map(weight_of, blocks))
        if self.of_mean and self.past is not None:
            penalties = penalties * (self.moments.count + sum(map(weight_of, self.waiting)))
        elif self.of_mean:
            penalties = penalties * rows
        W, b = solve(
            xp,
            self.kind,
            blocks,
            units,
            start,
            xp.asarray((penalties / rows).astype(np.float32), device=self.shift.device),
            fit_intercept=self.fit_intercept,
            most=most,
            least_gain=gain,
            constant=None if self.past is not None else self._constant(blocks),
            past=self.past,
        )
        return units.plain(xp, W, b)

    def _units_now(self) -> Units:
        """Return the units of all rows so far."""
        if self._units is None or self._units[0] != self.clock:
            moments = replace(self.moments)
            if self.waiting:
                moments.add(_joined(self.xp, self.waiting))
            self._units = self.clock, Units.of(self.xp, moments, as_they_are=self.of_mean)
        return self._units[1]

    def _nearest(self, places: list[int]) -> list[int]:
        """Return where the solved penalty nearest to each of these places is."""
        return [min(range(len(self.solved)), key=lambda n: abs(self.solved[n] - p)) for p in places]

    @property
    def tells_from(self) -> int:
        """The row from which on losses tell the penalty: one solution earlier if rows are few."""
        few = self.clock - self.since < min((FEWEST - 1.0) * self.since, STEP)
        return self.since // 2 if few else self.since

    def _losses(self) -> dict[int, float]:
        """Return the losses of penalties, as they were before the last solution if rows are few."""
        if self.tells_from < self.since or len(self.solved) == 1:
            return self.curve
        lost = self.recent + self._of_waiting()[:, RATED]
        return dict(zip(self.solved, lost.tolist(), strict=True))

    def penalty(self, place: int) -> float:
        """Return the penalty of a place of the grid, or a better one close by."""
        if self.past is not None and len(self.solved) == 1:
            return self.kept
        if self.can_leave_out():
            lost = {near: sums[RATED] for near, sums in self.left_out().items() if near >= 0}
            found = self._minimum(lost, min(lost, key=lost.__getitem__))
        else:
            found = self._minimum(self._losses(), place)
        return float(self.penalties[0] * self.ratio**found)

    def can_leave_out(self) -> bool:
        """Whether rows are few, or those that are not of the most common class, and all held."""
        if self.past is not None or self.clock < 2 * FOLDS:
            return False
        if self.clock <= FEW_ROWS or self.kind == "squared_error":
            return self.clock <= FEW_ROWS
        if self.clock * len(self.shift) * self.outputs > MOST_LEFT_OUT:
            return False
        of_class = np.concatenate([on_host(block.targets) for block in self.held()])
        if self.kind == "softmax":
            return self.clock - int(np.bincount(of_class).max()) <= FEW_ROWS // 2
        positive = (of_class > 0).sum(axis=0)
        return int(np.minimum(positive, self.clock - positive).max()) <= FEW_ROWS // 2

    def left_out(self) -> dict[int, Floats]:
        """Return the sums of rows left out by penalties around the best; at -1 the constant's.

        They are found from a moderate penalty on, as far as the loss falls: weights that are hardly
        penalised are far from their optimum after a few steps, and may seem better than they are.
        """
        if self._left_out is None or self._left_out[0] != self.clock:
            block = _joined(self.xp, self.held())
            of_class = block.targets if self.kind == "softmax" else block.targets[:, 0]
            by_class = np.argsort(on_host(of_class), kind="stable")
            folds = [_rows_of(self.xp, block, by_class[fold::FOLDS]) for fold in range(FOLDS)]
            place = max(self.best, len(self.penalties) // 2)
            sums: dict[int, Floats] = {}
            known: list[dict[int, tuple[Any, Any]]] = [{} for _ in folds]
            while new := [
                near
                for near in range(max(place - 1, 0), min(place + 2, len(self.penalties)))
                if near not in sums
            ]:
                found = self._sums_of_folds(folds, new, known)
                sums |= zip([*new, -1], found, strict=True)
                place = min(sums.keys() - {-1}, key=lambda n: sums[n][RATED])
            self._left_out = self.clock, sums
        return self._left_out[1]

    def _sums_of_folds(
        self, folds: list[Block], places: list[int], known: list[dict[int, tuple[Any, Any]]]
    ) -> Floats:
        """Return the sums of folds by what the others tell: penalties of the grid, the constant.

        Solutions go on from those of the nearest penalties that are ``known`` of each fold.
        """
        xp, sums = self.xp, np.zeros((len(places) + 1, SUMS))
        shape = (len(self.shift), len(places), self.outputs)
        zeros = xp.zeros(shape, dtype=xp.float32, device=self._device)
        for n, fold in enumerate(folds):
            others = [*folds[:n], *folds[n + 1 :]]
            start = (zeros, zeros[0])
            if known[n]:
                near = [known[n][min(known[n], key=lambda one: abs(one - p))] for p in places]
                start = tuple(xp.stack(list(each), axis=-2) for each in zip(*near, strict=True))
            W, b = self._fitted(start, self.penalties[places], LAST_STEPS, GAIN, others)
            known[n] |= {p: (W[:, k], b[k]) for k, p in enumerate(places)}
            W = xp.concat([W, zeros[:, :1]], axis=1)
            b = xp.concat([b, self._constant(others)], axis=0)
            found = scores_of(xp, fold.rows, W, b)
            lost = values(xp, self.kind, found, fold.targets)
            alone = np.asarray(on_host(xp.sum(lost[:, -1], axis=1)), dtype=np.float64)
            bounded = self.kind != "squared_error"
            limits = self.limits_of(alone, _weights_of(fold), bounded=bounded)
            limits = xp.asarray(limits.astype(np.float32), device=self._device)
            sums += self._sums(fold._replace(limits=limits), found, lost)
        return sums

    def _constant(self, blocks: list[Block]) -> Any:
        """Return the intercepts of the model that knows no feature."""
        targets = np.concatenate([on_host(block.targets) for block in blocks])
        own = np.concatenate([_weights_of(block) for block in blocks])
        if self.kind == "softmax":
            found = np.log(np.bincount(targets, own, self.outputs) + 0.5)
        elif self.kind == "log_loss":
            found = get_loss(self.kind).best_constant(own @ (targets > 0), own @ (targets < 0))
        else:
            found = own @ targets / own.sum()
        found = found[None].astype(np.float32) * self.fit_intercept
        return self.xp.asarray(found, device=self._device)

    def _minimum(self, lost: dict[int, float], place: int) -> float:
        """Return where the loss is least by a parabola, at most one place away.

        It goes through the losses of a penalty and its neighbours. Where one of these was not
        solved, it goes through those beside the other: the best penalty moves as rows grow, and may
        have left the penalties that were solved.
        """
        known = sorted(lost)
        if len(known) < 3:
            return place
        nearest = min(range(len(known)), key=lambda n: abs(known[n] - place))
        begin = min(max(nearest - 1, 0), len(known) - 3)
        three = np.array(known[begin : begin + 3], dtype=np.float64)
        low, own, high = (lost[known[n]] for n in range(begin, begin + 3))
        left, right = (own - low) / (three[1] - three[0]), (high - own) / (three[2] - three[1])
        found = -np.inf if low < high else np.inf
        if right > left:
            middles = three[:2] + 0.5 * np.diff(three)
            found = middles[0] - left * (middles[1] - middles[0]) / (right - left)
        found = np.clip(found, place - 1, place + 1)
        return float(np.clip(found, 0, len(self.penalties) - 1))

    def _let_go(self) -> None:
        """Go on with the best solution, and without the rows."""
        best = self.best
        self.kept = self.penalty(best)
        self._go_on([best], LAST_STEPS, LAST_GAIN, self.kept)
        self.past = Past.none(self.xp, self.plain[0][:, 0], self.plain[1][0])
        self._forget(0)

    def _update(self) -> None:
        """Fit the rows that are held together with what those that are gone told."""
        best = self.best
        if len(self.solved) > 1:  # which are not extrapolated: they begin at the same weights
            self.kept = float(self.penalties[best])
        if self.compares:
            self._go_on(self._around(best), LAST_STEPS, LAST_GAIN)
        else:
            self._go_on([best], STEPS, GAIN, self.kept)
        self.compares = False
        self._forget(self.solved.index(best))

    def _forget(self, number: int) -> None:
        """Let rows go, and keep what they tell around one of the solutions."""
        assert self.past is not None
        W, b = self.plain[0][:, number], self.plain[1][number]
        self.past = self.past.with_rows(self.xp, self.kind, self.held(), W, b)
        self.blocks, self.open = [], []

    # -- results -------------------------------------------------------------------------------

    def sums(self) -> Floats:
        """Return the sums of all penalties of the grid since the last milestone."""
        places = list(range(len(self.penalties)))
        near = self._nearest(places)
        found = (self.totals + self._of_waiting())[near]
        far = np.abs(np.array(self.solved)[near] - places)
        found[:, RATED] *= 1.0 + NEAREST * far
        return found

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        self.totals = np.zeros_like(self.totals)

    def weights(self, place: int) -> tuple[Floats, Floats]:
        """Return the weights at a penalty of the grid, a row per output, and the intercepts.

        They are those of all rows so far; learning goes on as if nobody had asked.
        """
        if self._latest is None or self._latest[:2] != (self.clock, place):
            self._latest = (self.clock, place, self._weights(place))
        found: tuple[Floats, Floats] = self._latest[2]
        return found

    def _weights(self, place: int) -> tuple[Floats, Floats]:
        if not self.held():
            number = self._nearest([place])[0]
            A, c = self.plain[0][:, [number]], self.plain[1][[number]]
        else:
            most, gain = (LAST_STEPS, LAST_GAIN) if self.past is None else (STEPS, GAIN)
            most, gain = (EXACT_STEPS, EXACT_GAIN) if self.of_mean else (most, gain)
            A, c = self._solution([place], most, gain, self.penalty(place))
        A, c = (on_host(one).astype(np.float64) for one in (A[:, 0], c[0]))
        return A.T, c - on_host(self.shift) @ A

    # -- state ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """Return all arrays that learning changes, where they are."""
        found = {
            "shift": self.shift,
            "sums": self.moments.sums,
            "products": self.moments.products,
            "largest": self.moments.largest,
            "weights": self.plain[0],
            "intercepts": self.plain[1],
        }
        if held := self.held():
            block = _joined(self.xp, held)
            found |= {"rows": block.rows, "targets": block.targets}
            found |= {} if block.weights is None else {"row_weights": block.weights}
        if self.waiting:
            found |= {"limits": _joined(self.xp, self.waiting).limits}
        if self.past is not None:
            found |= {f"past_{name}": getattr(self.past, name) for name in OF_PAST}
            found["past_sums"] = self.past.moments.sums
            found["past_products"] = self.past.moments.products
        return found

    def set_arrays(self, arrays: dict[str, Any]) -> None:
        """Go on with these arrays, with the library and device that they are of."""
        self._set_place(arrays["shift"])
        self.shift = arrays["shift"]
        own = (arrays[name] for name in ("sums", "products", "largest"))
        self.moments = Moments(self.moments.count, *own)
        self.plain = (arrays["weights"], arrays["intercepts"])
        self.blocks, self.open, self.waiting = [], [], []
        if "rows" in arrays:
            held = [arrays["rows"], arrays["targets"], arrays.get("row_weights")]
            scored = len(held[0]) - len(arrays.get("limits", ()))
            for begin in range(0, scored, self.block):
                some = slice(begin, min(begin + self.block, scored))
                block = Block(*(None if one is None else one[some] for one in held))
                (self.blocks if len(block.rows) == self.block else self.open).append(block)
            if "limits" in arrays:
                last = [None if one is None else one[scored:] for one in held]
                self.waiting.append(Block(last[0], last[1], last[2], arrays["limits"]))
        self.past = None
        if "past_strength" in arrays:
            sums, products = arrays["past_sums"], arrays["past_products"]
            known = {name: arrays[f"past_{name}"] for name in OF_PAST}
            self.past = Past(**known, moments=Moments(0.0, sums, products, sums))
        self._latest = self._expected = self._left_out = self._units = None

    def _move_to(self, rows: Any) -> None:
        """Go on where the rows are."""
        like = rows if hasattr(rows, "device") else np.asarray(rows)
        xp = array_namespace(like)
        if xp is not self.xp or getattr(like, "device", None) != self._device:
            moved = {name: on_host(one) for name, one in self.arrays().items()}
            device = None if isinstance(like, np.ndarray) else like.device
            self.set_arrays(
                {n: xp.asarray(np.asarray(one), device=device) for n, one in moved.items()}
            )

    def seen_from(self, shift: Any) -> DenseSolver:
        """Return a copy that goes on where this shift is, with rows shifted by it."""
        own = copy.copy(self)
        own._move_to(shift)
        moved = own.xp.astype(own.shift - shift, own.xp.float32)
        own.shift, own.moments = shift, own.moments.moved(moved)
        own.blocks, own.open, own.waiting = (
            [block._replace(rows=block.rows + moved) for block in some]
            for some in (own.blocks, own.open, own.waiting)
        )
        own.plain = (own.plain[0], own.plain[1] - own.xp.tensordot(moved, own.plain[0], axes=1))
        own.past = None if own.past is None else own.past.moved(moved)
        return own

    def state(self) -> tuple[Page, Arrays]:
        """Return what learning changes as a JSON-serialisable dict and a dict of arrays."""
        arrays = {name: np.array(on_host(one)) for name, one in self.arrays().items()}
        arrays |= {"recent": self.recent.copy(), "totals": self.totals.copy()}
        names = ("clock", "next_solve", "solved", "since", "compares")
        page: Page = {name: getattr(self, name) for name in names}
        page |= {"count": self.moments.count, "curve": sorted(self.curve.items())}
        page["kept"] = self.kept
        return page, arrays

    def set_state(self, stored: StoredState) -> None:
        """Go on from what `state` returned."""
        self.clock, self.next_solve = stored.whole("clock"), stored.whole("next_solve", least=1)
        self.compares, self.kept = stored.flag("compares"), stored.number("kept")
        self.solved, self.since = stored.field("solved"), stored.whole("since", most=self.clock)
        self.curve = {int(place): float(loss) for place, loss in stored.field("curve")}
        places = set(range(len(self.penalties)))
        stored.require(
            bool(self.solved) and set(self.solved) <= places, "solved", "are no penalties"
        )
        shift = stored.array("shift", (None,), least=-np.inf)
        d, P, K = len(shift), len(self.solved), self.outputs
        shapes: dict[str, tuple[int | None, ...]] = {
            "sums": (d,),
            "products": (d, d),
            "largest": (d,),
            "weights": (d, P, K),
            "intercepts": (P, K),
        }
        if "rows" in stored.arrays:
            n = len(stored.arrays["rows"])
            shapes |= {"rows": (n, d), "targets": (n,) if self.kind == "softmax" else (n, K)}
            if "limits" in stored.arrays:
                waiting = len(stored.arrays["limits"])
                stored.require(waiting <= n, "limits", f"are of {waiting} rows, held are {n}")
                shapes["limits"] = (waiting, 2)
        if "row_weights" in stored.arrays:
            shapes["row_weights"] = (len(stored.arrays.get("rows", ())),)
        if "past_strength" in stored.arrays:
            own = ((d, K), (K,), (d, K), (K,), (K,), (d,), (d, d))
            names = [f"past_{name}" for name in (*OF_PAST, "sums", "products")]
            shapes |= dict(zip(names, own, strict=True))
        arrays = {
            name: stored.array(name, shape, ("float32", "int64")) for name, shape in shapes.items()
        }
        arrays["shift"] = shift
        self.moments = Moments(stored.number("count"), None, None, None)
        self.recent = stored.array("recent", (P,))
        self.totals = stored.array("totals", (P, SUMS))
        self.set_arrays(arrays)

    def merge(self, others: Sequence[DenseSolver], base: DenseSolver | None, count: Count) -> None:
        """Become what solvers learned together, each from rows of its own after those of a base.

        Rows that another solver holds are learned as if they came now. What it knows of rows that
        are gone is combined.
        """
        known = 0 if base is None else base.clock
        for other in others:
            new = other.clock - known
            held = min(sum(len(block.rows) for block in other.held()), new)
            if new > held:
                self._combine(other, base, new - held)
            if held:
                arrays = {name: on_host(one) for name, one in other.arrays().items()}
                own = arrays.get("row_weights")
                self.learn(
                    self.xp.asarray(arrays["rows"][-held:] + arrays["shift"], device=self._device),
                    arrays["targets"][-held:],
                    None if own is None else own[-held:].astype(np.float64),
                    None,
                    None,
                    np.empty(0, dtype=np.int64),
                    count,
                )
        self.score_waiting(count)  # the sums of the race have these rows already

    def _combine(self, other: DenseSolver, base: DenseSolver | None, rows: int) -> None:
        """Join what another solver knows of rows that are gone, those of a base apart."""
        if self.past is None:
            self._let_go()
        assert self.past is not None
        parts, moments = [(self, 1.0)], self.moments
        for solver, sign in [(other, 1.0)] if base is None else [(other, 1.0), (base, -1.0)]:
            own = solver.seen_from(self.shift)
            moments = moments.plus(own.moments, sign)
            for block in own.held() if solver is other else []:
                moments = moments.plus(Moments.of(self.xp, block), -1.0)
            if own.past is not None:
                parts.append((own, sign))
        self.moments = moments
        pasts = [(part.past, sign) for part, sign in parts if part.past is not None]
        self.past = Past.joined(self.xp, pasts)
        self.plain = (self.past.weights[:, None], self.past.intercepts[None])
        self.solved, self.recent = [self.best], np.zeros(1)
        self.clock += rows
        while self.next_solve <= self.clock:
            self.next_solve *= 2

    def with_output(self, place: int, constant: float, *, mirrors: bool) -> DenseSolver:
        """Return the solver with a class or label more, which no row has had so far.

        Where there were two classes, their one model becomes two, each the other's mirror image.
        """
        grown, xp = copy.copy(self), self.xp
        arrays = self.arrays()
        alone = self.kind == "log_loss" and not mirrors
        grown.outputs = self.outputs + 1 + mirrors
        grown.kind = "log_loss" if alone else "softmax"
        sides = {"past_strength": (1.0, 1.0)}
        sides |= dict.fromkeys(("past_slopes", "past_intercept_slopes"), (-1.0, 1.0))
        own = ("weights", "intercepts", *(f"past_{name}" for name in OF_PAST))
        for name in own if self.past is not None else own[:2]:
            old = arrays[name]
            if mirrors:
                old = xp.concat([side * old for side in sides.get(name, (-0.5, 0.5))], axis=-1)
            new = 0.0 * old[..., :1]
            if name.endswith("intercepts"):
                others = 0.0 if alone else xp.log(xp.sum(xp.exp(old), axis=-1, keepdims=True))
                new = new + others + constant
            arrays[name] = xp.concat([old[..., :place], new, old[..., place:]], axis=-1)
        if "targets" in arrays:
            goals = arrays["targets"]
            if alone:
                new = -xp.ones_like(goals[:, :1])
                arrays["targets"] = xp.concat([goals[:, :place], new, goals[:, place:]], axis=1)
            else:
                goals = xp.astype(goals[:, 0] > 0, xp.int64) if mirrors else goals
                arrays["targets"] = goals + xp.astype(goals >= place, xp.int64)
        grown.set_arrays(arrays)
        return grown


def _rows_of(xp: Any, block: Block, places: NDArray[np.int64]) -> Block:
    """Return some rows of a block."""
    some = xp.asarray(places, device=block.rows.device)
    return Block(*(None if one is None else one[some] for one in block[:3]))


def _weights_of(block: Block) -> Floats:
    """Return the weights of rows, on the host."""
    if block.weights is None:
        return np.ones(len(block.rows))
    return np.asarray(on_host(block.weights), dtype=np.float64)


def _joined(xp: Any, parts: list[Block]) -> Block:
    """Return the rows of several blocks as one."""
    if len(parts) == 1:
        return parts[0]
    # Rows that wait have limits: the last parts, if any.
    limits = [part.limits for part in parts if part.limits is not None]
    own = [part.weights for part in parts]
    if any(one is not None for one in own):
        own = [
            xp.ones_like(part.rows[:, 0]) if part.weights is None else part.weights
            for part in parts
        ]
    return Block(
        xp.concat([part.rows for part in parts], axis=0),
        xp.concat([part.targets for part in parts], axis=0),
        None if own[0] is None else xp.concat(own, axis=0),
        xp.concat(limits, axis=0) if limits else None,
    )

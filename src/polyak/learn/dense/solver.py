"""The solver of wide dense rows: a grid of penalties, and which of them are worth solving.

While rows can be held, the penalised problems of all rows so far are solved whenever the rows have
doubled, and the rows that come next are scored before they are used. The first time every second
penalty of the grid is solved, then the best and its neighbours, since the best penalty moves as
rows grow. A penalty that is not solved counts as its nearest neighbour. When rows no longer fit,
averaged natural steps go on from the best solution.
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

from polyak.learn.dense.losses import curvature, errors, values
from polyak.learn.dense.natural import FEWER_EVERY, NaturalSteps
from polyak.learn.dense.optimum import MOST_AXES, Block, Moments, Units, scores_of, solve
from polyak.learn.race.history import RATED, SUMS
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.threads import on_threads

Floats = NDArray[np.float64]
Count = Callable[[Any, Block], None]
"""What is called with rows when they are scored, and their scores by the best penalty."""

FIRST_SOLVE, FEW_ROWS, MANY_ROWS = 125, 1000, 16_000
"""Problems are solved with this many rows and at every doubling: with few rows for two neighbours
on either side of the best penalty, then for one. After many rows the penalty is settled."""
BLOCK, STEP = 1024, 16384
"""The rows of a product on a processor, and of one on a device or of a natural step."""
STEPS, LAST_STEPS = 10, 40
GAIN, LAST_GAIN = 1e-3, 1e-4
"""The iterations of a solution, and the share of the objective that the last must gain: of those
that choose the penalty, and of the model."""
FEWEST = 1.25
"""How many times the rows of a solution there must be for the rows since to tell."""
NEAREST = 1e-9
"""How much worse than its neighbour a penalty counts that was not solved, so that it does not win
a tie."""


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
    most_bytes : float
        The memory for rows.
    """

    def __init__(
        self,
        kind: str,
        penalties: Floats,
        outputs: int,
        *,
        fit_intercept: bool,
        most_bytes: float,
    ) -> None:
        self.kind, self.penalties, self.outputs = kind, penalties, outputs
        self.fit_intercept, self.most_bytes = fit_intercept, most_bytes
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
        self.steps: NaturalSteps | None = None
        self._latest: tuple[int, int, Any] | None = None
        self._expected: tuple[int, Floats] | None = None

    def begin(self, rows: Any) -> None:
        """Take the shift from the first rows, and the library and device that hold them."""
        xp = array_namespace(rows)
        self.on_host = isinstance(rows, np.ndarray)
        self.block = BLOCK if self.on_host else STEP
        self.shift = xp.mean(xp.astype(rows, xp.float32), axis=0)
        d = rows.shape[1]
        zeros = xp.zeros_like(self.shift)
        self.moments = Moments(0.0, zeros, xp.zeros((d, d), dtype=xp.float32, device=zeros.device))
        W = xp.zeros((d, 1, self.outputs), dtype=xp.float32, device=zeros.device)
        self.plain = (W, W[0])  # weights and intercepts of shifted rows

    @property
    def xp(self) -> Any:
        """The library of the arrays: a module, which copies and pickles must not contain."""
        return array_namespace(self.shift)

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

    def _block(self, rows: Any, targets: Any, weights: Any, limits: Any, some: Any) -> Block:
        """Return some rows, shifted, on the device of the rows."""
        xp, device = self.xp, self.shift.device
        place = some if isinstance(some, slice) else xp.asarray(some, device=device)
        own = xp.astype(rows[place], xp.float32) - self.shift
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
        work = (partial(self._score, block), partial(self.moments.add, block))
        of_each, found = on_threads(lambda one: one(), work, threads if self.on_host else 1)[0]
        if self.steps is None:
            best = int(np.argmin(self.recent))
            self.recent = self.recent + of_each[:, RATED]
        else:  # one penalty, whose weights are those of the best rate so far
            best = self.steps.best
            self.steps = replace(self.steps, lost=self.steps.lost + of_each[:, RATED])
            of_each = of_each[best : best + 1]
        self.totals = self.totals + of_each
        count(found[:, best], block)
        self.open, self.waiting = [*self.open, block._replace(limits=None)], []

    def _score(self, block: Block) -> tuple[Floats, Any]:
        """Return the sums of rows, a row per solved penalty or rate, and their scores."""
        xp, (rows, targets, own, limits) = self.xp, block
        found = scores_of(xp, rows, *self.plain)
        lost = values(xp, self.kind, found, targets)
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
        return np.asarray(on_host(xp.stack(sums, axis=1)), dtype=np.float64), found

    def _of_waiting(self) -> Floats:
        """Return the sums of rows that wait, which go on waiting."""
        if not self.waiting:
            return np.zeros((self.plain[0].shape[1], SUMS))
        if self._expected is None or self._expected[0] != self.clock:
            self._expected = self.clock, self._score(_joined(self.xp, self.waiting))[0]
        return self._expected[1]

    def _close_block(self) -> None:
        self.blocks.append(_joined(self.xp, self.open))
        self.open = []
        if self.steps is not None:
            if len(self.blocks) * self.block == STEP:
                self.steps = self._stepped(self.steps, self.blocks)
                self.plain, self.blocks = self.steps.plain(self.xp), []
        elif sum(block.rows.nbytes for block in self.blocks) > self.most_bytes:
            self._begin_steps()

    def _solve(self) -> None:
        """Solve for the best penalty so far and its neighbours, or for all if it is the first."""
        is_first = self.clock == FIRST_SOLVE
        self.next_solve *= 2
        if self.steps is not None:
            return
        best = round(self._minimum(self.best))
        around = 2 if self.clock < FEW_ROWS else 1 if self.clock <= MANY_ROWS else 0
        wanted = [n for n in range(len(self.penalties)) if abs(n - best) <= around]
        if is_first:
            wanted = list(range(best % 2, len(self.penalties), 2))
        self.curve = self._losses()
        self.plain = self._solution(wanted, STEPS, GAIN)[1]
        self.totals = self.totals[self._nearest(wanted)]
        self.solved, self.recent = wanted, np.zeros(len(wanted))
        self.since = self.clock

    def _solution(
        self, places: list[int], most: int, gain: float, penalty: float | None = None
    ) -> tuple[tuple[Units, Any, Any], tuple[Any, Any]]:
        """Return units and weights at penalties of the grid, and the weights of shifted rows."""
        xp, blocks, moments = self.xp, self.held(), replace(self.moments)
        if self.waiting:
            moments.add(_joined(xp, self.waiting))
        units = Units.of(xp, moments)
        near = self._nearest(places)
        A, c = self.plain[0][:, near], self.plain[1][near]
        W, b = units.standard(xp, A, c)
        bend = float(xp.mean(curvature(xp, self.kind, scores_of(xp, blocks[-1].rows, A, c))))
        per_row = (self.penalties[places] if penalty is None else np.array([penalty])) / (
            moments.count
        )
        penalties = xp.asarray(per_row.astype(np.float32), device=W.device)
        W, b = solve(
            xp,
            self.kind,
            blocks,
            units,
            (W, b),
            penalties,
            bend,
            fit_intercept=self.fit_intercept,
            most=most,
            least_gain=gain,
        )
        return (units, W, b), units.plain(xp, W, b)

    def _nearest(self, places: list[int]) -> list[int]:
        """Return where the solved penalty nearest to each of these places is."""
        return [min(range(len(self.solved)), key=lambda n: abs(self.solved[n] - p)) for p in places]

    def _losses(self) -> dict[int, float]:
        """Return the losses of penalties, as they were before the last solution if rows are few."""
        few = self.steps is not None or self.clock < FEWEST * self.since
        if few:
            return self.curve
        lost = self.recent + self._of_waiting()[:, RATED]
        return dict(zip(self.solved, lost.tolist(), strict=True))

    def penalty(self, place: int) -> float:
        """Return the penalty of a place of the grid, or a better one close by."""
        return float(self.penalties[place] * self.ratio ** (self._minimum(place) - place))

    def _minimum(self, place: int) -> float:
        """Return where the loss is least by a parabola, at most one place away.

        It goes through the losses of a penalty and its neighbours. Where one of these was not
        solved, it goes through those beside the other: the best penalty falls as rows grow, and may
        have left the penalties that were solved.
        """
        lost = self._losses()
        middle = min(max(place, min(lost, default=0) + 1), max(lost, default=0) - 1)
        if not {middle - 1, middle, middle + 1} <= lost.keys():
            return place
        low, own, high = (lost[middle + step] for step in (-1, 0, 1))
        bend = low - 2.0 * own + high
        if not bend > 0:
            return place
        found = np.clip(middle + 0.5 * (low - high) / bend, place - 1, place + 1)
        return float(np.clip(found, 0, len(self.penalties) - 1))

    def _begin_steps(self) -> None:
        """Let go of rows, and go on in natural steps from the best solution."""
        best = self.best
        self.curve = self._losses()
        (units, W, b), _ = self._solution([best], STEPS, GAIN)
        self.totals = self.totals[self._nearest([best])]
        self.solved, self.recent = [best], np.zeros(1)
        blocks = len(self.blocks) * self.block / STEP
        self.steps = NaturalSteps.starting(self.xp, units, W, b, blocks)
        self.plain, self.blocks = self.steps.plain(self.xp), []

    def _stepped(self, steps: NaturalSteps, blocks: list[Block]) -> NaturalSteps:
        penalty = float(self.penalties[self.solved[0]]) / self.moments.count
        after = steps.learned(self.xp, self.kind, blocks, penalty, fit_intercept=self.fit_intercept)
        many = len(after.rates) > 1 and int(after.step) % FEWER_EVERY == 0
        return after.fewer() if many else after

    # -- results -------------------------------------------------------------------------------

    def sums(self) -> Floats:
        """Return the sums of all penalties of the grid since the last milestone."""
        places = list(range(len(self.penalties)))
        near, more = self._nearest(places), self._of_waiting()
        more = more if self.steps is None else more[[self.steps.best]]
        found = (self.totals + more)[near]
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
        xp, left = self.xp, self.held()
        if self.steps is not None:
            now = replace(self.steps, lost=self.steps.lost + self._of_waiting()[:, RATED])
            steps = self._stepped(now, left) if left else now
            A, c = steps.plain(xp)
            A, c = A[:, steps.best], c[steps.best]
        elif not left:
            A, c = self.plain[0][:, 0], self.plain[1][0]
        else:
            _, (A, c) = self._solution([place], LAST_STEPS, LAST_GAIN, self.penalty(place))
            A, c = A[:, 0], c[0]
        c = c - self.shift @ A
        return (
            np.asarray(on_host(A).T, dtype=np.float64),
            np.asarray(on_host(c), dtype=np.float64),
        )

    # -- state ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """Return all arrays that learning changes, where they are."""
        found = {
            "shift": self.shift,
            "sums": self.moments.sums,
            "products": self.moments.products,
            "weights": self.plain[0],
            "intercepts": self.plain[1],
        }
        if held := self.held():
            block = _joined(self.xp, held)
            found |= {"rows": block.rows, "targets": block.targets}
            found |= {} if block.weights is None else {"row_weights": block.weights}
        if self.waiting:
            found |= {"limits": _joined(self.xp, self.waiting).limits}
        if self.steps is not None:
            found |= {f"steps.{name}": getattr(self.steps, name) for name in OF_STEPS}
            found |= {f"steps.{name}": getattr(self.steps.units, name) for name in OF_UNITS}
        return found

    def set_arrays(self, arrays: dict[str, Any]) -> None:
        """Go on with these arrays, with the library and device that they are of."""
        self.on_host = isinstance(arrays["shift"], np.ndarray)
        self.block = BLOCK if self.on_host else STEP
        self.shift = arrays["shift"]
        self.moments = Moments(self.moments.count, arrays["sums"], arrays["products"])
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
                last = (None if one is None else one[scored:] for one in held)
                self.waiting.append(Block(*last, arrays["limits"]))
        if self.steps is not None:
            parts = {name: arrays[f"steps.{name}"] for name in (*OF_STEPS, *OF_UNITS)}
            units = Units(*(parts.pop(name) for name in OF_UNITS), self.steps.units.rest)
            self.steps = replace(self.steps, units=units, **parts)
        self._latest = self._expected = None

    def _move_to(self, rows: Any) -> None:
        """Go on where the rows are."""
        like = rows if hasattr(rows, "device") else np.asarray(rows)
        xp = array_namespace(like)
        if xp is not self.xp or getattr(like, "device", None) != getattr(
            self.shift, "device", None
        ):
            moved = {name: on_host(one) for name, one in self.arrays().items()}
            device = None if isinstance(like, np.ndarray) else like.device
            self.set_arrays(
                {n: xp.asarray(np.asarray(one), device=device) for n, one in moved.items()}
            )

    def state(self) -> tuple[Page, Arrays]:
        """Return what learning changes as a JSON-serialisable dict and a dict of arrays."""
        arrays = {name: np.array(on_host(one)) for name, one in self.arrays().items()}
        arrays |= {"recent": self.recent.copy(), "totals": self.totals.copy()}
        page: Page = {
            name: getattr(self, name) for name in ("clock", "next_solve", "solved", "since")
        }
        page |= {"count": self.moments.count, "curve": sorted(self.curve.items())}
        if self.steps is not None:
            page |= {"step": self.steps.step, "rest": self.steps.units.rest}
            arrays |= {"steps.rates": self.steps.rates, "steps.lost": self.steps.lost}
        return page, arrays

    def set_state(self, stored: StoredState) -> None:
        """Go on from what `state` returned."""
        self.clock, self.next_solve = stored.whole("clock"), stored.whole("next_solve", least=1)
        self.solved, self.since = stored.field("solved"), stored.whole("since", most=self.clock)
        self.curve = {int(place): float(loss) for place, loss in stored.field("curve")}
        places = set(range(len(self.penalties)))
        stored.require(
            bool(self.solved) and set(self.solved) <= places, "solved", "are no penalties"
        )
        shift = stored.array("shift", (None,), "float32", least=-np.inf)
        d, P, K = len(shift), len(self.solved), self.outputs
        rates = P
        if "step" in stored.page:
            rates = len(stored.array("steps.rates", (None,)))
        shapes: dict[str, tuple[int | None, ...]] = {
            "sums": (d,),
            "products": (d, d),
            "weights": (d, rates, K),
            "intercepts": (rates, K),
        }
        if "rows" in stored.arrays:
            n = len(stored.arrays["rows"])
            shapes |= {"rows": (n, d), "targets": (n,) if self.kind == "softmax" else (n, K)}
            shapes |= {"row_weights": (n,)} if "row_weights" in stored.arrays else {}
            if "limits" in stored.arrays:
                waiting = len(stored.arrays["limits"])
                stored.require(waiting <= n, "limits", f"are of {waiting} rows, held are {n}")
                shapes["limits"] = (waiting, 2)
        arrays = {
            name: stored.array(name, shape, ("float32", "int64")) for name, shape in shapes.items()
        }
        arrays["shift"] = shift
        self.moments = Moments(stored.number("count"), None, None)
        self.recent = stored.array("recent", (P,))
        self.totals = stored.array("totals", (P, SUMS))
        if "step" in stored.page:
            size = min(d, MOST_AXES)
            own = {
                **dict.fromkeys(("W", "averaged"), (d, rates, K)),
                **dict.fromkeys(("b", "averaged_intercepts"), (rates, K)),
                **dict.fromkeys(("mean", "spread"), (d,)),
                "axes": (d, size),
                "variances": (size,),
            }
            parts = {n: stored.array(f"steps.{n}", shape, "float32") for n, shape in own.items()}
            arrays |= {f"steps.{name}": one for name, one in parts.items()}
            units = Units(*(parts.pop(name) for name in OF_UNITS), stored.number("rest"))
            lost = stored.array("steps.lost", (rates,))
            rate = stored.array("steps.rates", (rates,))
            step = stored.number("step")
            self.steps = NaturalSteps(units=units, rates=rate, step=step, lost=lost, **parts)
        self.set_arrays(arrays)

    def merge(self, others: Sequence[DenseSolver], base: DenseSolver | None, count: Count) -> None:
        """Become what solvers learned together, each from rows of its own after those of a base.

        Rows that another solver holds are learned as if they came now. Where it has let them go,
        weights are averaged.
        """
        known = 0 if base is None else base.clock
        for other in others:
            new = other.clock - known
            held = min(sum(len(block.rows) for block in other.held()), new)
            if new > held:
                self._join_steps(other, new - held)
            if not held:
                continue
            arrays = {name: on_host(one) for name, one in other.arrays().items()}
            rows = self.xp.asarray(arrays["rows"][-held:] + arrays["shift"])
            own = arrays.get("row_weights")
            self.learn(
                self.xp.asarray(rows, device=self.shift.device),
                np.asarray(arrays["targets"][-held:]),
                None if own is None else np.asarray(own[-held:], dtype=np.float64),
                None,
                None,
                np.empty(0, dtype=np.int64),
                count,
            )
        self.score_waiting(count)  # the sums of the race have these rows already

    def _join_steps(self, other: DenseSolver, rows: int) -> None:
        """Average weights with those of a solver that has let go of its rows."""
        if self.steps is None:
            self._begin_steps()
        xp, mine, theirs = self.xp, self.steps, other.steps
        assert mine is not None
        assert theirs is not None
        share = rows / max(self.clock + rows, 1)
        (A, c), (B, e) = mine.plain(xp), theirs.plain(other.xp)
        B, e = (xp.asarray(on_host(one), device=A.device) for one in (B, e))
        e = e + xp.tensordot(self.shift - xp.asarray(on_host(other.shift)), B, axes=1)
        best, their_best = slice(mine.best, mine.best + 1), slice(theirs.best, theirs.best + 1)
        A = (1.0 - share) * A[:, best] + share * B[:, their_best]
        c = (1.0 - share) * c[best] + share * e[their_best]
        W, b = mine.units.standard(xp, A, c)
        self.steps = NaturalSteps.starting(xp, mine.units, W, b, mine.step + theirs.step)
        self.plain = self.steps.plain(xp)
        self.moments.count += rows
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
        for name in (
            "weights",
            "intercepts",
            "steps.W",
            "steps.b",
            "steps.averaged",
            "steps.averaged_intercepts",
        ):
            if name not in arrays:
                continue
            old = arrays[name]
            old = xp.concat([-0.5 * old, 0.5 * old], axis=-1) if mirrors else old
            new = 0.0 * old[..., :1]
            if old.ndim == 2:  # intercepts
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


OF_STEPS = ("W", "b", "averaged", "averaged_intercepts")
OF_UNITS = ("mean", "spread", "axes", "variances")


def _joined(xp: Any, parts: list[Block]) -> Block:
    """Return the rows of several blocks as one."""
    if len(parts) == 1:
        return parts[0]
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
        None if parts[0].limits is None else xp.concat([part.limits for part in parts], axis=0),
    )


def on_host(array: Any) -> Any:
    """Return an array as NumPy reads it."""
    return array.cpu() if hasattr(array, "cpu") else getattr(array, "get", lambda: array)()

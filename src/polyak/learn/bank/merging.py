"""Merging: from banks that learned different rows to one that learned them all.

Banks may have begun with nothing, or all from the same state, their base: a cluster's workers take
up what is known so far, learn some rows each, and are merged. What the base knew then counts once,
however many took it up. Merging is associative up to rounding, so that a tree of merges gives what
one merge of all would.

With N_k the rows that bank k learned since the base, of N in all, and s_k = N_k / N:

* the iterate is the mean of the iterates, each counting s_k;
* the average is that of the base, as heavy as its rows, and the mean of what each bank averaged
  since, each counting s_k. For an average in which all rows count alike this is the mean of
  exactly the iterates that went into any of them;
* the clock, and all that is a sum over rows, grow by what each bank added.

What banks of proximal steps know adds up: see `added_up`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.bank.bank import Bank
from polyak.learn.bank.settings import SUMS

Floats = NDArray[np.float64]

LINES_AT_A_TIME = 1 << 14


def merge_banks(bank: Bank, others: Sequence[Bank], base: Bank | None = None) -> None:
    """Make a bank what it and others learned together, each from rows of its own.

    Averages and iterates are averaged, each weighted by the rows its bank saw; clocks, sums of
    squares and progressive sums add up. Learning goes on as after that many rows. The learning
    rates stay the first bank's. Where all began from the same bank, ``base``, what that one knew
    counts once.
    """
    for other in [*others, *([] if base is None else [base])]:
        if other.kind() != bank.kind():
            raise ValueError("only banks of the same models and settings can be merged")
    banks = [bank, *others]
    if not any(one.clock - (0 if base is None else base.clock) for one in banks):
        return
    state, fields = (_merged_proximal if bank.proximal else _merged)(banks, base)
    bank.set_state(state)
    bank.set_fields(**fields)


def _merged(banks: Sequence[Bank], base: Bank | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state of the merged bank, and the fields of its models that differ."""
    clock_then = 0 if base is None else base.clock
    rows = np.array([bank.clock - clock_then for bank in banks], dtype=np.float64)
    shares = rows / rows.sum()
    clock = clock_then + round(rows.sum())
    plan = _Averages(banks, base, shares, clock)
    all_banks = list(banks)
    if base is not None:  # it counts in the average only, and there it may count less than nothing
        all_banks, shares = [*all_banks, base], np.append(shares, 0.0)
    states = [bank.state() for bank in all_banks]

    def mean(name: str) -> Any:
        return sum(share * bank.field(name) for share, bank in zip(shares, all_banks, strict=True))

    def added(parts: list[NDArray[Any]]) -> NDArray[Any]:
        return _added(parts, last_is_base=base is not None)

    state = {
        "lines": _lines(all_banks, states, shares, plan),
        "squares": added([state["squares"] for state in states]),
        "models": states[0]["models"],
        "clock": clock,
        "looked": int(added([np.array([state["looked"]]) for state in states])[0]),
    }
    fields: dict[str, Any] = {
        "start": plan.start,
        "scale": 1.0,
        "tau": 0.0,
        "total": plan.total,
        "unit": plan.unit,
        "bias": mean("bias"),
        "bias_sum": plan.total
        * sum(part * _mean_bias(bank) for part, bank in zip(plan.parts, all_banks, strict=True)),
        "running_iterate": mean("running_iterate"),
        "running_average": mean("running_average"),
    }
    for name in SUMS:
        fields[name] = added([bank.field(name) for bank in all_banks])
    return state, fields


def _merged_proximal(
    banks: Sequence[Bank], base: Bank | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    all_banks, last_is_base = [*banks, *([] if base is None else [base])], base is not None
    state, fields = added_up(all_banks, [bank.state() for bank in all_banks], last_is_base)
    for name in ("total", *SUMS):
        fields[name] = _added([bank.field(name) for bank in all_banks], last_is_base)
    return state, fields


class _Averages:
    """The share of each bank's average in the merged one, and the weight of that.

    Bank k averaged since the base what it has less what the base had,
    ``(W_k A_k - W_0 A_0) / (W_k - W_0)``, where A is an average and W the weight of its rows. So
    the merged average is a sum of multiples of the A_k and, last of ``parts``, of A_0.
    """

    def __init__(
        self, banks: Sequence[Bank], base: Bank | None, shares: Floats, clock: int
    ) -> None:
        power = banks[0].averaging.power
        nothing = np.zeros(len(banks[0]))
        before_then = nothing if base is None else _rows_before_average(base)
        then = nothing if base is None else _weight(base.clock - before_then, power)
        starts = np.stack([bank.field("start") for bank in banks])
        before = before_then + sum(_rows_before_average(bank) - before_then for bank in banks)
        averaged = clock - before
        weight = _weight(averaged, power)
        # Row m counts m ** power; a power of two keeps the sum of that in range.
        unit = np.exp2(-np.maximum(np.ceil(np.log2(np.maximum(weight, 1.0))) - 32.0, 0.0))
        detecting = (starts < 0).all(axis=0)
        self.start = np.where(detecting, -1.0, np.where(averaged > 0, before, starts.max(axis=0)))
        self.total = np.where(detecting, 1.0, weight * unit)  # the detector's has no scale
        self.unit = np.where(detecting, 1.0, unit)
        # Until the base has averaged anything, a bank's average is all its own.
        of_base = np.where(then > 0, then / np.maximum(weight, 1.0), 0.0)
        left = of_base
        self.parts: list[Floats] = []
        for bank, share in zip(banks, shares, strict=True):
            own = _weight(bank.clock - _rows_before_average(bank), power)
            gained = np.where(own > then, own - then, np.inf)
            self.parts.append(np.where(then > 0, (1.0 - of_base) * share * own / gained, share))
            left = left - (1.0 - of_base) * share * then / gained
        if base is not None:
            self.parts.append(left)


def _rows_before_average(bank: Bank) -> Floats:
    start = bank.field("start")
    before: Floats = np.where(start < 0, bank.clock, np.minimum(start, bank.clock))
    return before


def _weight(rows: Floats, power: float) -> Floats:
    """Add up m ** power over the rows m = 1, 2, ... since averaging began."""
    if power == 0.0:
        return np.asarray(rows, dtype=np.float64)
    if power == 1.0:
        return np.asarray(rows * (rows + 1.0) / 2.0)
    if power == 3.0:
        return np.asarray(np.square(rows * (rows + 1.0) / 2.0))
    return np.asarray(((rows + 0.5) ** (power + 1.0) - 0.5 ** (power + 1.0)) / (power + 1.0))


def _mean_bias(bank: Bank) -> Floats:
    of_iterate, of_sum = _average_of(bank)
    mean: Floats = of_iterate * bank.field("bias") + of_sum * bank.field("bias_sum")
    return mean


def _average_of(bank: Bank) -> tuple[Floats, Floats]:
    """Return the factors of iterate and sum in an average; with no sum, it is the iterate."""
    total = bank.field("total")
    there = total > 0
    return np.where(there, 0.0, 1.0), np.where(there, 1.0 / np.where(there, total, 1.0), 0.0)


def _lines(
    banks: list[Bank], states: list[dict[str, Any]], shares: Floats, plan: _Averages
) -> NDArray[Any]:
    """Add the lines up, some at a time: in twice the precision, but not in twice the memory."""
    models = len(plan.total)
    features = max(len(state["lines"]) for state in states)
    merged = np.empty((features, 2 * models), banks[0].dtype)
    factors = []  # of v in the iterate; of v and of u in the weighted sum of iterates
    for bank, share, part in zip(banks, shares, plan.parts, strict=True):
        scale = bank.field("scale")
        of_iterate, of_sum = _average_of(bank)
        of_v = of_iterate * scale + of_sum * bank.field("tau")
        factors.append((share * scale, part * of_v * plan.total, part * of_sum * plan.total))
    for begin in range(0, features, LINES_AT_A_TIME):
        some = slice(begin, min(begin + LINES_AT_A_TIME, features))
        iterate, average = np.zeros((2, some.stop - begin, models))
        for state, (in_iterate, of_v, of_u) in zip(states, factors, strict=True):
            lines = state["lines"][some].astype(np.float64)
            has, v, u = len(lines), lines[:, :models], lines[:, models:]
            iterate[:has] += in_iterate * v
            average[:has] += of_v * v + of_u * u
        merged[some, :models] = iterate
        merged[some, models:] = average
    return merged


def _added(parts: list[NDArray[Any]], last_is_base: bool) -> NDArray[Any]:
    """Add up what each part has beyond the base, which comes last, and the base itself."""
    longest = max(len(part) for part in parts)
    wide = [np.pad(part, (0, longest - len(part))) for part in parts]
    base = wide.pop() if last_is_base else np.zeros_like(wide[0])
    total = base.copy()
    for part in wide:
        total += part - base
    return total


def added_up(
    banks: Sequence[Bank], states: list[dict[str, Any]], last_is_base: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add up what each bank has beyond the base, which may be the last, and the base itself."""
    signs = [1.0] * len(banks)
    if last_is_base:
        signs[-1] = -(len(banks) - 2.0)
    features, models = max(len(state["lines"]) for state in states), len(banks[0].field("bias"))
    z, h, squares = np.zeros((features, models)), np.zeros((features, models)), np.zeros(features)
    pulls, held = np.zeros(models), np.zeros(models)
    for sign, bank, state in zip(signs, banks, states, strict=True):
        lines, own = state["lines"].astype(np.float64), state["squares"]
        b, eta, has = bank.field("decay"), bank.field("gamma0"), slice(len(lines))
        q = own[:, None] ** 0.25
        z[has] += sign * lines[:, :models]
        h[has] += sign * q * (b * q + lines[:, models:]) / eta
        squares[has] = np.maximum(squares[has], own)
        intercept = (b + np.sqrt(bank.field("running_iterate"))) / eta
        pulls += sign * intercept * bank.field("bias")
        held += sign * intercept
    b, eta, q = banks[0].field("decay"), banks[0].field("gamma0"), squares[:, None] ** 0.25
    root = np.divide(h * eta, q, out=np.zeros_like(h), where=q > 0) - b * q
    clocks = np.array([state["clock"] for state in states], np.float64)
    state = states[0] | {
        "lines": np.hstack([z, np.maximum(root, 0.0)]).astype(states[0]["lines"].dtype),
        "squares": squares,
        "clock": round(float(np.dot(signs, clocks))),
    }
    return state, {
        "bias": pulls / held,
        "running_iterate": np.square(np.maximum(held * eta - b, 0.0)),
    }

"""Verdicts: one rule for all sentences, from a number, its confidence interval and a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student_t

HOLDS, ONE_READING = "holds", "holds in one reading"
UNDECIDED, FAILS, UNKNOWN = "undecided", "does not hold", "cannot be told"
VERDICTS = (HOLDS, ONE_READING, UNDECIDED, FAILS, UNKNOWN)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Number:
    """A value and its confidence interval; a number that was computed exactly has none.

    ``orders`` lists, ascending, the further orders of the rows after which parts of it that are
    undecided can be expected to be decided.
    """

    value: float
    low: float
    high: float
    orders: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Write the value, and its interval if there is one."""
        if self.low == self.high:
            return f"{self.value:,.3g}"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def student(
    values: Sequence[float] | np.ndarray, limit: float = 0.0, left_out: Sequence[float] = ()
) -> Number:
    """Return the mean of independent values with Student's 95% interval.

    ``left_out`` are the means without each group of the test rows in turn, all values being of the
    same rows: their jackknife variance is added, with Welch's degrees of freedom.

    Examples
    --------
    >>> found = student([1.0, 2.0, 3.0, 4.0])
    >>> found.value, round(found.low, 2), round(found.high, 2), found.orders
    (2.5, 0.45, 4.55, (0,))
    >>> found = student([1.0, 2.0, 3.0, 4.0], left_out=[2.1, 2.9, 2.0, 3.0])
    >>> round(found.low, 2), round(found.high, 2)
    (-0.01, 5.01)
    """
    values = np.asarray(values, float)
    n, mean, groups = len(values), float(values.mean()), len(left_out)
    if n < 2:
        return Number(mean, -np.inf, np.inf)
    of_orders = float(values.var(ddof=1)) / n
    of_rows = (groups - 1) * float(np.var(left_out)) if groups else 0.0
    freedom = n - 1.0
    if of_rows > 0:
        squares = of_orders**2 / (n - 1) + of_rows**2 / (groups - 1)
        freedom = (of_orders + of_rows) ** 2 / squares
    quantile = float(student_t.ppf((1 + CONFIDENCE) / 2, freedom))
    half = quantile * float(np.sqrt(of_orders + of_rows))
    # More orders make the first variance smaller, and leave that of the test rows as it is.
    room = (max(abs(mean - limit), 1e-12) / quantile) ** 2 - of_rows
    if room <= 0:
        return Number(mean, mean - half, mean + half)
    needed = max(0, int(np.ceil(min(n * of_orders / room, 1e9))) - n)
    return Number(mean, mean - half, mean + half, (needed,))


def count_of(numbers: Sequence[Number], limit: float) -> Number:
    """Return how many numbers are clearly below a limit; those within their intervals are open.

    Examples
    --------
    >>> count_of([Number(-2, -3, -1), Number(-1, -3, 1, (40,)), Number(2, 1, 3)], 0.0)
    Number(value=1.0, low=1.0, high=2.0, orders=(40,))
    """
    clear = sum(number.high < limit for number in numbers)
    open_ = [number for number in numbers if number.low <= limit <= number.high]
    orders = tuple(sorted(number.orders[0] for number in open_ if number.orders))
    return Number(float(clear), float(clear), float(clear + len(open_)), orders)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the paper, and how it is judged.

    Attributes
    ----------
    quote, where : str
    experiment : str
        Which experiment computes the numbers.
    readings : dict
        The name of each reading of the sentence, and the key of the number that decides it.
    sense : {"<", "<=", ">", ">="}
    limit : float or str
        A number, or the key of one.
    criterion : str
        How the limit follows from the sentence.
    measured : str
        What was measured, a template with the keys of numbers.
    changed : str
        The commit of an earlier limit, and why it was changed.
    whole_sets : bool
        Whether it speaks of a pass over the paper's sets, so that a part of them cannot decide it.
    """

    quote: str
    where: str
    experiment: str
    readings: Mapping[str, str]
    sense: str
    limit: float | str
    criterion: str
    measured: str
    changed: str = ""
    whole_sets: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence with its verdict and what was measured."""

    sentence: Sentence
    verdict: str
    measured: str


def judge(sentence: Sentence, numbers: Mapping[str, Any], *, quick: bool = False) -> Judged:
    """Compare the numbers of a sentence with its limit.

    Several readings of a sentence are judged apart: if some hold and others do not, it holds in
    one reading. A quick run leaves open what only whole sets decide.
    """
    limit = numbers.get(sentence.limit) if isinstance(sentence.limit, str) else sentence.limit
    states, more = {}, []
    for reading, key in sentence.readings.items():
        states[reading], orders = _compare(numbers.get(key), sentence.sense, limit)
        more += [orders] if orders is not None else []
    verdict = _together(list(states.values()))
    measured = re.sub(r"\{([^}]+)\}", lambda key: _shown(numbers.get(key[1])), sentence.measured)
    if quick and sentence.whole_sets:
        return Judged(sentence, UNKNOWN, measured + " (parts of the sets, which decide nothing)")
    if len(set(states.values())) > 1:
        measured += " [" + "; ".join(f"{name}: {state}" for name, state in states.items()) + "]"
    if verdict == UNDECIDED:
        measured += (
            f" ({min(more):,} further orders needed)" if more else " (more test rows needed)"
        )
    return Judged(sentence, verdict, measured)


def _compare(found: Any, sense: str, limit: float | None) -> tuple[str, int | None]:
    if found is None or limit is None:
        return UNKNOWN, None
    number = found if isinstance(found, Number) else Number(*3 * (float(found),))
    below, equal = sense[0] == "<", sense.endswith("=")
    low, high = (number.low, number.high) if below else (-number.high, -number.low)
    limit = limit if below else -limit
    if high < limit or (equal and high <= limit):
        return HOLDS, None
    if low > limit or (not equal and low >= limit):
        return FAILS, None
    # Of a count, as many open parts must be decided as are missing.
    missing = int(np.floor(abs(number.value - abs(limit)))) if len(number.orders) > 1 else 0
    return UNDECIDED, number.orders[min(missing, len(number.orders) - 1)] if number.orders else None


def _together(states: list[str]) -> str:
    if len(set(states)) == 1:
        return states[0]
    if HOLDS in states and FAILS in states:
        return ONE_READING
    return UNDECIDED if UNDECIDED in states else UNKNOWN


def _shown(value: Any) -> str:
    """Return a number as a sentence shows it."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1000 < abs(value) < 1e12 else f"{value:.3g}"

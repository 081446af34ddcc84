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


def student(values: Sequence[float] | np.ndarray, limit: float = 0.0) -> Number:
    """Return the mean of independent values with Student's 95% interval.

    Examples
    --------
    >>> found = student([1.0, 2.0, 3.0, 4.0])
    >>> found.value, round(found.low, 2), round(found.high, 2), found.orders
    (2.5, 0.45, 4.55, (0,))
    """
    found = np.asarray(values, float)
    n, mean = len(found), float(found.mean())
    if n < 2:
        return Number(mean, -np.inf, np.inf)
    half = float(student_t.ppf((1 + CONFIDENCE) / 2, n - 1) * found.std(ddof=1) / np.sqrt(n))
    needed = n * (half / max(abs(mean - limit), 1e-12)) ** 2
    return Number(mean, mean - half, mean + half, (max(0, int(np.ceil(min(needed, 1e9))) - n),))


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


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence with its verdict and what was measured."""

    sentence: Sentence
    verdict: str
    measured: str


def judge(sentence: Sentence, numbers: Mapping[str, Any]) -> Judged:
    """Compare the numbers of a sentence with its limit.

    Several readings of a sentence are judged apart: if some hold, it holds in one reading.
    """
    limit = numbers.get(sentence.limit) if isinstance(sentence.limit, str) else sentence.limit
    states, more = {}, []
    for reading, key in sentence.readings.items():
        states[reading], orders = _compare(numbers.get(key), sentence.sense, limit)
        more += [orders] if orders is not None else []
    verdict = _together(list(states.values()))
    measured = re.sub(r"\{([^}]+)\}", lambda key: _shown(numbers.get(key[1])), sentence.measured)
    if len(set(states.values())) > 1:
        measured += " [" + "; ".join(f"{name}: {state}" for name, state in states.items()) + "]"
    if verdict == UNDECIDED:
        measured += f" ({min(more):,} further orders needed)" if more else " (more orders needed)"
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
    if HOLDS in states:
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

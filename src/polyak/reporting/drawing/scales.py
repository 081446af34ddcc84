"""Axes: the mapping from values to pixels, and the ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic mapping from values to pixels.

    Values far beyond the limits are clipped to one axis length outside them.

    Examples
    --------
    >>> round(Scale(1, 1000, 0, 300, log=True)(10), 6)
    100.0
    >>> Scale(0, 1, 200, 0)(1e9)
    -200.0
    """

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high = self.low, self.high
        if self.log:
            value = math.log(value) if value > 0 else -math.inf
            low, high = math.log(low), math.log(high)
        share = min(max((value - low) / (high - low), -1.0), 2.0)
        return self.begin + (self.end - self.begin) * share

    def ticks(self, most: int) -> list[float]:
        """Return round values within the limits, at most ``most`` of them."""
        return (
            log_ticks(self.low, self.high, most) if self.log else ticks(self.low, self.high, most)
        )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(0.0, 1.0, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / max(most - 1, 1)
    power = math.floor(math.log10(raw))
    for exponent in (power, power + 1, power + 2):
        for digit in (1, 2, 5):
            step = digit * 10.0**exponent
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last - first + 1 <= most:
                return [float(f"{i * step:.12g}") for i in range(first, last + 1)]
    return []


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return powers of ten, fewer if there are too many, with values between if there are few.

    Examples
    --------
    >>> log_ticks(1, 5e4, 6), log_ticks(2, 60, 6)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [2.0, 5.0, 10.0, 20.0, 50.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def within(digits: Sequence[int], every: int = 1) -> list[float]:
        found = (
            float(f"{digit}e{power}") for power in range(first, last + 1, every) for digit in digits
        )
        return [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]

    for digits in ((1, 2, 5), (1, 3), (1,)):
        if len(within(digits)) <= most:
            return within(digits)
    every = 2
    while len(within((1,), every)) > most:
        every += 1
    return within((1,), every)


def padded(values: Sequence[float], log: bool = False) -> tuple[float, float]:
    """Return limits with some margin around the values, also where all are equal."""
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** 0.06, 1.05)
        return low / room, high * room
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room

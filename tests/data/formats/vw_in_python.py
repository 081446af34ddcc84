"""VW text read in the plainest way: what the compiled parser is compared with."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
import xxhash

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Row(NamedTuple):
    label: float | None
    weight: float
    features: dict[int, float]  # by slot, ascending


def number(text: bytes) -> float:
    if not NUMBER.fullmatch(text) or not math.isfinite(value := float(text)):
        raise ValueError
    return value


def parse_line(line: bytes, bits: int, dtype: type = np.float64) -> Row | None:
    """The row of a line, None of a blank one; ValueError if the line is bad."""
    line = re.sub(rb"[\t\r]", b" ", line)
    if not line.strip(b" "):
        return None
    head, bar, body = line.partition(b"|")
    if not bar:
        raise ValueError
    words = [word for word in head.split(b" ") if word]
    if words and (not head.endswith(b" ") or words[-1].startswith(b"'")):
        words.pop()  # the tag
    label, weight, base = [*map(number, words), *[None, 1.0, 0.0][len(words) :]]
    if weight < 0 or base != 0:
        raise ValueError
    sums: dict[int, float] = {}
    for space in body.split(b"|"):
        title, *features = space.split(b" ")
        name, colon, scale_text = title.partition(b":")
        if colon and not name:
            raise ValueError
        scale = number(scale_text) if colon else 1.0
        prefix = name + b"^" if name else b""
        unnamed = 0
        for feature in filter(None, features):
            word, colon, text = feature.partition(b":")
            with np.errstate(over="ignore"):
                value = float(dtype((number(text) if colon else 1.0) * scale))
            if not math.isfinite(value):
                raise ValueError
            if not word:
                word, unnamed = str(unnamed).encode(), unnamed + 1
            slot = xxhash.xxh64_intdigest(prefix + word) % 2**bits
            sums[slot] = sums[slot] + value if slot in sums else value
    with np.errstate(over="ignore"):
        features = {slot: float(dtype(sums[slot])) for slot in sorted(sums)}
    if not all(map(math.isfinite, features.values())):
        raise ValueError
    return Row(label, weight, features)


def parse_text(text: bytes, bits: int, dtype: type = np.float64) -> tuple[list[Row], int]:
    """All rows, and how many lines are bad."""
    rows, bad = [], 0
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            row = parse_line(line, bits, dtype)
        except ValueError:
            bad += 1
            continue
        if row is not None:
            rows.append(row)
    return rows, bad

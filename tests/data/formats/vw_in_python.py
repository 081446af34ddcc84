"""VW text read in the plainest way: what the compiled parser is compared with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

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


def crosses(
    found: dict[bytes, list[tuple[int, float]]], names: list[bytes]
) -> Iterator[tuple[int, float]]:
    """The features that namespaces cross to, by VW's rule; of one with itself each pair once."""
    for places in product(*(range(len(found.get(name, []))) for name in names)):
        together = list(zip(names, places, strict=True))
        if any(a[0] == b[0] and a[1] > b[1] for a, b in combinations(together, 2)):
            continue
        slot, value = found[names[0]][places[0]]
        for name, place in together[1:]:
            other = found[name][place]
            slot, value = (slot * 16777619) ^ other[0], value * other[1]
        yield slot, value


def parse_head(head: bytes) -> tuple[float | None, float]:
    """The label and the weight that stand before the first bar; the tag is left out."""
    words = [word for word in head.split(b" ") if word]
    if words and (not head.endswith(b" ") or words[-1].startswith(b"'")):
        words.pop()  # the tag
    label, weight, base = [*map(number, words), *[None, 1.0, 0.0][len(words) :]]
    if weight < 0 or base != 0:
        raise ValueError
    return label, weight


def parse_namespace(space: bytes, dtype: type) -> Iterator[tuple[bytes, int, float]]:
    """The features of a namespace: its name, the hash of the feature's name, the value."""
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
        yield name, xxhash.xxh64_intdigest(prefix + word), value


def parse_line(
    line: bytes,
    bits: int,
    dtype: type = np.float64,
    crossed: list[list[bytes]] | None = None,
    dropped: list[bytes] | None = None,
) -> Row | None:
    """The row of a line, None of a blank one; ValueError if the line is bad."""
    if b"\r" in line.strip(b" \t\r"):  # which ends a line on old Macs
        raise ValueError
    line = re.sub(rb"[\t\r]", b" ", line)
    if not line.strip(b" "):
        return None
    head, bar, body = line.partition(b"|")
    if not bar:
        raise ValueError
    label, weight = parse_head(head)
    found: dict[bytes, list[tuple[int, float]]] = {}
    every: list[tuple[int, float]] = []
    for space in body.split(b"|"):
        for name, *feature in parse_namespace(space, dtype):
            found.setdefault(name, []).append(tuple(feature))
            if name not in (dropped or ()):
                every.append(tuple(feature))
    every += [feature for names in crossed or () for feature in crosses(found, names)]
    sums: dict[int, float] = {}
    for slot, value in every:
        value = float(dtype(value))
        slot %= 2**bits
        sums[slot] = sums[slot] + value if slot in sums else value
    with np.errstate(over="ignore"):
        features = {slot: float(dtype(sums[slot])) for slot in sorted(sums)}
    if not all(map(math.isfinite, features.values())):
        raise ValueError
    return Row(label, weight, features)


def parse_text(
    text: bytes, bits: int, dtype: type = np.float64, **namespaces: Any
) -> tuple[list[Row], int]:
    """All rows, and how many lines are bad."""
    rows, bad = [], 0
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            row = parse_line(line, bits, dtype, **namespaces)
        except ValueError:
            bad += 1
            continue
        if row is not None:
            rows.append(row)
    return rows, bad

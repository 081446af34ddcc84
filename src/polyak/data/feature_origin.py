"""Where the rows of a converted file come from: what a model of them has to remember."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyak.data.stream import Stream

NAMES = ("first_id", "hashed_bits")


def origin_of(stream: Stream) -> dict[str, int]:
    """Say where the ids of a source began, and into how many slots its names were hashed.

    Where ids begin may show only in the first batch, so that has to be read before.
    """
    found = {"first_id": stream.position.get("base"), "hashed_bits": stream.hashed_bits}
    return {name: value for name, value in found.items() if value is not None and value >= 0}


def to_text(origin: dict[str, int]) -> str:
    """Spell an origin for a file."""
    return json.dumps(origin)


def from_text(text: str | bytes) -> dict[str, int]:
    """Undo `to_text`; what is not such a text raises ValueError.

    Examples
    --------
    >>> from_text('{"hashed_bits": 18}')
    {'hashed_bits': 18}
    """
    page = json.loads(text)
    if not isinstance(page, dict):
        raise ValueError("where its rows come from cannot be read")
    known = {name: page[name] for name in NAMES if name in page}
    if not all(isinstance(value, int) and 0 <= value <= 30 for value in known.values()):
        raise ValueError("where its rows come from cannot be read")
    return known

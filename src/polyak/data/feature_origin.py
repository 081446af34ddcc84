"""Where the rows of a converted file come from: what a model of them has to remember."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from polyak.model.features import Hashing
from polyak.storage.records import many, whole, word

if TYPE_CHECKING:
    from polyak.data.stream import Stream

ENTRIES = {
    "first_id": whole(0, 30),
    "hashed_bits": whole(0, 30),
    "interactions": many(many(word(), least=2)),
    "drop": many(word()),
}


def origin_of(stream: Stream) -> dict[str, Any]:
    """Return where the ids of a source began, and how its names were hashed.

    Where ids begin may show only in the first batch, so that has to be read before.
    """
    hashing = stream.hashing or Hashing(-1)
    found = {"first_id": stream.position.get("base"), "hashed_bits": hashing.bits}
    origin: dict[str, Any] = {
        name: value for name, value in found.items() if value is not None and value >= 0
    }
    words = {"interactions": [*map(list, hashing.interactions)], "drop": [*hashing.drop]}
    return origin | {name: value for name, value in words.items() if value}


def hashing_of(origin: dict[str, Any]) -> Hashing | None:
    """Return how names were hashed, if the rows were made of names."""
    if "hashed_bits" not in origin:
        return None
    crossed = tuple(tuple(names) for names in origin.get("interactions", ()))
    return Hashing(origin["hashed_bits"], crossed, tuple(origin.get("drop", ())))


def to_text(origin: dict[str, Any]) -> str:
    """Return an origin as text for a file."""
    return json.dumps(origin)


def from_text(text: str | bytes) -> dict[str, Any]:
    """Undo `to_text`; raise ValueError for any other text.

    Examples
    --------
    >>> from_text('{"hashed_bits": 18}')
    {'hashed_bits': 18}
    """
    page = json.loads(text)
    if not isinstance(page, dict):
        raise ValueError("where its rows come from cannot be read")
    origin = {name: page[name] for name in ENTRIES if name in page}
    for name, value in origin.items():
        ENTRIES[name](value, name)
    return origin

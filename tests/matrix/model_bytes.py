"""What differs between two model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.storage.container import unpack
from polyak.storage.model_file import FORMAT, KIND


def differences(one: bytes, other: bytes) -> list[str]:
    """Name what differs; nothing only if all bytes are the same."""
    if one == other:
        return []
    (page, arrays), (other_page, others) = (
        unpack(data, "a model", KIND, FORMAT) for data in (one, other)
    )
    found = [
        f"{part}: {name}"
        for part in ("features", "report")
        for name in _unlike(page.pop(part), other_page.pop(part))
    ]
    found += [f"page: {name}" for name in _unlike(page, other_page)]
    found += [f"array: {name}" for name in _unlike(arrays, others)]
    return found or ["the order of its parts"]


def _unlike(some: dict[str, Any], others: dict[str, Any]) -> list[str]:
    names = sorted(some.keys() | others.keys())
    return [name for name in names if not np.array_equal(some.get(name), others.get(name))]

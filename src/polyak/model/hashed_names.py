"""The names of hashed features: what two parts of a run have seen together, and as arrays.

There is one name for each slot, so they take as much memory as the slots allow and no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Names = dict[int, bytes]


def names_together(some: Names, others: Names) -> Names:
    """Join names; of two in one slot the first in the alphabet stays, whichever came first.

    Examples
    --------
    >>> names_together({1: b"a=y", 2: b"b"}, {1: b"a=x"})
    {1: b'a=x', 2: b'b'}
    """
    together = dict(some)
    for slot, name in others.items():
        together[slot] = min(name, together.get(slot, name))
    return together


def names_to_arrays(names: Names) -> dict[str, NDArray[Any]]:
    """Give slots, names, and where each name ends, in the order of the slots."""
    slots = sorted(names)
    lengths = [len(names[slot]) for slot in slots]
    return {
        "names.slots": np.array(slots, dtype=np.int64),
        "names.ends": np.cumsum(lengths, dtype=np.int64),
        "names.text": np.frombuffer(b"".join(names[slot] for slot in slots), dtype=np.uint8),
    }


def names_from_arrays(arrays: dict[str, NDArray[Any]]) -> Names:
    """Undo `names_to_arrays`; none where there are no such arrays.

    Examples
    --------
    >>> names_from_arrays(names_to_arrays({7: b"city=Ulm", 3: b""}))
    {3: b'', 7: b'city=Ulm'}
    """
    if "names.slots" not in arrays:
        return {}
    slots, ends, text = (arrays[f"names.{part}"] for part in ("slots", "ends", "text"))
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    sound = (
        slots.dtype == ends.dtype == np.int64
        and text.dtype == np.uint8
        and slots.ndim == text.ndim == 1
        and slots.shape == ends.shape
        and bool(np.all(np.diff(slots) > 0) and np.all(ends >= begins))
        and (not len(slots) or slots[0] >= 0)
        and (int(ends[-1]) if len(ends) else 0) == len(text)
    )
    if not sound:
        raise ValueError("its names of features do not fit each other")
    whole = text.tobytes()
    pieces = zip(slots.tolist(), begins.tolist(), ends.tolist(), strict=True)
    return {slot: whole[begin:end] for slot, begin, end in pieces}

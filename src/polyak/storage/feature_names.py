"""Names of features by their index, as three arrays, since there may be very many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import hash_name

PREFIX = "names."
MOST_NAMES = 100_000
"""Default number of hashed features whose names a model keeps."""
DEFAULT_BITS = 18
"""Hashed features share 2^18 buckets, unless more or fewer are asked for or outputs are many."""


def names_to_see(most: int) -> int:
    """Return how many names to collect if a model is to keep ``most``: at least 2^18, if any.

    Examples
    --------
    >>> names_to_see(100), names_to_see(0)
    (262144, 0)
    """
    return max(4 * most, 1 << 18) if most else 0


class FeatureNames(Mapping[int, str]):
    """Names by the index of their feature, which are made words of when they are asked for.

    Attributes
    ----------
    indices : int64 array
        The features that have a name, in order.
    ends : int64 array
        Where each name ends in the text.
    text : uint8 array

    Examples
    --------
    >>> names = FeatureNames.of({7: "city=Ulm", 3: "x"})
    >>> names[7], list(names), names == {3: "x", 7: "city=Ulm"}
    ('city=Ulm', [3, 7], True)
    """

    __slots__ = ("ends", "indices", "text")

    def __init__(
        self, indices: NDArray[np.int64], ends: NDArray[np.int64], text: NDArray[np.uint8]
    ) -> None:
        self.indices, self.ends, self.text = indices, ends, text

    @classmethod
    def of(cls, names: Mapping[int, str] | Mapping[int, bytes]) -> FeatureNames:
        """Return names given as any mapping."""
        if isinstance(names, FeatureNames):
            return names
        indices = sorted(names)
        parts = [names[index] for index in indices]
        raw = [part.encode() if isinstance(part, str) else part for part in parts]
        return cls(
            np.array(indices, dtype=np.int64),
            np.cumsum([len(part) for part in raw], dtype=np.int64),
            np.frombuffer(b"".join(raw), dtype=np.uint8),
        )

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> FeatureNames:
        """Undo `arrays`; no names where there are no such arrays.

        Examples
        --------
        >>> FeatureNames.from_arrays(FeatureNames.of({3: ""}).arrays()) == {3: ""}
        True
        """
        if f"{PREFIX}slots" not in arrays:
            return cls.of({})
        slots, ends, text = (arrays[PREFIX + part] for part in ("slots", "ends", "text"))
        begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        valid = (
            slots.dtype == ends.dtype == np.int64
            and text.dtype == np.uint8
            and slots.ndim == text.ndim == 1
            and slots.shape == ends.shape
            and bool(np.all(np.diff(slots) > 0) and np.all(ends >= begins))
            and (not len(slots) or slots[0] >= 0)
            and (int(ends[-1]) if len(ends) else 0) == len(text)
        )
        if not valid:
            raise ValueError("its names of features do not fit each other")
        return cls(slots, ends, text)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a file; none if there are no names."""
        if not len(self):
            return {}
        return {
            f"{PREFIX}slots": self.indices,
            f"{PREFIX}ends": self.ends,
            f"{PREFIX}text": self.text,
        }

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __getitem__(self, index: int) -> str:
        place = int(np.searchsorted(self.indices, index))
        if place == len(self.indices) or self.indices[place] != index:
            raise KeyError(index)
        begin = int(self.ends[place - 1]) if place else 0
        return self.text[begin : int(self.ends[place])].tobytes().decode(errors="replace")

    def __repr__(self) -> str:
        return f"<{len(self)} names>"

    def shifted(self, by: int) -> FeatureNames:
        """Return the same names for features ``by`` places further on."""
        return FeatureNames(self.indices + by, self.ends, self.text)

    def below(self, begin: int, slots: int, most: int) -> FeatureNames:
        """Halve the range of slots whose names are kept until at most ``most`` names are left.

        That is what the core does while it collects them.
        """
        while (end := int(np.searchsorted(self.indices, begin + slots))) > most:
            slots //= 2
        return self.take(np.arange(end))

    def take(self, places: NDArray[np.int64]) -> FeatureNames:
        """Keep those at some places, which are in order."""
        if len(places) == len(self):
            return self
        lengths = np.diff(self.ends, prepend=0)[places]
        ends = np.cumsum(lengths)
        apart = (self.ends[places] - ends).repeat(lengths)
        return FeatureNames(self.indices[places], ends, self.text[np.arange(len(apart)) + apart])

    def together(self, others: FeatureNames) -> FeatureNames:
        """Join names; of two of one feature the smaller hash stays, whichever came first.

        Examples
        --------
        >>> names = FeatureNames.of({1: "a=y", 2: "b"}), FeatureNames.of({1: "a=x"})
        >>> names[0].together(names[1]) == names[1].together(names[0]) == {1: "a=y", 2: "b"}
        True
        """
        if not len(self) or not len(others):
            return self if len(self) else others
        joined, more = self._raw(), others._raw()
        for index, name in more.items():
            known = joined.get(index, name)
            joined[index] = name if name is known else min(known, name, key=_rank)
        return FeatureNames.of(joined)

    def _raw(self) -> dict[int, bytes]:
        whole, begins = self.text.tobytes(), [0, *self.ends.tolist()]
        each = zip(self.indices.tolist(), begins, begins[1:], strict=False)
        return {index: whole[begin:end] for index, begin, end in each}


def _rank(name: bytes) -> int:
    """Order names as the core does, by the upper half of their hash."""
    return hash_name(name) >> 32

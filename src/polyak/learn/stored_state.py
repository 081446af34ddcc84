"""Reading stored state back: each object takes its own fields and validates them.

A checkpoint has a checksum, so a damaged file never gets here. What does get here may still have
been written by another program, and an array of the wrong shape must not reach the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Page = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64")


class StoredState:
    """A JSON-serialisable dict and a dict of arrays, read field by field.

    Parameters
    ----------
    page : dict
    arrays : dict
    path : str
        What the names of fields begin with in an error message.

    Examples
    --------
    >>> stored = StoredState({"rows": 3}, {"lane.sums": np.zeros(2)})
    >>> stored.whole("rows"), stored.part("lane").array("sums", (2,))
    (3, array([0., 0.]))
    >>> stored.part("lane").array("sums", (5,))
    Traceback (most recent call last):
    ValueError: corrupt checkpoint: lane.sums has the shape (2,), expected (5,)
    """

    def __init__(self, page: Page, arrays: Arrays, path: str = "") -> None:
        self.page, self.arrays, self.path = page, arrays, path

    def part(self, name: str, page: Page | None = None) -> StoredState:
        """Return the arrays whose names begin with ``name``, and a page of their own."""
        prefix = f"{name}."
        own = {
            key.removeprefix(prefix): array
            for key, array in self.arrays.items()
            if key.startswith(prefix)
        }
        return StoredState({} if page is None else page, own, f"{self.path}{prefix}")

    def corrupt(self, name: str, what: str) -> ValueError:
        """Return the error for a field."""
        return ValueError(f"corrupt checkpoint: {self.path}{name} {what}")

    def require(self, holds: bool, name: str, what: str) -> None:
        """Raise ValueError about a field unless a condition holds."""
        if not holds:
            raise self.corrupt(name, what)

    def field(self, name: str) -> Any:
        """Return a field of the page, which must be there."""
        self.require(name in self.page, name, "is missing")
        return self.page[name]

    def whole(self, name: str, least: int = 0, most: int | None = None) -> int:
        """Return an integer between two limits."""
        value = self.field(name)
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
        self.require(fits and (most is None or value <= most), name, f"cannot be {value!r}")
        return int(value)

    def number(self, name: str, least: float = 0.0) -> float:
        """Return a finite number of at least ``least``."""
        value = self.field(name)
        fits = isinstance(value, int | float) and np.isfinite(value) and value >= least
        self.require(bool(fits), name, f"cannot be {value!r}")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.field(name)
        self.require(isinstance(value, bool), name, f"cannot be {value!r}")
        return bool(value)

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        types: str | tuple[str, ...] = "float64",
        *,
        least: float | None = None,
    ) -> NDArray[Any]:
        """Return a copy of an array of this shape, where None is any length, and of these types.

        With ``least``, its values must be finite and at least that.
        """
        self.require(name in self.arrays, name, "is missing")
        array = self.arrays[name]
        types = (types,) if isinstance(types, str) else types
        fits = array.ndim == len(shape) and all(
            wanted in (None, length) for length, wanted in zip(array.shape, shape, strict=True)
        )
        expected = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        expected = str(shape) if None not in shape else expected
        self.require(fits, name, f"has the shape {array.shape}, expected {expected}")
        found = array.dtype.name
        self.require(found in types, name, f"is of type {found}, expected {' or '.join(types)}")
        if least is not None:
            sound = bool(np.isfinite(array).all() and (array >= least).all())
            self.require(sound, name, f"must be finite and at least {least:g}")
        return array.copy()

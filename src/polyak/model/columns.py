"""The columns that features come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError

if TYPE_CHECKING:
    from polyak.model.schema import Schema


@dataclass(eq=False)
class SourceColumns:
    """The columns of a table or of an array, and their features.

    Attributes
    ----------
    names : list of str
    owners : tuple of int
        The column of each plain feature; hashed features follow.
    numbers : dict
        The columns whose values are numbers: from the column to its features, those of the value
        and of the indicator of a missing one, if there is such.
    units : dict
        Of the same columns, offset and scale: a value x is the feature (x - offset) / scale.
    n_features : int
        The number of features of the source.
    lookup : function or None
        Returns the names of hashed features seen so far, such as ``city=Ulm``. It is not stored:
        whoever reads the source sets it.

    Examples
    --------
    >>> SourceColumns.of_array(2).column_numbers(np.array([1, 0, 5]))
    array([1, 0, 2])
    """

    names: tuple[str, ...]
    owners: tuple[int, ...]
    numbers: dict[int, tuple[int, ...]]
    units: dict[int, tuple[float, float]]
    n_features: int

    def __post_init__(self) -> None:
        self.lookup: Callable[[], Mapping[int, str]] | None = None

    @classmethod
    def of_schema(
        cls, schema: Schema, lookup: Callable[[], Mapping[int, str]] | None = None
    ) -> SourceColumns:
        """Return the columns of a table."""
        from polyak.model.schema import HASHED, PLAIN  # only where there are tables

        owners = [k for k, one in enumerate(schema.columns) for _ in PLAIN[one.kind]]
        numbers: dict[int, tuple[int, ...]] = {}
        units: dict[int, tuple[float, float]] = {}
        for k, first in enumerate(schema.first_features()):
            column = schema.columns[k]
            if column.kind not in HASHED:
                numbers[k], units[k] = (first, first + 1), (column.offset, column.scale)
        names = tuple(one.name for one in schema.columns)
        found = cls(names, tuple(owners), numbers, units, schema.n_features)
        found.lookup = lookup
        return found

    @classmethod
    def of(
        cls,
        schema: Schema | None,
        lookup: Callable[[], Mapping[int, str]] | None,
        width: int | None,
        names: Sequence[str] | None = None,
    ) -> SourceColumns | None:
        """Return the columns of a table, or of an array of ``width`` columns; None without any."""
        if schema is not None:
            return cls.of_schema(schema, lookup)
        return None if width is None else cls.of_array(width, names)

    @classmethod
    def of_array(cls, width: int, names: Sequence[str] | None = None) -> SourceColumns:
        """Return the columns of an array, each of which is a feature."""
        named = tuple(f"x{k}" for k in range(width)) if names is None else tuple(names)
        numbers: dict[int, tuple[int, ...]] = {k: (k,) for k in range(width)}
        units = dict.fromkeys(numbers, (0.0, 1.0))
        return cls(named, tuple(range(width)), numbers, units, width)

    def __deepcopy__(self, memo: dict[int, Any]) -> SourceColumns:
        # Only the lookup of the copy may be set anew.
        other = SourceColumns.__new__(SourceColumns)
        memo[id(self)] = other
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"lookup": None}

    def numbers_named(self, asked: str | Sequence[str]) -> list[int]:
        """Return columns of numbers: "all" of them, or some by name."""
        if asked == "all":
            return list(self.numbers)
        found = [self.place(name) for name in asked]
        for column in found:
            if column not in self.numbers:
                raise DataError(f"the column {self.names[column]} is of words, not of numbers")
        return found

    def signed_features(self, signs: Mapping[str, int]) -> dict[int, int]:
        """Return the features of columns of numbers, by name, with the sign of each."""
        columns = self.numbers_named(tuple(signs))
        return {self.numbers[k][0]: sign for k, sign in zip(columns, signs.values(), strict=True)}

    def place(self, name: str) -> int:
        """Return the place of a column; raise `DataError` if there is no such column."""
        if name not in self.names:
            raise DataError(f"there is no column {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def column_numbers(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the column of each feature; the number of columns where it is unknown."""
        features = np.asarray(features, dtype=np.int64)
        plain = features < len(self.owners)
        found = np.full(len(features), len(self.names))
        found[plain] = np.array(self.owners, dtype=np.int64)[features[plain]]
        if not plain.all() and self.lookup is not None:
            names = self.lookup()
            for place in np.flatnonzero(~plain).tolist():
                found[place] = self.owner(names.get(int(features[place]), ""))
        return found

    def owner(self, feature: str) -> int:
        """Return the column of a hashed feature by its name; their number if it is unknown.

        Examples
        --------
        >>> SourceColumns(("a", "a=b"), (), {}, {}, 9).owner("a=b=c")
        1
        """
        fits = [k for k, name in enumerate(self.names) if feature.startswith(f"{name}=")]
        return max(fits, key=lambda k: len(self.names[k]), default=len(self.names))

    def is_missing(self, features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each feature is the indicator of a missing number."""
        missing = [own[1] for own in self.numbers.values() if len(own) > 1]
        return np.isin(features, missing)

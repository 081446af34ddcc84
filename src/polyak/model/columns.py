"""The columns that features come from, as far as terms need to know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.model.schema import PLAIN, Schema


@dataclass(eq=False)
class Columns:
    """The columns of a table or of an array.

    Attributes
    ----------
    names : list of str
    owners : list of int
        The column of each plain feature; hashed features follow.
    numbers : dict
        The columns whose values are numbers: from the column to its features, those of the value
        and of the indicator of a missing one, if there is such.
    n_features : int
        The number of features of the source.
    lookup : function, optional
        Returns the names of hashed features seen so far, such as ``city=Ulm``; it is not stored.

    Examples
    --------
    >>> Columns.of_array(2).term_numbers(np.array([1, 0]))
    array([1, 0])
    """

    names: list[str]
    owners: list[int]
    numbers: dict[int, tuple[int, ...]]
    n_features: int
    lookup: Callable[[], Mapping[int, str]] | None = field(default=None, repr=False)

    @classmethod
    def of_schema(cls, schema: Schema) -> Columns:
        """Return the columns of a table."""
        owners = [k for k, one in enumerate(schema.columns) for _ in PLAIN[one.kind]]
        numbers = {
            k: (first, first + 1)
            for k, (one, first) in enumerate(
                zip(schema.columns, schema.first_features(), strict=True)
            )
            if one.kind in ("number", "boolean", "date", "time", "clock")
        }
        return cls([one.name for one in schema.columns], owners, numbers, schema.n_features)

    @classmethod
    def of_array(cls, width: int, names: Sequence[str] | None = None) -> Columns:
        """Return the columns of an array, each of which is a feature."""
        named = [f"x{k}" for k in range(width)] if names is None else list(names)
        return cls(named, list(range(width)), {k: (k,) for k in range(width)}, width)

    def __deepcopy__(self, memo: dict[int, Any]) -> Columns:
        return self  # it does not change, but for what it looks names up in

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"lookup": None}

    @property
    def term_count(self) -> int:
        """One more than the largest of `term_numbers`."""
        return 2 * len(self.names) + 1

    def curves(self, asked: str | Sequence[str]) -> list[int]:
        """Return the columns that curves are asked for: "all" that are numbers, or some by name."""
        if asked == "all":
            return list(self.numbers)
        unknown = [name for name in asked if name not in self.names]
        if unknown:
            raise DataError(f"there is no column {unknown[0]!r} to fit a curve of")
        found = [self.names.index(name) for name in asked]
        words = [column for column in found if column not in self.numbers]
        if words:
            raise DataError(f"the column {self.names[words[0]]} is not of numbers: it has no curve")
        return found

    def term_numbers(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the column of each feature of the source; one more than all where it is unknown.

        Indicators of missing values are terms of their own, after the columns.
        """
        features = np.asarray(features, dtype=np.int64)
        plain = features < len(self.owners)
        found = np.full(len(features), 2 * len(self.names))
        owners = np.array(self.owners, dtype=np.int64)
        found[plain] = owners[features[plain]]
        missing = [own[1] for own in self.numbers.values() if len(own) > 1]
        found[np.isin(features, missing)] += len(self.names)
        if not plain.all() and self.lookup is not None:
            names, places = self.lookup(), {name: k for k, name in enumerate(self.names)}
            for place in np.flatnonzero(~plain).tolist():
                column = names.get(int(features[place]), "").partition("=")[0]
                found[place] = places.get(column, 2 * len(self.names))
        return found

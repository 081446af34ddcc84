"""The schema: the kind of each column of a table, and the features it becomes.

A model learned from a table keeps its schema in the `FeatureMap`, so that later tables are encoded
in the same way. Plain features come first, each with an index of its own: numbers, booleans, dates
and times, and for every column an indicator of missing values. The 2^bits buckets of hashed
features follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.losses import Loss
from polyak.model.dialect import WRITTEN, Dialect
from polyak.storage.feature_names import DEFAULT_BITS
from polyak.storage.records import many, real, whole, word

MOST_CLASSES = 100
"""Numbers of more different values than that are no classes."""
MOST_WEIGHTS, FEWEST_BUCKETS = 1 << 23, 1 << 10
"""Outputs times hash buckets, 64 MiB of weights for each candidate; and the least of buckets.

On 3,000 rows of two numbers and one of 300 words, 100 classes then take 0.6 GB instead of 1.9, and
1,000 classes 0.8 instead of 7.5; test losses are 0.1% and 0.4% higher."""
DAYS_A_YEAR = 365.25
"""Dates and times are scaled to years, so that their weights are of usual size."""

PLAIN: dict[str, tuple[str, ...]] = {
    "number": ("{}", "{} is missing"),
    "boolean": ("{}", "{} is missing"),
    "clock": ("{}", "{} is missing", "{} hour sin", "{} hour cos"),
    "date": ("{}", "{} is missing", "{} weekday sin", "{} weekday cos"),
    "time": (
        "{}",
        "{} is missing",
        "{} weekday sin",
        "{} weekday cos",
        "{} hour sin",
        "{} hour cos",
    ),
    "category": ("{} is missing",),
    "text": ("{} is missing",),
    "bag": ("{} is missing",),
}
"""The kinds of columns, and the plain features that each becomes."""

HASHED = ("category", "text", "bag")
"""The kinds whose values are hashed."""

# The stored types that can be read as a column of each kind.
_FITS: dict[str, tuple[str, ...]] = {
    "number": ("number", "boolean"),
    "boolean": ("boolean", "number"),
    "clock": ("clock",),
    "date": ("date", "string"),
    "time": ("time", "string"),
    "text": ("string",),
    "bag": ("strings",),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that becomes features.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category", "text", "bag", "date", "time", "clock"}
    stored : {"number", "boolean", "string", "strings", "date", "time", "clock"}
        Its type in the table learned from.
    offset, scale : float
        A value x becomes (x - offset) / scale, where dates and times are days since 1970 and
        clock times are days since midnight. Booleans and hashed values are not scaled.
    spread : float, optional
        The standard deviation of the values in the first rows, if they are numbers; the scale can
        be larger.
    """

    name: str
    kind: Annotated[str, word(*PLAIN)]
    stored: Annotated[str, word("number", "boolean", "string", "strings", "date", "time", "clock")]
    offset: float = 0.0
    scale: float = 1.0
    spread: Annotated[float, real(0)] | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether it had no value in the rows that the schema was inferred from."""
        return (self.offset, self.scale, self.spread) == (0.0, 1.0, 0.0)

    def feature_names(self) -> list[str]:
        """Return the names of its plain features."""
        return [pattern.format(self.name) for pattern in PLAIN[self.kind]]

    def fits(self, stored: str) -> bool:
        """Whether values of this stored type can be read as this column."""
        if self.kind == "category":
            return stored == self.stored or stored == "string"
        return stored in _FITS[self.kind]


@dataclass(frozen=True, slots=True)
class Target:
    """The column to predict.

    Attributes
    ----------
    name : str
    kind : {"number", "class"}
        Numbers, or words that name classes.
    positive, negative : str, optional
        If one value was chosen as the positive class: that value, and the name of all others.
    values : int
        The number of distinct values in the first rows; numbers that are classes have few.
    """

    name: str
    kind: Annotated[str, word("number", "class")]
    positive: str | None = None
    negative: str | None = None
    values: int = 0


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table and how they become features.

    Attributes
    ----------
    columns : tuple of Column
        The columns that become features, in the order of their features.
    target : Target, optional
    weight : str, optional
        The column of the rows' weights.
    exposure : str, optional
        The column that the target is divided by, and the weight multiplied.
    offset : str, optional
        The column that is added to the score: a feature whose weight is one.
    bits : int
        Hashed features share 2^bits buckets.
    ngrams : int
        Text is hashed as n-grams of up to this number of words.
    interactions : tuple of tuples of str
        Columns that are crossed.
    written : dict of str to str
        The formats of text columns whose numbers, dates or booleans are not in standard notation,
        such as ``"1.234,5"`` or ``"d/m/y"``.
    dialect : Dialect
        The options given for the text of the table.
    lists : dict of str to int
        Columns of lists of numbers, with their lengths; each element became a column.

    Examples
    --------
    >>> schema = Schema((Column("age", "number", "number"), Column("city", "category", "string")))
    >>> schema.feature_names
    ['age', 'age is missing', 'city is missing']
    >>> schema.hashed_begin, schema.n_features
    (3, 262147)
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    weight: str | None = None
    exposure: str | None = None
    offset: str | None = None
    bits: Annotated[int, whole(1, 30)] = DEFAULT_BITS
    ngrams: Annotated[int, whole(1, 8)] = 1
    interactions: tuple[Annotated[tuple[str, ...], many(word(), least=2)], ...] = ()
    written: dict[str, Annotated[str, word(*WRITTEN)]] = field(default_factory=dict)
    dialect: Dialect = field(default_factory=Dialect)
    lists: dict[str, Annotated[int, whole()]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = {column.name: column.kind for column in self.columns}
        if len(kinds) < len(self.columns):
            raise ValueError("its schema has two columns of the same name")
        if any(column.scale == 0 for column in self.columns):
            raise ValueError("its schema has a column of scale zero")
        if self.offset is not None and kinds.get(self.offset) != "number":
            raise ValueError(f"its schema has no column of numbers {self.offset}, its offset")
        for crossed in self.interactions:
            if any(kinds.get(name, "text") in ("text", "bag") for name in crossed):
                raise ValueError(f"its schema crosses {':'.join(crossed)}, which cannot be crossed")

    def classes_for(self, loss: Loss, *, named: bool = False) -> NDArray[Any] | None:
        """Return the classes of the target, if the schema does and they are not ``named`` yet.

        Raises
        ------
        DataError
            If there is no target, or none that the loss can learn.
        """
        target = self.target
        if target is None:
            raise DataError("which column is to be learned? name it with target=")
        if not loss.classifies and (target.kind == "class" or target.positive is not None):
            raise DataError(
                f"the target column {target.name} names classes, but {loss.name} is a loss for "
                "numbers; choose another, such as log_loss"
            )
        numbers = target.kind == "number" and target.positive is None
        if loss.classifies and numbers and target.values > MOST_CLASSES and not named:
            raise DataError(
                f"the target column {target.name} has {target.values} different numbers in the "
                "first rows, too many for classes; to predict numbers, choose the loss "
                "squared_error"
            )
        if loss.classifies and target.positive is not None:
            return np.array([target.negative, target.positive])
        return None

    @property
    def is_as_written(self) -> bool:
        """Whether all columns are numbers, neither shifted nor scaled."""
        return self.is_of_numbers and all((c.offset, c.scale) == (0.0, 1.0) for c in self.columns)

    @property
    def is_of_numbers(self) -> bool:
        """Whether all columns are numbers or booleans, and none are crossed."""
        plain = all(column.kind in ("number", "boolean") for column in self.columns)
        return plain and not self.interactions

    @property
    def feature_names(self) -> list[str]:
        """The names of the plain features, in order."""
        return [name for column in self.columns for name in column.feature_names()]

    @property
    def hashed_begin(self) -> int:
        """The index of the first hashed feature, which is the number of plain features."""
        return sum(len(PLAIN[column.kind]) for column in self.columns)

    @property
    def is_hashed(self) -> bool:
        """Whether any feature is hashed."""
        return bool(self.interactions) or any(column.kind in HASHED for column in self.columns)

    @property
    def n_features(self) -> int:
        """The number of features, hash buckets included."""
        return self.hashed_begin + ((1 << self.bits) if self.is_hashed else 0)

    def with_room_for(self, outputs: int) -> Schema:
        """Return the schema with fewer buckets where outputs are so many that weights fill memory.

        Examples
        --------
        >>> schema = Schema((Column("city", "category", "string"),))
        >>> [schema.with_room_for(outputs).bits for outputs in (32, 33, 1000)]
        [18, 17, 13]
        """
        bits = max(MOST_WEIGHTS // max(outputs, 1), FEWEST_BUCKETS).bit_length() - 1
        return replace(self, bits=bits) if self.is_hashed and bits < self.bits else self

    def first_features(self) -> list[int]:
        """Return the index of each column's first plain feature."""
        sizes = (len(PLAIN[column.kind]) for column in self.columns)
        return list(accumulate(sizes, initial=0))[:-1]

    @property
    def offset_feature(self) -> int | None:
        """The index of the feature that is added to the score, if there is one."""
        if self.offset is None:
            return None
        names = [column.name for column in self.columns]
        return self.first_features()[names.index(self.offset)]

    def units(self) -> NDArray[np.float64]:
        """Return the divisors that convert plain features' weights to units of their columns."""
        units = np.ones(self.hashed_begin)
        for column, first in zip(self.columns, self.first_features(), strict=True):
            if column.kind not in HASHED:
                units[first] = column.scale
        return units

    def spreads(self) -> NDArray[np.float64]:
        """Return the standard deviation of each plain feature, 1 where it is unknown."""
        spreads = np.ones(self.hashed_begin)
        for column, first in zip(self.columns, self.first_features(), strict=True):
            if column.spread is not None:
                spreads[first] = column.spread / column.scale
        return spreads

    def zero(self) -> dict[int, float]:
        """Return the plain features of a row of zeros in the columns' units."""
        numbers = zip(self.columns, self.first_features(), strict=True)
        return {first: -column.offset / column.scale for column, first in numbers if column.offset}

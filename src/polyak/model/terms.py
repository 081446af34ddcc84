"""Terms: curves of a column, and surfaces of two, as further features of a row.

A curve is piecewise linear between knots and constant beyond the outermost, so that no prediction
explodes outside the data. A row's position between two knots is expressed in a *basis* whose
functions are centred and ordered from smooth to rough, see `polyak.learn.terms.basis`. The term of
a pair of columns has the products of the first functions of each. All are features after those of
the source, so a model of terms is a linear model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.rows.sparse import Rows, SparseRows, core_rows
from polyak.storage.records import many, real, whole

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1024
"""Rows are expanded in parts of this many, so that little memory is taken beside the result."""

Numbers = tuple[Annotated[float, real()], ...]


@dataclass(frozen=True)
class Axis:
    """Where a row stands in a column: between two knots, or at one of several levels.

    Attributes
    ----------
    column : str
    features : tuple of int
        Of a number its feature and, if there is one, the indicator of a missing value; else the
        feature of each level.
    knots : tuple of float
        Increasing, in the units of the feature; empty where the features are levels.
    basis : tuple of tuples of float
        The value of each basis function, a column, at each knot or level.
    """

    column: str
    features: Annotated[tuple[Annotated[int, whole()], ...], many(whole(), least=1)]
    knots: Numbers
    basis: tuple[Numbers, ...]

    def __post_init__(self) -> None:
        places = len(self.knots) or len(self.features)
        widths = {len(row) for row in self.basis}
        if len(self.basis) != places or len(widths) != 1 or not self.size:
            raise ValueError(f"the basis of {self.column} does not fit its knots or levels")
        if any(b <= a for a, b in zip(self.knots, self.knots[1:], strict=False)):
            raise ValueError(f"the knots of {self.column} do not increase")

    @cached_property
    def values(self) -> Floats:
        """The basis as an array of shape (knots or levels, functions)."""
        return np.array(self.basis)

    @property
    def size(self) -> int:
        """The number of basis functions."""
        return len(self.basis[0])

    def begins(self, other: Axis) -> bool:
        """Whether the functions of another axis begin with these."""
        same = (self.features, self.knots) == (other.features, other.knots)
        return same and np.array_equal(self.values, other.values[:, : self.size])

    def first(self, functions: int) -> Axis:
        """Return the axis with only its first, smoothest functions."""
        return replace(self, basis=tuple(row[:functions] for row in self.basis))

    def at(self, x: Floats) -> Floats:
        """Return the basis functions at values of the column, in the units of the feature."""
        knots, values = np.array(self.knots), self.values
        if len(knots) == 1:
            return np.repeat(values, len(x), axis=0)
        x = np.clip(x, knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        share = ((x - knots[left]) / (knots[left + 1] - knots[left]))[:, None]
        # Row by row, so that the bits do not depend on which rows come together. Where a function
        # is constant between knots it is so to the last bit: else its spread would be rounding.
        functions = np.diff(values, axis=0)[left]
        functions *= share
        functions += values[left]
        return functions

    def of(self, found: Floats) -> Floats:
        """Return the basis functions of rows, of which ``found`` has this axis's features.

        They are zero where the value is missing or the level is new.
        """
        if not self.knots:
            level = found.argmax(axis=1)
            there = found[np.arange(len(found)), level] > 0
            return np.where(there[:, None], self.values[level], 0.0)
        functions = self.at(found[:, 0])
        if len(self.features) > 1:
            functions[found[:, 1] != 0] = 0.0
        return functions


@dataclass(frozen=True)
class Term:
    """A curve, or the products of two axes' basis functions."""

    axes: Annotated[tuple[Axis, ...], many(lambda value, name: None, least=1)]

    @property
    def name(self) -> str:
        """The names of its columns."""
        return " × ".join(axis.column for axis in self.axes)

    @property
    def kind(self) -> str:
        """Either "curve" or "pair"."""
        return "curve" if len(self.axes) == 1 else "pair"

    @property
    def size(self) -> int:
        """The number of features it becomes."""
        return int(np.prod([axis.size for axis in self.axes]))

    @property
    def features(self) -> tuple[int, ...]:
        """The features of the source that it is made of."""
        return tuple(feature for axis in self.axes for feature in axis.features)

    def of(self, functions: Sequence[Floats]) -> Floats:
        """Return the features of rows that it becomes, from the functions of each axis."""
        if len(functions) == 1:
            return functions[0]
        first, second = functions
        return np.asarray((first[:, :, None] * second[:, None, :]).reshape(len(first), self.size))


@dataclass(frozen=True)
class Terms:
    """The terms of a model, and the features they become.

    Attributes
    ----------
    begin : int
        The number of features of the source; those of the terms follow.
    terms : tuple of Term
    replaced : tuple of int
        Features of the source that are left out, since a curve has taken their place.

    Examples
    --------
    >>> hats = ((1.0, 0.0), (0.0, 1.0))
    >>> terms = Terms(1, (Term((Axis("x", (0,), (0.0, 10.0), hats),)),), replaced=(0,))
    >>> terms.expand(np.array([[2.5], [99.0]])).values.reshape(2, 2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    begin: Annotated[int, whole()]
    terms: tuple[Term, ...]
    replaced: tuple[Annotated[int, whole()], ...] = ()

    @property
    def size(self) -> int:
        """The number of features that the terms become."""
        return sum(term.size for term in self.terms)

    @property
    def n_features(self) -> int:
        """The number of features with those of the source."""
        return self.begin + self.size

    def curves_only(self) -> Terms:
        """Return the same without pairs."""
        return replace(self, terms=tuple(term for term in self.terms if term.kind == "curve"))

    def numbers(self, features: NDArray[Any]) -> NDArray[np.intp]:
        """Return the place among the terms of each feature that is of a term."""
        ends = np.cumsum([term.size for term in self.terms])
        return np.searchsorted(ends, features - self.begin, side="right")

    def features_of(self, place: int) -> NDArray[np.int64]:
        """Return the features of a term."""
        first = self.begin + sum(term.size for term in self.terms[:place])
        return np.arange(first, first + self.terms[place].size)

    def parts(self, rows: Rows) -> Iterator[SparseRows]:
        """Yield rows expanded, some at a time."""
        for begin in range(0, max(len(rows), 1), ROWS_AT_A_TIME):
            yield self.expand(rows[begin : begin + ROWS_AT_A_TIME])

    def expand(self, rows: Rows) -> SparseRows:
        """Return rows with the features of the terms, of 64 bits: far more than there were."""
        count, size = len(rows), self.size
        row, features, values = _entries(rows)
        keep = (values != 0) & (features < self.begin)  # others are new, and no terms
        for feature in self.replaced:
            keep &= features != feature
        row, features, values = row[keep], features[keep], values[keep]
        kept = np.bincount(row, minlength=count)
        indptr = np.concatenate([[0], np.cumsum(kept + size)]).astype(np.int64)
        # What is kept of a row comes first, then the terms.
        place = np.arange(len(row)) + size * row
        of_terms = np.ones(indptr[-1], dtype=bool)
        of_terms[place] = False
        indices, entries = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        indices[place], entries[place] = features, values
        indices[of_terms] = np.tile(np.arange(self.begin, self.n_features, dtype=np.int32), count)
        entries[of_terms] = self._values(rows).ravel()
        return SparseRows(indptr, indices, entries, self.n_features)

    @cached_property
    def _longest(self) -> tuple[list[Axis], list[list[int]]]:
        """The axes that begin no other, and the place of the one that each term's axes begin."""
        longest: list[Axis] = []
        for axis in sorted((a for term in self.terms for a in term.axes), key=lambda a: -a.size):
            if not any(map(axis.begins, longest)):
                longest.append(axis)
        places = [
            [next(k for k, one in enumerate(longest) if axis.begins(one)) for axis in term.axes]
            for term in self.terms
        ]
        return longest, places

    def _values(self, rows: Rows) -> Floats:
        """Return the features of all terms."""
        longest, places = self._longest
        source = columns_of(rows, [feature for axis in longest for feature in axis.features])
        ends = np.cumsum([len(axis.features) for axis in longest])
        parts = np.split(source, ends, axis=1)[:-1]  # none where there are no terms
        functions = [axis.of(own) for axis, own in zip(longest, parts, strict=True)]
        found, done = np.empty((len(rows), self.size)), 0
        for term, own in zip(self.terms, places, strict=True):
            both = [functions[k][:, : axis.size] for k, axis in zip(own, term.axes, strict=True)]
            found[:, done : done + term.size] = term.of(both)
            done += term.size
        return found


@dataclass(frozen=True)
class ExpandedRows:
    """Rows that are expanded in terms when some of them are asked for."""

    terms: Terms
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> SparseRows:
        return self.terms.expand(self.rows[part])


def columns_of(rows: Rows, features: Sequence[int]) -> Floats:
    """Return some features of rows as a dense array, in this order; some may be there twice."""
    different, places = np.unique(np.array(features, dtype=np.int64), return_inverse=True)
    found, zero = np.empty((len(rows), len(different))), np.zeros(len(different))
    _core.fill_standard(core_rows(rows), None, different, zero, zero + 1.0, found, 1)
    return found[:, places]


def _entries(rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the row, the feature and the value of each entry."""
    if isinstance(rows, SparseRows):
        return (rows.entry_rows(), *rows.entries())
    count, width = rows.shape
    return np.repeat(np.arange(count), width), np.tile(np.arange(width), count), rows.ravel()

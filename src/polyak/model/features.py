"""The feature map: how a source becomes rows, which is all that prediction asks of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows
from polyak.rows.sparse import SparseRows, join_rows
from polyak.storage.feature_names import FeatureNames, names_to_see
from polyak.storage.shapes import many, whole, word

if TYPE_CHECKING:
    from polyak.model.schema import Schema


class Hashing(NamedTuple):
    """How names become features: hashed into 2^bits slots, some namespaces crossed or left out."""

    bits: int
    interactions: tuple[tuple[str, ...], ...] = ()
    drop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """How a source becomes rows: by numbers, by hashing names, or by what a table's columns mean.

    Made by one of `numbered`, `hashed` and `table`; a map of nothing but defaults is that of an
    array, whose columns are the features.

    Attributes
    ----------
    first_id : {0, 1} or None
        Where the ids of numbered features begin, if the source showed it.
    bits : int or None
        The names of features are hashed into 2^bits slots.
    interactions, drop : tuples
        Namespaces whose hashed features are crossed, and those left out.
    kept_only : bool or None
        True where other programs are to be given only the features that weigh anything.
    schema : Schema or None
        What the columns of a table mean.
    names : mapping of int to str
        What features are called, by their index, as far as it is known; those that a schema names
        are not among them.

    Examples
    --------
    >>> FeatureMap.hashed(18, {7: "city=Rome"}).all_names()
    {7: 'city=Rome'}
    >>> FeatureMap.numbered(1).number(5)
    6
    """

    first_id: Annotated[int, whole(0, 1)] | None = None
    bits: Annotated[int, whole(1, 30)] | None = None
    schema: Schema | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    interactions: tuple[Annotated[tuple[str, ...], many(word(), least=2)], ...] = ()
    drop: tuple[str, ...] = ()
    kept_only: bool | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.first_id, self.bits, self.schema)) > 1:
            raise ValueError("its features are numbered, hashed or of a table, not several of them")

    @staticmethod
    def types() -> dict[str, Any]:
        """Give what the types of the fields name: a run without tables does not import it."""
        from polyak.model.schema import Schema

        return {"Schema": Schema}

    @classmethod
    def numbered(cls, first_id: int | None, names: Mapping[int, str] | None = None) -> FeatureMap:
        """Features are ids, which begin at 0 or 1, or the columns of an array."""
        return cls(first_id=first_id, names=names or {})

    @classmethod
    def hashed(
        cls,
        bits: int,
        names: Mapping[int, str] | None = None,
        interactions: tuple[tuple[str, ...], ...] = (),
        drop: tuple[str, ...] = (),
    ) -> FeatureMap:
        """Features are names, hashed into 2^bits slots."""
        return cls(bits=bits, names=names or {}, interactions=interactions, drop=drop)

    @classmethod
    def table(cls, schema: Schema, names: Mapping[int, str] | None = None) -> FeatureMap:
        """Features are made of a table's columns."""
        return cls(schema=schema, names=names or {})

    @classmethod
    def of(
        cls,
        schema: Schema | None = None,
        hashing: Hashing | None = None,
        first_id: int | None = None,
        names: Mapping[int, str] | None = None,
    ) -> FeatureMap:
        """Make the map of what a stream tells of itself, where most is None."""
        if schema is not None:
            return cls.table(schema, names)
        if hashing is not None:
            return cls.hashed(hashing.bits, names, hashing.interactions, hashing.drop)
        return cls.numbered(first_id if first_id in (0, 1) else None, names)

    @property
    def hashing(self) -> Hashing | None:
        """How names are hashed, where features are such."""
        return None if self.bits is None else Hashing(self.bits, self.interactions, self.drop)

    @property
    def width(self) -> int | None:
        """How many features there can be, where it is known beforehand."""
        if self.schema is not None:
            return self.schema.n_features
        return None if self.bits is None else 1 << self.bits

    def rows(self, X: Any) -> Any:
        """Return rows of these features; those of a table are read by its schema.

        A frame's columns are found by name, an array must have all of them in their order. Sparse
        rows that a stream has read already are returned as they are.

        Examples
        --------
        >>> from polyak.model.schema import Column, Schema
        >>> year = Column("year", "number", "number", offset=2000.0, scale=10.0)
        >>> FeatureMap.table(Schema((year,))).rows([[2005.0], [1990.0]]).values
        array([ 0.5, -1. ])
        """
        if self.schema is None or isinstance(X, SparseRows | CheckedRows):
            return X
        from polyak import open_stream  # of a layer above, which only such models need

        if len(X) == 0:
            none = np.zeros(0, dtype=np.int64)
            return SparseRows(np.zeros(1, np.int64), none, np.zeros(0), self.schema.n_features)
        with open_stream(X, schema=self.schema, targets=False, dtype=np.float64) as stream:
            return join_rows([batch.rows for batch in stream])

    def all_names(self) -> dict[int, str]:
        """Give the names of all features that have one, by their index.

        Examples
        --------
        >>> from polyak.model.schema import Column, Schema
        >>> FeatureMap.table(Schema((Column("age", "number", "number"),))).all_names()
        {0: 'age', 1: 'age is missing'}
        """
        plain = [] if self.schema is None else self.schema.feature_names
        return dict(enumerate(plain)) | dict(self.names)

    def name(self, index: int) -> str | None:
        """Give the name of a feature, if it has one."""
        if self.schema is not None and index < self.schema.hashed_begin:
            return self.schema.feature_names[index]
        return self.names.get(index)

    def number(self, index: int) -> int:
        """Give the id that a feature has in the source."""
        return index + (self.first_id or 0)

    def slot(self, index: int) -> str:
        """Call a feature that has no name by its number, or by the slot it is hashed into.

        Examples
        --------
        >>> from polyak.model.schema import Column, Schema
        >>> FeatureMap.table(Schema((Column("age", "number", "number"),))).slot(5)
        'slot 3'
        """
        if self.schema is None:
            return str(self.number(index))
        return f"slot {index - self.schema.hashed_begin}"

    def words(self) -> str:
        """Say what kind of features they are.

        Examples
        --------
        >>> FeatureMap.hashed(18).words()
        'features, names hashed into 2^18 slots'
        """
        if self.schema is not None:
            return f"features of a table of {len(self.schema.columns)} columns"
        if self.bits is not None:
            return f"features, names hashed into 2^{self.bits} slots"
        return "named features" if self.names else "numbered features"

    def units(self, n_features: int) -> NDArray[np.float64]:
        """Give what to divide weights by to have them per unit of a table's columns."""
        found = np.ones(n_features)
        if self.schema is not None:
            per_unit = self.schema.units()[:n_features]
            found[: len(per_unit)] = per_unit
        return found

    def spreads(self, n_features: int) -> NDArray[np.float64]:
        """Give how far features of a table spread in their own units; 1 for what is 0 or 1."""
        found = np.ones(n_features)
        if self.schema is not None:
            known = self.schema.spreads()[:n_features]
            found[: len(known)] = known
        return found

    def of_the_heaviest(self, weights: NDArray[Any], most: int) -> FeatureMap:
        """Keep the names of those hashed features only that weigh most.

        Examples
        --------
        >>> features = FeatureMap.hashed(2, {1: "a=b", 2: "a=c"})
        >>> dict(features.of_the_heaviest(np.array([[0.0], [2.0], [-3.0]]), most=1).names)
        {2: 'a=c'}
        """
        if self.width is None:
            return self
        begin, bits = 0, self.bits
        if self.schema is not None:
            begin, bits = self.schema.hashed_begin, self.schema.bits
        assert bits is not None
        # Names of several parts of a run may be more than one reader would have kept.
        names = FeatureNames.of(self.names).below(begin, 1 << bits, names_to_see(most))
        known = names.indices[: np.searchsorted(names.indices, len(weights))]
        sizes = np.abs(weights[known]).max(axis=1, initial=0.0)
        heaviest = np.flatnonzero(sizes)
        if len(heaviest) > most:
            heaviest = heaviest[np.argsort(-sizes[heaviest], kind="stable")[:most]]
        return replace(self, names=names.take(np.sort(heaviest)))

"""The feature map: how the values of a source become features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows
from polyak.rows.sparse import SparseRows, join_rows
from polyak.storage.feature_names import FeatureNames, names_to_see
from polyak.storage.records import many, whole, word

if TYPE_CHECKING:
    from polyak.model.schema import Schema


class Hashing(NamedTuple):
    """How names are hashed: into 2^bits buckets, with some namespaces crossed or dropped.

    With ``base``, the base of VW text is a feature after the buckets: the offset.
    """

    bits: int
    interactions: tuple[tuple[str, ...], ...] = ()
    drop: tuple[str, ...] = ()
    base: bool = False

    @property
    def width(self) -> int:
        """The number of features."""
        return (1 << self.bits) + self.base


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """How a source becomes rows: by feature ids, by hashed names, or by the schema of a table.

    Constructed by `numbered`, `hashed` or `table`; the default map is that of an array, whose
    columns are the features.

    Attributes
    ----------
    first_id : {0, 1} or None
        The first feature id of the source, if it is known.
    bits : int or None
        The names of features are hashed into 2^bits buckets.
    interactions, drop : tuples
        Namespaces whose hashed features are crossed, and those dropped.
    base : bool
        Whether the base of VW text is a feature after the buckets: the offset.
    kept_only : bool or None
        True if only features with a nonzero weight are exported.
    schema : Schema or None
        The schema of a table.
    names : mapping of int to str
        The known names of features by their index, without those that the schema names.

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
    base: bool = False

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.first_id, self.bits, self.schema)) > 1:
            raise ValueError("its features are numbered, hashed or of a table, not several of them")

    @staticmethod
    def types() -> dict[str, Any]:
        """Return the types that the annotations name, imported only where they are needed."""
        from polyak.model.schema import Schema

        return {"Schema": Schema}

    @classmethod
    def numbered(cls, first_id: int | None, names: Mapping[int, str] | None = None) -> FeatureMap:
        """Return the map of features that are ids beginning at 0 or 1, or columns of an array."""
        return cls(first_id=first_id, names=names or {})

    @classmethod
    def hashed(
        cls,
        bits: int,
        names: Mapping[int, str] | None = None,
        interactions: tuple[tuple[str, ...], ...] = (),
        drop: tuple[str, ...] = (),
        base: bool = False,
    ) -> FeatureMap:
        """Return the map of features whose names are hashed into 2^bits buckets."""
        return cls(bits=bits, names=names or {}, interactions=interactions, drop=drop, base=base)

    @classmethod
    def table(cls, schema: Schema, names: Mapping[int, str] | None = None) -> FeatureMap:
        """Return the map of features that a schema derives from a table's columns."""
        return cls(schema=schema, names=names or {})

    @classmethod
    def of(
        cls,
        schema: Schema | None = None,
        hashing: Hashing | None = None,
        first_id: int | None = None,
        names: Mapping[int, str] | None = None,
    ) -> FeatureMap:
        """Return the map of a stream from its schema, its hashing or its first id."""
        if schema is not None:
            return cls.table(schema, names)
        if hashing is not None:
            return cls.hashed(hashing.bits, names, *hashing[1:])
        return cls.numbered(first_id if first_id in (0, 1) else None, names)

    @property
    def hashing(self) -> Hashing | None:
        """How names are hashed; None if features are not hashed names."""
        if self.bits is None:
            return None
        return Hashing(self.bits, self.interactions, self.drop, self.base)

    @property
    def offset_feature(self) -> int | None:
        """The feature that is added to the score, if the schema or the hashing has one."""
        if self.schema is not None:
            return self.schema.offset_feature
        return 1 << self.bits if self.bits is not None and self.base else None

    @property
    def width(self) -> int | None:
        """The number of features, if it is fixed by hashing or a schema."""
        if self.schema is not None:
            return self.schema.n_features
        return None if self.hashing is None else self.hashing.width

    def rows(self, X: Any) -> Any:
        """Return ``X`` as rows of these features; tables are encoded by the schema.

        A frame's columns are found by name; an array must have all of them in order. Sparse rows
        have features instead of columns, and are returned unchanged.

        Examples
        --------
        >>> from polyak.model.schema import Column, Schema
        >>> year = Column("year", "number", "number", offset=2000.0, scale=10.0)
        >>> FeatureMap.table(Schema((year,))).rows([[2005.0], [1990.0]]).values
        array([ 0.5, -1. ])
        """
        if self.schema is None or isinstance(X, SparseRows | CheckedRows):
            return X
        if hasattr(X, "tocsr"):
            if X.shape[1] != self.schema.n_features:
                raise ValueError(
                    f"a sparse matrix must have the model's {self.schema.n_features} features, not "
                    f"{X.shape[1]}; pass the {len(self.schema.columns)} columns as a frame instead"
                )
            return X
        if (numbers := rows_of_numbers(X, self.schema)) is not None:
            return numbers
        from polyak import open_stream  # a layer above, needed only for tables

        if hasattr(X, "__len__") and len(X) == 0:
            none = np.zeros(0, dtype=np.int64)
            return SparseRows(np.zeros(1, np.int64), none, np.zeros(0), self.schema.n_features)
        with open_stream(X, schema=self.schema, targets=False, dtype=np.float64) as stream:
            return join_rows([batch.rows for batch in stream])

    def all_names(self) -> dict[int, str]:
        """Return the names of all features that have one, by their index.

        Examples
        --------
        >>> from polyak.model.schema import Column, Schema
        >>> FeatureMap.table(Schema((Column("age", "number", "number"),))).all_names()
        {0: 'age', 1: 'age is missing'}
        """
        plain = [] if self.schema is None else self.schema.feature_names
        return dict(enumerate(plain)) | dict(self.names)

    def name(self, index: int) -> str | None:
        """Return the name of a feature; None if it has none."""
        if self.schema is not None and index < self.schema.hashed_begin:
            return self.schema.feature_names[index]
        is_base = self.base and index == self.offset_feature
        return "base" if is_base else self.names.get(index)

    def number(self, index: int) -> int:
        """Return the id of a feature in the source."""
        return index + (self.first_id or 0)

    def slot(self, index: int) -> str:
        """Return a label for a feature without a name: its id, or its hash bucket.

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
        """Return the kind of the features as text.

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
        """Return the divisors that convert weights to units of a table's columns."""
        found = np.ones(n_features)
        if self.schema is not None:
            per_unit = self.schema.units()[:n_features]
            found[: len(per_unit)] = per_unit
        return found

    def spreads(self, n_features: int) -> NDArray[np.float64]:
        """Return the standard deviations of a table's features; 1 for indicators."""
        found = np.ones(n_features)
        if self.schema is not None:
            known = self.schema.spreads()[:n_features]
            found[: len(known)] = known
        return found

    def of_the_heaviest(self, weights: NDArray[Any], most: int) -> FeatureMap:
        """Return the map with the names of only the ``most`` hashed features of largest weight.

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
        # The merged names of a distributed run may be more than one reader would have kept.
        names = FeatureNames.of(self.names).below(begin, 1 << bits, names_to_see(most))
        known = names.indices[: np.searchsorted(names.indices, len(weights))]
        sizes = np.abs(weights[known]).max(axis=1, initial=0.0)
        heaviest = np.flatnonzero(sizes)
        if len(heaviest) > most:
            heaviest = heaviest[np.argsort(-sizes[heaviest], kind="stable")[:most]]
        return replace(self, names=names.take(np.sort(heaviest)))


def rows_of_numbers(X: Any, schema: Schema) -> SparseRows | None:
    """Return an array as rows of a schema of numbers, as a table reader would encode it.

    None where the reader has to: it names what cannot be encoded. Arrays do not need Arrow.

    Examples
    --------
    >>> from polyak.model.schema import Column, Schema
    >>> year = Column("year", "number", "number", offset=2000.0, scale=10.0)
    >>> rows = rows_of_numbers(np.array([[2005.0], [2000.0], [np.nan]]), Schema((year,)))
    >>> rows.indptr, rows.indices, rows.values
    (array([0, 1, 1, 2]), array([0, 1], dtype=int32), array([0.5, 1. ]))
    """
    columns = schema.columns
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        return None
    if X.shape[1] != len(columns) or any(column.kind != "number" for column in columns):
        return None
    if schema.interactions or schema.lists:
        return None
    offsets, scales = np.array([(column.offset, column.scale) for column in columns]).T
    values = (X.astype(np.float64) - offsets) / scales
    missing = np.isnan(values)
    values[missing] = 1.0
    if not np.isfinite(values).all():
        return None
    stored = values != 0.0
    indptr = np.append(0, np.cumsum(np.count_nonzero(stored, axis=1)))
    features = 2 * np.arange(len(columns), dtype=np.int32) + missing
    return SparseRows(indptr, features[stored], values[stored], schema.n_features)

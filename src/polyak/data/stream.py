"""A stream: the batches of a source one after the other, and where the reading stands."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import DTypeLike

from polyak.data.position import BadLine, Cursor, Position
from polyak.data.random_order import Shuffled
from polyak.errors import DataError, NoRowsError
from polyak.model.columns import SourceColumns
from polyak.rows.batch import Batch
from polyak.rows.labels import ROWS_TO_TELL, sorted_by_class
from polyak.storage.feature_names import FeatureNames

if TYPE_CHECKING:
    from polyak.model.features import Hashing
    from polyak.model.schema import Schema


class Reader(Protocol):
    """The protocol of a format's reader; `Stream` adds what all formats share."""

    format: str
    name: str
    bytes_total: int | None
    n_features: int | None

    def fingerprint(self) -> str:
        """Return a text that identifies this data."""

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor of the source's beginning, or of a position."""

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Read on from a cursor; a batch may be empty."""


class Stream:
    """An iterator of batches, and a context manager that ends the reading.

    Made by `polyak.data.open.open_stream`. All that it tells is about the batches delivered so
    far, whatever was read ahead of them.

    Attributes
    ----------
    name : str
        What errors call the source.
    format : str
    n_features : int or None
        The number of features, where it is known before all is read.
    bytes_total : int or None
        The size on the disk.
    bytes_read : int
        How much of that was read.
    rows_read : int
        How many rows, those before ``start`` included.
    bad_lines : int
        How many lines were skipped.
    first_bad_lines : tuple of BadLine
        The first ten of them.
    position : dict
        Where the last batch ended; `open_stream` goes on from there when given it as ``start``.
    keeps_order : bool
        Whether rows come in the order of the source, rather than in random order.
    schema : Schema or None
        What the columns mean, where the source is a table.
    hashing : Hashing or None
        Where the source names its features: how they were hashed.
    outputs : int
        The number of targets of a row.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        seed: int = 0,
        start: Position | None = None,
        warn_if_sorted: bool = True,
    ) -> None:
        self._reader = reader
        self.name = reader.name
        self.format = reader.format
        self.bytes_total = reader.bytes_total
        self.n_features = reader.n_features
        self.schema: Schema | None = getattr(reader, "schema", None)
        self.hashing: Hashing | None = getattr(reader, "hashing", None)
        self.outputs: int = getattr(reader, "outputs", 1)
        self.begin(start, seed=seed, warn_if_sorted=warn_if_sorted)

    def begin(self, start: Position | None, *, seed: int = 0, warn_if_sorted: bool = True) -> None:
        """Begin elsewhere, as long as no batch was asked for.

        To look at a source before it is known where to resume, do not open it twice: a
        pipe would have moved on.
        """
        reader = self._reader
        self.keeps_order = not isinstance(reader, Shuffled)
        if isinstance(reader, Shuffled):
            reader.seed = seed
        if start is not None:
            self._check_position(start)
        self._cursor = reader.begin(start)
        self._batches = reader.read(self._cursor)
        self._first_targets: list[Any] | None = (
            [] if warn_if_sorted and self.keeps_order and start is None else None
        )

    def _check_position(self, start: Position) -> None:
        """Refuse a position that lacks what this reader's own have."""
        for name, value in self._reader.begin(None).position.items():
            if type(start.get(name)) is not type(value):
                raise DataError(f"the place to go on from is not one in {self.name}")

    @property
    def bytes_read(self) -> int:  # noqa: D102
        return self._cursor.bytes_read

    @property
    def rows_read(self) -> int:  # noqa: D102
        return self._cursor.rows

    @property
    def bad_lines(self) -> int:  # noqa: D102
        return self._cursor.bad_lines

    @property
    def first_bad_lines(self) -> tuple[BadLine, ...]:  # noqa: D102
        return self._cursor.first_bad_lines

    @property
    def rows_without_target(self) -> int:
        """How many rows of a table were left out because their target is missing."""
        return int(self._cursor.position.get("without_target", 0))

    @property
    def position(self) -> Position:  # noqa: D102
        return self._cursor.position

    @property
    def advice(self) -> str:
        """How to have the rows of a stream of record batches in random order; empty for others."""
        return str(getattr(self._reader, "advice", ""))

    @property
    def fingerprint(self) -> str:
        """What identifies this data: sizes and first bytes, neither names nor dates."""
        return self._reader.fingerprint()

    def read_as(self, schema: Schema, dtype: DTypeLike | None) -> None:
        """Read a table's columns in other units, as long as no batch was asked for."""
        self._reader.read_as(schema, dtype)  # type: ignore[attr-defined]
        self.schema, self.n_features = schema, schema.n_features

    def look(self) -> Any:
        """Describe a table's columns, and say what looks wrong with them; None for other rows."""
        look = getattr(self._reader, "look", None)
        return None if look is None else look()

    def names(self) -> FeatureNames:
        """Return the names of hashed features, by their index, if they were to be collected."""
        names = getattr(self._reader, "names", None)
        return FeatureNames.of({}) if names is None else names()

    def columns(self) -> SourceColumns | None:
        """Return the columns of a table or an array; None for rows of features without columns."""
        is_text = self.format in ("svmlight", "vw") or self.hashing is not None
        return SourceColumns.of(self.schema, self.names, None if is_text else self.n_features)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Batch:
        try:
            # A part of the source without rows still moves the position and counts bad lines.
            batch, self._cursor = next(self._batches)
            while not len(batch) and batch.gaps is None:
                batch, self._cursor = next(self._batches)
        except StopIteration:
            if self._cursor.rows == 0:
                raise NoRowsError(f"{self._reader.name} has no rows{self._left_out()}") from None
            raise
        if self._first_targets is not None:
            self._look_at_order(batch)
        return batch

    def _left_out(self) -> str:
        """Return the error for a source without rows."""
        left_out = []
        if self.rows_without_target:
            left_out.append(f"{self.rows_without_target} without a target")
        if self.bad_lines:
            left_out.append(f"{self.bad_lines} bad lines")
        return f" but {' and '.join(left_out)}" if left_out else ""

    def close(self) -> None:
        """End the reading and its threads."""
        self._batches.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _look_at_order(self, batch: Batch) -> None:
        """Warn, once, if the first rows look sorted by class."""
        assert self._first_targets is not None
        if batch.targets is not None and batch.targets.ndim == 1:
            self._first_targets.extend(batch.targets[:ROWS_TO_TELL].tolist())
            if self._cursor.rows < ROWS_TO_TELL:
                return
            if sorted_by_class(self._first_targets):
                warnings.warn(
                    f"the rows of {self._reader.name} seem to be sorted by class, and one pass "
                    f"over sorted rows learns poorly: {self.advice or 'shuffle the file'}, or read "
                    "it with shuffle_buffer=100000 or as large as memory allows",
                    UserWarning,
                    stacklevel=3,
                )
        self._first_targets = None

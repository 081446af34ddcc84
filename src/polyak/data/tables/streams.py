"""Streams of Arrow record batches: queries, lazy frames, data sets, readers and iterators.

Each adapter opens its source as an iterator of batches that have only the columns in use. Nothing
is imported for it: a source that is there has imported its library.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from polyak.data.tables.arrow_types import with_strings_as
from polyak.data.tables.frames import as_table, is_frame
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.data.tables.source import Parsed, Piece, RowNumbers
from polyak.errors import DataError, NoRowsError, SourceError
from polyak.optional_imports import needed, pyarrow

BATCH_ROWS = 1 << 14


def stream_of(source: Any) -> StreamSource | None:
    """Return a stream of record batches as a table source; None for any other source.

    Frames and tables in memory are not streams: all their rows are known.
    """
    if isinstance(source, StreamSource):
        return source
    library = type(source).__module__.partition(".")[0].lstrip("_")
    kind = type(source).__name__
    if library == "duckdb" and hasattr(source, "to_arrow_reader"):
        return _relation(source)
    if library == "polars" and kind == "LazyFrame":
        return _lazy_frame(source)
    if library == "datasets" and isinstance(source, dict):
        raise DataError(
            f"the {kind} has the data sets {', '.join(source)}: pass one of them, as in "
            f"data[{next(iter(source), '')!r}]"
        )
    if library == "datasets" and hasattr(source, "select_columns"):
        return _hugging_face(source)
    if library == "pyarrow" and hasattr(source, "scanner"):
        return _dataset(source)
    if library == "pyarrow" and kind == "RecordBatchReader":
        return _once("the record batch reader", source)
    if isinstance(source, Iterator) and not hasattr(source, "read"):
        return _once("the iterator", source)
    is_known = library in ("pandas", "polars", "pyarrow") or is_frame(source)
    if hasattr(source, "__arrow_c_stream__") and not is_known:
        return _foreign(source, f"the {kind} of {library}")
    return None


def stream_of_query(text: str) -> StreamSource:
    """Return the rows of a query as a table source; ``FILE?QUERY`` queries a database file."""
    duckdb = needed("duckdb", "duckdb")
    file, mark, query = text.partition("?")
    is_file = bool(mark) and not file.strip().upper().startswith(("SELECT", "FROM", "WITH"))
    try:
        connection = duckdb.connect(file, read_only=True) if is_file else duckdb.connect()
        query = query if is_file else text
        kinds = [statement.type.name for statement in connection.extract_statements(query)]
        if kinds == ["MULTI"]:  # PIVOT is, and what it is in: only a query can stand in FROM
            connection.extract_statements(f"FROM ({query.rstrip().rstrip(';')}\n)")
        elif kinds != ["SELECT"]:
            found = " and ".join(kinds) or "empty"
            raise DataError(
                f"the DuckDB query has to be one SELECT, which changes nothing: {found}"
            )
        return _relation(connection.sql(query))
    except duckdb.Error as error:
        raise DataError(f"the DuckDB query cannot be run: {_first_line(error)}") from error


def _relation(relation: Any) -> StreamSource:
    def read(columns: list[str] | None) -> Any:
        duckdb = sys.modules["duckdb"]
        chosen = relation
        if columns is not None:
            chosen = relation.select(*(duckdb.ColumnExpression(name) for name in columns))
        return chosen.to_arrow_reader(BATCH_ROWS)

    return StreamSource(
        "the DuckDB query",
        read,
        relation.sql_query(),
        "add ORDER BY hash(...) of a column to the query",
    )


def _lazy_frame(frame: Any) -> StreamSource:
    def read(columns: list[str] | None) -> Any:
        chosen = frame if columns is None else frame.select(columns)
        return chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)

    return StreamSource(
        "the lazy frame",
        read,
        frame.explain(optimized=False),
        "collect() it, and shuffle the rows by sample(fraction=1.0, shuffle=True)",
    )


def _dataset(dataset: Any) -> StreamSource:
    def read(columns: list[str] | None) -> Any:
        # With threads, and with buffers for all column chunks of a Parquet file, a scan reads far
        # ahead of a slower reader, whatever its limits are.
        library = sys.modules["pyarrow.dataset"]
        is_parquet = isinstance(getattr(dataset, "format", None), library.ParquetFileFormat)
        scanner = dataset.scanner(
            columns=columns,
            batch_size=BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            fragment_scan_options=library.ParquetFragmentScanOptions(pre_buffer=False)
            if is_parquet
            else None,
        )
        return scanner.to_reader()

    chosen = str(getattr(dataset, "_scan_options", ""))  # its filter
    files = getattr(dataset, "files", ())
    return StreamSource(
        "the data set",
        read,
        "\n".join([chosen, *files]),
        "read its files with order='auto', or its to_table()",
    )


def _hugging_face(dataset: Any) -> StreamSource:
    def read(columns: list[str] | None) -> Any:
        chosen = dataset if columns is None else dataset.select_columns(columns)
        return chosen.with_format("arrow").iter(batch_size=BATCH_ROWS)

    return StreamSource("the data set", read, getattr(dataset, "_fingerprint", ""), "shuffle() it")


def _once(name: str, batches: Iterable[Any]) -> StreamSource:
    return StreamSource(name, lambda columns: batches, advice="shuffle its rows", is_once=True)


def _foreign(source: Any, name: str) -> StreamSource:
    """Return a table of an unknown library, of which only Arrow's interface is known."""
    return StreamSource(
        name,
        lambda columns: pyarrow().RecordBatchReader.from_stream(source),
        advice="shuffle its rows",
        is_once=True,
    )


class StreamSource:
    """Reads record batches in pieces of bounded size; resumes by skipping rows.

    Parameters
    ----------
    name : str
        What messages call it.
    read : function
        Returns the batches, or tables, of the columns given, or of all columns for None.
    query : str
        What identifies the data, as far as it is known: the text of a query, names of files.
    advice : str
        How to have the rows in random order.
    is_once : bool
        Whether it can be read once only.
    """

    format = "stream"
    bytes_total: int | None = None

    def __init__(
        self,
        name: str,
        read: Callable[[list[str] | None], Iterable[Any]],
        query: str = "",
        advice: str = "",
        is_once: bool = False,
    ) -> None:
        self.name = name
        self.advice = advice
        self.is_once = is_once
        self._read = read
        self._query = query
        self._begun: tuple[list[Any], Iterator[Any]] | None = None
        self._first: Any = None
        self._columns: list[str] = []
        self._schema: Any = None

    def fingerprint(self) -> str:
        """Return a hash of the query and the schema."""
        text = f"{self._query}\n{self._schema}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def sample(self) -> Any:
        """Return the first rows of all columns.

        They are read again later, unless that is impossible.
        """
        if self._first is not None:
            return self._first
        batches = self.record_batches(None)
        held = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= SAMPLE_ROWS:
                break
        if not held:
            raise NoRowsError(f"{self.name} has no rows")
        self._schema = held[0].schema
        if self.is_once:
            self._begun = (held, batches)
        else:
            batches.close()
        self._first = pyarrow().Table.from_batches(held).slice(0, SAMPLE_ROWS)
        return self._first

    def plan(self, types: dict[str, str], columns: list[str], keep: list[str]) -> None:
        """Set the columns to read."""
        self._columns = columns

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Yield the batches from the row of ``place`` on."""
        skip = int(place.get("row", 0))
        row = 0
        for batch in self._again():
            begin = max(0, min(skip - row, batch.num_rows))
            for start in range(begin, batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                first = row + start + 1
                yield Piece((part, first), {"row": row + start + part.num_rows})
            row += batch.num_rows
        if row < skip:
            raise DataError(f"{self.name} ends before the place to go on from")

    def parse(self, piece: Piece) -> Parsed:
        """Return the record batch of a piece."""
        batch, first = piece.data
        return Parsed(batch, RowNumbers(self.name, "row", first))

    def _again(self) -> Iterator[Any]:
        """Yield all batches with the columns in use."""
        begun, self._begun = self._begun, None
        if begun is None:
            if self.is_once:
                raise DataError(f"{self.name} can be read once only")
            yield from self.record_batches(self._columns)
            return
        for batches in begun:
            for batch in batches:
                yield batch.select(self._columns)

    def record_batches(self, columns: list[str] | None) -> Generator[Any]:
        """Yield record batches of one schema; errors of the source become `DataError`."""
        rows, schema = 0, None
        try:
            for part in self._read(columns):
                is_batch = isinstance(part, pyarrow().RecordBatch)
                table = pyarrow().Table.from_batches([part]) if is_batch else as_table(part)
                schema = table.schema if schema is None else schema
                table = with_strings_as(schema, table)
                self._check_schema(table.schema, schema, rows)
                for batch in table.to_batches():
                    rows += batch.num_rows
                    yield batch
        except (SourceError, GeneratorExit):
            raise
        except Exception as error:  # whatever the library of the source raises
            what = _first_line(error)
            raise SourceError(f"{self.name} failed after {rows:,} rows: {what}") from error

    def _check_schema(self, schema: Any, first: Any, rows: int) -> None:
        if schema.equals(first):
            return
        place = f"{self.name}, row {rows + 1}"
        for name in {**dict.fromkeys(first.names), **dict.fromkeys(schema.names)}:
            if name not in schema.names:
                raise SourceError(f"{place}: there is no column {name}, but there was before")
            if name not in first.names:
                raise SourceError(f"{place}: the column {name} was not there before")
        if schema.names != first.names:
            raise SourceError(f"{place}: the columns are in another order than before")
        for old, new in zip(first, schema, strict=True):
            if new.type != old.type:
                raise SourceError(
                    f"{place}: the column {new.name} holds {new.type}, but it was {old.type} before"
                )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__

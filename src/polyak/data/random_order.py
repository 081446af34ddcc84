"""Files read piece by piece in random order, with the rows of many pieces mixed.

The pieces are dealt out into *windows*: every window has pieces from all over the files, each from
another stretch of them, so that whatever the files are sorted by, every window has some of all. The
rows of a window are shuffled in memory and are a batch. Both depend on the files and the seed
alone. Windows are independent of each other, so that reading resumes at any of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyak.data.options import ReadOptions
from polyak.data.position import Cursor, Position
from polyak.errors import DataError
from polyak.rows.batch import Batch, join_batches

WINDOW_BYTES = 3 << 20
"""Bytes of text in a window; other files have windows of about the same size."""
TABLE_WINDOW_BYTES = 1 << 23
"""The same for tables, where every piece costs more."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces that a source is read in.

    Attributes
    ----------
    every : sequence of pieces
        All of them. A large file has a hundred thousand, so they may be made on demand.
    borders : array of int
        Where in it each unit begins, and the last ends. Pieces of one unit are best read in their
        order; units in any.
    in_window : int
        How many pieces are mixed with each other.
    strata : int
        From how many stretches of the source, at most, a window has pieces.
    head : list of pieces
        Pieces to read first: small ones from all over the source, since the first rows determine
        the classes and the learning rates.
    join : function
        Joins pieces of a window, in their order, that are better read together.
    """

    every: Sequence[Any]
    borders: NDArray[np.int64]
    in_window: int
    strata: int
    head: Sequence[Any] = ()
    join: Callable[[list[Any]], list[Any]] = list

    @classmethod
    def apart(
        cls, pieces: Sequence[Any], size: int, head: Sequence[Any] = (), *, is_table: bool = False
    ) -> Pieces:
        """Return pieces of ``size`` bytes that are independent of each other."""
        in_window = max(1, (TABLE_WINDOW_BYTES if is_table else WINDOW_BYTES) // size)
        return cls(pieces, np.arange(len(pieces) + 1), in_window, in_window, head)

    @classmethod
    def of_units(cls, units: list[list[Any]], size: int, strata: int) -> Pieces:
        """Return units of pieces, some of which are read at the same time."""
        borders = np.cumsum([0, *map(len, units)])
        every = list(chain.from_iterable(units))
        return cls(every, borders, max(strata, TABLE_WINDOW_BYTES // size), strata)


class Window(NamedTuple):
    """Pieces whose rows are mixed with each other."""

    number: int
    pieces: list[Any]
    seed: int

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return the order of its rows, or lines."""
        return random_permutation(n, np.random.PCG64([self.seed, self.number]))


def random_permutation(n: int, random: np.random.PCG64) -> NDArray[np.int64]:
    """Return the first numbers in random order."""
    # Sorting raw random numbers: unlike Generator.permutation, the same in every NumPy.
    return np.argsort(random.random_raw(n))


Unmixed = tuple[list[Batch], Cursor]
"""The batches of a window in the order of its pieces, and the cursor behind them."""


@runtime_checkable
class InPieces(Protocol):
    """The protocol of a reader that can read in any order."""

    def can_read_pieces(self) -> bool:
        """Whether these files can be read in pieces."""

    def pieces(self) -> Pieces:
        """Cut the source into pieces, in the same way every time."""

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Unmixed]:
        """Read windows one after the other, in the order of their pieces."""


def shuffled(reader: Any, options: ReadOptions) -> Any:
    """Return a reader of the same rows in random order, or shuffled within a buffer.

    A source that can neither be read in pieces nor estimate how many rows fit into a window, such
    as a pipe, keeps its order unless the options have the size of a buffer.
    """
    buffer = options.shuffle_buffer
    if options.random_order:
        if isinstance(reader, InPieces) and reader.can_read_pieces():
            return RandomOrder(reader, options.number_of_threads())
        buffer = buffer or getattr(reader, "rows_in", lambda size: 0)(WINDOW_BYTES)
    return ShuffleBuffer(reader, buffer) if buffer else reader


class Windows(Sequence[Window]):
    """Pieces dealt out into windows, from one of them on.

    Units come from every stretch of the source in a random order, and each stretch is spread evenly
    over the windows. Only the numbers of pieces are kept.

    Examples
    --------
    >>> pieces = Pieces.apart(range(12), size=WINDOW_BYTES // 4)
    >>> [sorted(window.pieces) for window in Windows(pieces, seed=1)]
    [[2, 4, 7, 9], [0, 5, 8, 11], [1, 3, 6, 10]]
    """

    def __init__(self, pieces: Pieces, seed: int, first: int = 0) -> None:
        self._pieces, self._seed, self._first = pieces, seed, first
        self._dealt = list(filter(len, _deal(pieces, seed)))
        self._heads = int(len(pieces.head) > 0)

    def __len__(self) -> int:
        return self._heads + len(self._dealt) - self._first

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < len(self):
            raise IndexError(place)
        number, every, join = self._first + place, self._pieces.every, self._pieces.join
        if number < self._heads:
            return Window(number, join(list(self._pieces.head)), self._seed)
        dealt = self._dealt[number - self._heads]
        return Window(number, join([every[n] for n in dealt]), self._seed)


def _deal(pieces: Pieces, seed: int) -> list[array[int]]:
    """Return the numbers of the pieces of every window."""
    borders = pieces.borders
    number_of_units = len(borders) - 1
    strata = max(1, min(number_of_units, pieces.strata))
    number = max(1, -(-len(pieces.every) // pieces.in_window))
    dealt = [array("q") for _ in range(number)]
    random = np.random.PCG64(seed)
    stretches = [stratum * number_of_units // strata for stratum in range(strata + 1)]
    for stratum, (begin, end) in enumerate(pairwise(stretches)):
        order = begin + random_permutation(end - begin, random)
        some = [n for unit in order for n in range(borders[unit], borders[unit + 1])]
        # Where there are fewer pieces than windows, each stretch leaves out other windows.
        phase = stratum * 0.6180339887498949 % 1.0
        for place, piece in enumerate(some):
            dealt[int((place + phase) * number / len(some))].append(piece)
    return dealt


class Shuffled:
    """A reader of the same rows as another, in an order that ``seed`` begins."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.seed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


class RandomOrder(Shuffled):
    """A reader of the same rows as another, in a random order."""

    def __init__(self, reader: Any, threads: int) -> None:
        super().__init__(reader)
        self._threads = threads

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor where reading begins."""
        if start is None:
            return self._at(self._reader.begin(None), 0)
        if start.get("seed") != self.seed:
            raise DataError("the place to go on from belongs to a stream shuffled differently")
        try:
            here: Cursor = self._reader.begin(start)
        except (KeyError, TypeError) as error:
            raise DataError(f"the place to go on from is not one in {self.name}") from error
        return here._replace(position=start)

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield the rows of one window after the other, each with the cursor behind it."""
        from polyak.data.readahead import ordered_map  # not where a file is read as it stands

        first = cursor.position["window"]
        windows = Windows(self._reader.pieces(), self.seed, first)
        read = self._reader.read_windows(windows, cursor)
        # `read` comes first, so that it is read to its end, which may raise an error.
        mixed = ordered_map(
            _mixed, zip(read, windows, strict=False), min(self._threads, 1), ahead=1
        )
        with closing(read), closing(mixed):
            for number, (batch, after) in enumerate(mixed, first + 1):
                yield batch, self._at(after, number)

    def _at(self, here: Cursor, window: int) -> Cursor:
        """Return the cursor before a window."""
        return here._replace(position=here.position | {"seed": self.seed, "window": window})


KEPT = ("base", "without_target")
"""Entries of a position about the source, which a shuffle buffer keeps."""


class ShuffleBuffer(Shuffled):
    """A reader of the same rows as another, shuffled within a buffer of ``size`` rows.

    When the buffer is full it is shuffled, and the first half of it leaves. So a row is as likely
    to wait as to leave each time, and the order depends on the rows and the seed only, not on the
    batches. To resume at a position, all rows are read and shuffled again, and those delivered
    before are dropped.
    """

    def __init__(self, reader: Any, size: int) -> None:
        super().__init__(reader)
        self._size = size

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor where reading begins."""
        begin: Cursor = self._reader.begin(None)
        kind = {"shuffle_buffer": self._size, "seed": self.seed}
        here = kind | {"rows": 0} if start is None else start
        if here | kind != here:
            raise DataError("the place to go on from belongs to a stream shuffled differently")
        return begin._replace(position=here, rows=int(here["rows"]))

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from a cursor on, each with the cursor behind it."""
        kind = {"shuffle_buffer": self._size, "seed": self.seed}
        rows, done = 0, cursor.rows
        with closing(self._reader.read(self._reader.begin(None))) as source:
            for batch, here in self._buffers(source):
                skipped = min(max(done - rows, 0), len(batch))
                rows += len(batch)
                kept = {name: here.position[name] for name in KEPT if name in here.position}
                position = {**kept, **kind, "rows": max(rows, done)}
                after = here._replace(position=position, rows=max(rows, done))
                yield batch.part(skipped, len(batch)), after

    def _buffers(self, source: Iterable[tuple[Batch, Cursor]]) -> Generator[tuple[Batch, Cursor]]:
        """Yield what leaves the buffer each time that it is full, and its rest."""
        random = np.random.PCG64(self.seed)

        def permuted() -> Batch:
            return joined(held, random_permutation(sum(map(len, held)), random))

        held: list[Batch] = []
        count = 0
        end_cursor = None
        for batch, cursor in source:
            end_cursor = cursor
            begin = 0
            while begin < len(batch):
                end = min(len(batch), begin + self._size - count)
                held.append(batch.part(begin, end))
                count += end - begin
                begin = end
                if count == self._size:
                    buffer, out = permuted(), (count + 1) // 2
                    yield buffer.part(0, out), cursor
                    held, count = [buffer.part(out, count)], count - out
        if end_cursor is not None:
            held = held or [batch.part(0, 0)]
            yield permuted(), end_cursor


def _mixed(read: tuple[Unmixed, Window]) -> tuple[Batch, Cursor]:
    """Shuffle the rows of a window."""
    (batches, after), window = read
    return joined(batches, window.permutation(sum(map(len, batches)))), after


def joined(batches: list[Batch], order: NDArray[np.int64]) -> Batch:
    """Make one batch of the rows of several, in an order."""
    begins = np.cumsum([0, *map(len, batches)])
    wheres = [batch.where for batch in batches]

    def where(row: int) -> tuple[str, int, str]:
        place = int(order[row])
        number = int(np.searchsorted(begins, place, side="right")) - 1
        named = wheres[number]
        assert named is not None
        return named(place - int(begins[number]))

    whole = join_batches(batches)
    assert whole is not None
    kept = _take_kept([batch.kept for batch in batches], order)
    return replace(whole.take(order), kept=kept, where=where if all(wheres) else None)


def _take_kept(kept: list[Any], order: NDArray[Any]) -> Any:
    present = [table for table in kept if table is not None]
    if not present:
        return None
    import pyarrow as pa

    whole = pa.Table.from_batches(present).unify_dictionaries().combine_chunks()
    (batch,) = whole.take(pa.array(order)).combine_chunks().to_batches() or present[:1]
    return batch


def by_window(
    read_pieces: Callable[[Iterator[Any], Cursor], Generator[tuple[Batch, Cursor]]],
    windows: Sequence[Window],
    cursor: Cursor,
) -> Generator[Unmixed]:
    """Read windows of formats whose pieces become one batch each."""
    read = read_pieces(chain.from_iterable(window.pieces for window in windows), cursor)
    with closing(read):
        for window in windows:
            parts = list(islice(read, len(window.pieces)))
            yield [batch for batch, _ in parts], parts[-1][1]
        next(read, None)  # raises the errors that show only at the end

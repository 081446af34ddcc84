"""Rows from Vowpal Wabbit's text, hashed.

A line is ``[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ...``, with any
number of namespaces. What touches the bar is a tag, even without the quote. The slot of a feature
among 2^bits is that of ``namespace^feature``, or of ``feature`` alone in a namespace without a
name: the low bits of the string's XXH64 with seed zero, which any other program finds too. Names
that are numbers are no exception. A feature without a name is called by its place among those of
its namespace: 0, 1, 2, ... The values of features that share a slot are added up.

The importance is the row's weight. The base, an initial prediction, must be 0 if it is there.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from polyak._core import TextBlock, hash_name
from polyak.data.formats.lines import LineReader
from polyak.data.head_start import Text, vw_text
from polyak.data.options import ReadOptions
from polyak.data.position import Cursor, Position
from polyak.data.random_order import Mixed, Window
from polyak.data.sources.files import File, Pipe
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows


def slot_of(feature: str, namespace: str = "", bits: int = 18) -> int:
    """Give the slot of a feature of VW text: its index in a model.

    Examples
    --------
    >>> slot_of("price", "house"), slot_of("price", "house", bits=10)
    (2426, 378)
    """
    name = f"{namespace}^{feature}" if namespace else feature
    return hash_name(name) & ((1 << bits) - 1)


class VwReader(LineReader):
    """Adds what is peculiar to VW text: hashing, weights, and rows without a label."""

    format = "vw"

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        super().__init__(files, options)
        self.hashed_bits = options.columns.bits
        if self.n_features is not None and self.n_features != 1 << self.hashed_bits:
            raise DataError(
                f"{self.name} is VW text, whose features are hashed into 2^{self.hashed_bits} "
                f"slots: the number of bits sets that, not a number of features"
            )
        self.n_features = 1 << self.hashed_bits
        self._names: dict[int, bytes] = {}
        self.first = {"bits": self.hashed_bits, "without_target": 0}

    def names(self) -> dict[int, bytes]:
        """Give the names of the features seen so far, if they were to be remembered."""
        return self._names

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Read on from a cursor."""
        last = cursor
        for batch, last in super().read(cursor):
            yield batch, last
        self._check_labels(last)

    def read_windows(self, windows: list[Window], cursor: Cursor) -> Generator[Mixed]:
        """Read windows one after the other."""
        for mixed in super().read_windows(windows, cursor):
            cursor = mixed.cursor
            yield mixed
        self._check_labels(cursor)

    def _check_labels(self, last: Cursor) -> None:
        if last.rows == 0 and last.position["without_target"]:
            raise DataError(
                f"{self.name} has no label to learn: labels stand apart from the bar, as in "
                "'1 |a b' (what touches the bar is a tag)"
            )

    def _text(self, at: Position, paths: tuple[str, ...] = ()) -> Text:
        return vw_text(
            paths,
            self._options.block_bytes,
            self._options.number_of_threads(),
            longest_line=self._options.longest_line,
            float64=self._float64,
            bits=self.hashed_bits,
            need_labels=self._options.targets,
            skip_bad_lines=self._options.skip_bad_lines,
            with_names=self._options.columns.names,
        )

    def _batch(self, block: TextBlock, last: Position) -> tuple[Batch, dict[str, Any]]:
        for slot, name in block.names.items():  # of two in a slot the first in the alphabet stays
            self._names[slot] = min(name, self._names.get(slot, name))
        slots = 1 << self.hashed_bits
        rows = SparseRows(block.indptr, block.indices, block.values, slots, block.checked)
        labels = block.targets if self._options.targets else None
        without_target = last["without_target"] + block.unlabelled
        more = {"bits": self.hashed_bits, "without_target": without_target}
        return Batch(rows, labels, block.weights), more

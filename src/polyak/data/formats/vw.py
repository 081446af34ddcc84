"""Rows from Vowpal Wabbit's text, hashed.

A line is ``[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ...``, with any
number of namespaces. What touches the bar is a tag, even without the quote. The slot of a feature
among 2^bits is that of ``namespace^feature``, or of ``feature`` alone in a namespace without a
name: the low bits of the string's XXH64 with seed zero, which any other program finds too. Names
that are numbers are no exception. A feature without a name is called by its place among those of
its namespace: 0, 1, 2, ... The values of features that share a slot are added up.

``Columns.drop`` leaves namespaces out, and ``Columns.interact`` crosses them: ``"user:ad"`` adds
the product of every feature of ``|user`` with every feature of ``|ad``. Its slot is made of theirs
as by Vowpal Wabbit's ``-q``: the low bits of (first · 16777619) XOR second.

The importance is the row's weight. The base, an initial prediction, must be 0 if it is there;
``Columns.offset`` is "base" to make it the offset of the row, as the feature 2^bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from typing import Any

from polyak._core import TextBlock, VwText, hash_name
from polyak.data.formats.lines import LineReader
from polyak.data.options import Columns, ReadOptions
from polyak.data.position import Cursor, Position
from polyak.data.random_order import Unmixed, Window
from polyak.data.sources.files import File, Pipe
from polyak.data.text import KEPT_OF_VW
from polyak.errors import DataError
from polyak.model.features import Hashing
from polyak.optional_imports import pyarrow
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows
from polyak.storage.feature_names import names_to_see


def slot_of(feature: str, namespace: str = "", bits: int = 18) -> int:
    """Return the slot of a feature of VW text: its index in a model.

    Examples
    --------
    >>> slot_of("price", "house"), slot_of("price", "house", bits=10)
    (2426, 378)
    """
    name = f"{namespace}^{feature}" if namespace else feature
    return hash_name(name) & ((1 << bits) - 1)


def _hashing(columns: Columns) -> Hashing:
    crossed = tuple(tuple(names.split(":")) for names in columns.interact)
    if columns.offset not in (None, "base"):
        raise DataError(f"the offset of VW text is called base, not {columns.offset}")
    return Hashing(columns.slot_bits, crossed, columns.drop, columns.offset is not None)


class VwReader(LineReader):
    """Adds what is peculiar to VW text: hashing, weights, and rows without a label."""

    format = "vw"
    text = VwText

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        super().__init__(files, options)
        self.hashing = options.hashing or _hashing(options.columns)
        bits, crossed, dropped, _ = self.hashing
        named = [name for names in crossed for name in names]
        for name in set(named).intersection(dropped):
            raise DataError(
                f"the namespace {name} of {self.name} is left out; it cannot be crossed"
            )
        self._named = list(dict.fromkeys([*named, *dropped]))  # in the order of the core's numbers
        if self.n_features is not None and self.n_features != self.hashing.width:
            raise DataError(
                f"{self.name} is VW text, whose features are hashed into 2^{bits} "
                f"slots: the number of bits sets that, not a number of features"
            )
        self.n_features = self.hashing.width
        self.first = {"bits": bits, "without_target": 0}
        if self._named:
            self.first["unseen"] = self._named

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from a cursor on, each with the cursor behind it."""
        last = cursor
        for batch, last in super().read(cursor):
            yield batch, last
        self._check_end(last)

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Unmixed]:
        """Parse the text of each window."""
        last = cursor
        for batches, last in super().read_windows(windows, cursor):
            yield batches, last
        self._check_end(last)

    def _check_end(self, last: Cursor) -> None:
        if last.rows == 0 and last.position["without_target"]:
            raise DataError(
                f"{self.name} has no label to learn: labels stand apart from the bar, as in "
                "'1 |a b' (what touches the bar is a tag)"
            )
        for name in last.position.get("unseen", ()):
            warnings.warn(f"no row of {self.name} has a namespace {name}", stacklevel=2)

    def _parsing(self, at: Position) -> dict[str, Any]:
        return {
            "bits": self.hashing.bits,
            "need_labels": self._options.targets,
            "names": names_to_see(self._options.columns.names or 0),
            "crossed": self.hashing.interactions,
            "dropped": self.hashing.drop,
            "with_base": self.hashing.base,
            "with_tags": list(self._options.keep) in KEPT_OF_VW,
        }

    def _batch(self, block: TextBlock, last: Position) -> tuple[Batch, dict[str, Any]]:
        width = self.hashing.width
        rows = SparseRows(block.indptr, block.indices, block.values, width, block.checked)
        labels = self._targets(block) if self._options.targets else None
        without_target = last["without_target"] + block.unlabelled
        more = {"bits": self.hashing.bits, "without_target": without_target}
        if self._named:
            seen = {name for name, is_seen in zip(self._named, block.seen, strict=True) if is_seen}
            more["unseen"] = [name for name in last["unseen"] if name not in seen]
        kept = _tags(block) if list(self._options.keep) in KEPT_OF_VW else None
        return Batch(rows, labels, block.weights, kept), more


def _tags(block: TextBlock) -> Any:
    """Return the tags of rows as a column; a row without one has an empty tag."""
    pa = pyarrow()
    assert block.tags is not None
    tags = block.tags.decode(errors="replace").split("\n")[:-1]
    return pa.RecordBatch.from_arrays([pa.array(tags, pa.string())], ["tag"])

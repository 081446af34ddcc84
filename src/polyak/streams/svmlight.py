"""Rows from svmlight (libsvm) text: ``label id:value id:value ...``, one row a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from numpy.typing import NDArray

from polyak._core import parse_svmlight
from polyak.errors import DataError
from polyak.head_start import UNKNOWN_BASE, SvmlightText
from polyak.rows import SparseRows
from polyak.streams.batch import Batch
from polyak.streams.blocks import Block
from polyak.streams.files import File, Pipe
from polyak.streams.lines import LineReader, Parsed
from polyak.streams.options import Options
from polyak.streams.stream import Position

LARGEST_INDEX = 2**63 - 1


class _Rows(NamedTuple):
    """The rows of a block, which know neither the width of those before nor the base for sure."""

    targets: NDArray[Any]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    width: int
    base: int


class SvmlightReader(LineReader):
    """Adds what is peculiar to svmlight text: where ids begin, and how wide rows have become."""

    format = "svmlight"

    def __init__(self, files: Sequence[File | Pipe], options: Options) -> None:
        super().__init__(files, options)
        zero_based = options.zero_based
        base = UNKNOWN_BASE if zero_based == "auto" else 0 if zero_based else 1
        self.first = {"base": base, "width": 0}

    def _parsed(self, at: Position) -> Iterator[tuple[Block, Parsed]]:
        plain = all(isinstance(file, File) and file.is_plain() for file in self._files)
        if plain and self._options.number_of_threads() > 0:
            yield from self._parsed_by_core(at)
            return
        # Whether ids begin at 0 or 1 shows in the first block that has any; the others have to
        # wait for it.
        blocks = self._blocks(at)
        while at["base"] == UNKNOWN_BASE:
            block = next(blocks, None)
            if block is None:
                return
            parsed = self._parse(block, at)
            at = at | {"base": parsed.rows.base}
            yield block, parsed
        yield from self._parsed_ahead(blocks, at)

    def _parsed_by_core(self, at: Position) -> Iterator[tuple[Block, Parsed]]:
        """Leave reading, too, to threads that do not need Python, and may have begun already."""
        options = self._options
        text = SvmlightText(
            tuple(file.name for file in self._files),
            options.block_bytes,
            options.number_of_threads(),
            self._float64,
            self.n_features,
            options.skip_bad_lines,
        )
        before = list(accumulate((file.size or 0 for file in self._files), initial=0))
        read = text.read(at["base"], at["file"], at["offset"])
        while True:
            try:
                block = read.next()
            except RuntimeError as error:
                raise DataError(str(error)) from None
            if block is None:
                return
            file, end, rows = block
            yield Block(memoryview(b""), file, end, before[file] + end), _parsed(rows)

    def _parse(self, block: Block, at: Position) -> Parsed:
        width = self.n_features
        rows = parse_svmlight(
            block.text,
            float64=self._float64,
            base=at["base"],
            largest_index=LARGEST_INDEX if width is None else width - 1,
            skip_bad_lines=self._options.skip_bad_lines,
        )
        return _parsed(rows)

    def _batch(self, rows: _Rows, last: Position) -> tuple[Batch, dict[str, Any]]:
        width = max(last["width"], rows.width)
        n_features = width if self.n_features is None else self.n_features
        sparse = SparseRows(rows.indptr, rows.indices, rows.values, n_features)
        return Batch(sparse, rows.targets), {"base": rows.base, "width": width}


def _parsed(rows: Any) -> Parsed:
    targets, indptr, indices, values, largest, base, lines, n_bad, bad = rows
    all_rows = _Rows(targets, indptr, indices, values, largest + 1, base)
    return Parsed(all_rows, len(targets), lines, n_bad, bad)

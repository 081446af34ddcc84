"""Rows from svmlight (libsvm) text: ``label id:value id:value ...``, one row a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from polyak._core import CheckedRows, parse_svmlight
from polyak.data.formats.lines import LineReader, Parsed
from polyak.data.head_start import UNKNOWN_BASE, Text, svmlight_text
from polyak.data.options import ReadOptions
from polyak.data.position import Position
from polyak.data.sources.blocks import Block
from polyak.data.sources.files import File, Pipe
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows


class _Rows(NamedTuple):
    """The rows of a block, which know neither the width of those before nor the base for sure."""

    targets: NDArray[Any]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    width: int
    base: int
    checked: CheckedRows


class SvmlightReader(LineReader):
    """Adds what is peculiar to svmlight text: where ids begin, and how wide rows have become."""

    format = "svmlight"

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        super().__init__(files, options)
        zero_based = options.zero_based
        base = UNKNOWN_BASE if zero_based == "auto" else 0 if zero_based else 1
        self.first = {"base": base, "width": 0}

    def _parsed_here(self, at: Position) -> Iterator[tuple[Block, Parsed]]:
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

    def _text(self, at: Position, where: tuple[tuple[str, ...], int, int]) -> Text:
        return svmlight_text(
            *where,
            longest_line=self._options.longest_line,
            float64=self._float64,
            base=at["base"],
            n_features=self.n_features,
            skip_bad_lines=self._options.skip_bad_lines,
        )

    def _parse(self, block: Block, at: Position) -> Parsed:
        options = self._text(at, ((), 0, 0)).options
        return self._taken_apart(parse_svmlight(block.text, **options))

    def _taken_apart(self, rows: Any) -> Parsed:
        targets, indptr, indices, values, largest, base, lines, n_bad, bad, checked = rows
        all_rows = _Rows(targets, indptr, indices, values, largest + 1, base, checked)
        return Parsed(all_rows, len(targets), lines, n_bad, bad)

    def _batch(self, rows: _Rows, last: Position) -> tuple[Batch, dict[str, Any]]:
        width = max(last["width"], rows.width)
        n_features = width if self.n_features is None else self.n_features
        sparse = SparseRows(rows.indptr, rows.indices, rows.values, n_features, rows.checked)
        return Batch(sparse, rows.targets), {"base": rows.base, "width": width}

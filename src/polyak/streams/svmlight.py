"""Rows from svmlight (libsvm) text: ``label id:value id:value ...``, one row a line."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from polyak._core import parse_svmlight
from polyak.errors import DataError
from polyak.rows import SparseRows
from polyak.streams.batch import Batch
from polyak.streams.blocks import Block, read_blocks
from polyak.streams.files import File, Pipe, fingerprint, total_size
from polyak.streams.options import Options
from polyak.streams.readahead import in_order
from polyak.streams.stream import BadLine, Mark, Position

UNKNOWN_BASE = -1
LARGEST_INDEX = 2**63 - 1


class SvmlightReader:
    """Reads blocks of lines ahead, parses them on several threads, delivers them in order."""

    format = "svmlight"

    def __init__(self, files: Sequence[File | Pipe], options: Options) -> None:
        self.name = files[0].name if len(files) == 1 else f"{files[0].name} and the other files"
        self.bytes_total = total_size(files)
        self.n_features = options.n_features
        self._files = files
        self._options = options
        self._float64 = _is_float64(options.dtype)

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return fingerprint(self._files)

    def begin(self, start: Position | None) -> Mark:
        """Say where reading begins."""
        if start is None:
            zero_based = self._options.zero_based
            base = UNKNOWN_BASE if zero_based == "auto" else 0 if zero_based else 1
            position = {"rows": 0, "file": 0, "offset": 0, "lines": 0, "base": base, "width": 0}
            return Mark({"format": self.format, **position})
        if start.get("format") != self.format or start["file"] >= len(self._files):
            raise DataError(f"the place to go on from is not one in {self.name}")
        bad = tuple(BadLine(*line) for line in start.get("first_bad_lines", ()))
        return Mark(
            start, start["rows"], start.get("bytes_read", 0), start.get("bad_lines", 0), bad
        )

    def read(self, mark: Mark) -> Generator[tuple[Batch, Mark]]:
        """Read on from a mark."""
        at = mark.position
        blocks = read_blocks(self._files, self._options.block_bytes, at["file"], at["offset"])
        for block, parsed in self._parsed(blocks, at["base"]):
            batch, mark = self._deliver(block, parsed, mark)
            yield batch, mark

    def _parsed(self, blocks: Generator[Block], base: int) -> Iterator[tuple[Block, Any]]:
        # Whether ids begin at 0 or 1 shows in the first block that has any; the others have to
        # wait for it.
        while base == UNKNOWN_BASE:
            block = next(blocks, None)
            if block is None:
                return
            parsed = self._parse(block, base)
            base = parsed[5]
            yield block, parsed
        yield from in_order(
            lambda block: (block.without_text(), self._parse(block, base)),
            blocks,
            self._options.number_of_threads(),
        )

    def _parse(self, block: Block, base: int) -> Any:
        width = self.n_features
        return parse_svmlight(
            block.text,
            float64=self._float64,
            base=base,
            largest_index=LARGEST_INDEX if width is None else width - 1,
            skip_bad_lines=self._options.skip_bad_lines,
        )

    def _deliver(self, block: Block, parsed: Any, mark: Mark) -> tuple[Batch, Mark]:
        targets, indptr, indices, values, largest, base, lines, n_bad, first_bad = parsed
        last = mark.position
        lines_before = last["lines"] if last["file"] == block.file else 0
        file = self._files[block.file].name
        bad = [
            BadLine(file, lines_before + line + 1, _shortened(text), reason)
            for line, text, reason in first_bad
        ]
        if bad and not self._options.skip_bad_lines:
            raise DataError(str(bad[0]))
        all_bad = (*mark.first_bad_lines, *bad)[:10]
        width = max(last["width"], largest + 1)
        rows = mark.rows + len(targets)
        position = {
            "format": self.format,
            "rows": rows,
            "file": block.file,
            "offset": block.end,
            "lines": lines_before + lines,
            "base": base,
            "width": width,
            "bytes_read": block.bytes_read,
            "bad_lines": mark.bad_lines + n_bad,
            "first_bad_lines": [list(line) for line in all_bad],
        }
        mark = Mark(position, rows, block.bytes_read, mark.bad_lines + n_bad, all_bad)
        n_features = width if self.n_features is None else self.n_features
        return Batch(SparseRows(indptr, indices, values, n_features), targets), mark


def _is_float64(dtype: Any) -> bool:
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}")
    return bool(dtype == np.float64)


def _shortened(text: bytes) -> str:
    words = text.decode(errors="replace")
    return words if len(words) <= 60 else words[:59] + "…"

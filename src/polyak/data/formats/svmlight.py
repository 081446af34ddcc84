"""Rows from svmlight (libsvm) text: ``label id:value id:value ...``, one row a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyak._core import SvmlightText, TextBlock
from polyak.data.formats.lines import LineReader
from polyak.data.options import ReadOptions
from polyak.data.position import Position
from polyak.data.sources.files import File, Pipe
from polyak.data.text import UNKNOWN_BASE
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows


class SvmlightReader(LineReader):
    """Adds what is peculiar to svmlight text: where ids begin, and how wide rows have become."""

    format = "svmlight"
    text = SvmlightText

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        super().__init__(files, options)
        zero_based = options.zero_based
        base = UNKNOWN_BASE if zero_based == "auto" else 0 if zero_based else 1
        self.first = {"base": base, "width": 0}

    def _parsing(self, at: Position) -> dict[str, Any]:
        if self.n_features is None:
            return {"base": at["base"]}
        return {"base": at["base"], "largest_index": self.n_features - 1}

    def _batch(self, block: TextBlock, last: Position) -> tuple[Batch, dict[str, Any]]:
        width = max(last["width"], block.largest_index + 1)
        n_features = width if self.n_features is None else self.n_features
        rows = SparseRows(block.indptr, block.indices, block.values, n_features, block.checked)
        return Batch(rows, self._targets(block)), {"base": block.base, "width": width}

"""svmlight and VW text as the core reads it: which files, and with which options.

This module imports nothing that takes time, so that the command line can take its defaults here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from polyak._core import SvmlightText, TextBlock, VwText

UNKNOWN_BASE = -1
"""The first feature id of svmlight text, as long as no line has shown it."""
BLOCK_BYTES = 1 << 23
"""Default number of bytes of text that are parsed at a time and become one batch."""
SCORED_BYTES = 1 << 22
"""The same for scoring, where the last block then comes sooner: on ARM 180 MB took 0.209 s instead
of 0.246 s."""
LONGEST_LINE = 1 << 26
"""Default limit on the bytes of a line; a longer one is refused."""
BLOCKS_AHEAD = 12
"""Blocks that are parsed before they are asked for; as rows they take about 4 MB each."""

KEPT_OF_VW = (["tag"], ["*"])
"""The choices of columns to keep that mean the tags of VW text."""

TextReader = SvmlightText | VwText


class Text(NamedTuple):
    """Files of text and the options of the core that decide which rows they give.

    Without paths, the core is fed the text.
    """

    format: str
    paths: tuple[str, ...]
    block_bytes: int
    threads: int
    longest_line: int
    options: dict[str, Any]

    def read(self, file: int = 0, offset: int = 0, bytes_before: int = 0) -> TextReader:
        """Return a reader that parses ahead, beginning at an offset in one of the files."""
        reader = SvmlightText if self.format == "svmlight" else VwText
        return reader(
            list(self.paths),
            file=file,
            offset=offset,
            bytes_before=bytes_before,
            block_bytes=self.block_bytes,
            longest_line=self.longest_line,
            threads=self.threads,
            head_start=BLOCKS_AHEAD,
            **self.options,
        )

    def parse(self, lines: Any) -> TextBlock:
        """Parse lines in memory."""
        return self._replace(paths=(), threads=0).read().parse(lines)


def svmlight_text(
    paths: tuple[str, ...],
    block_bytes: int,
    threads: int,
    *,
    longest_line: int = LONGEST_LINE,
    float64: bool = False,
    base: int = UNKNOWN_BASE,
    n_features: int | None = None,
    skip_bad_lines: bool = False,
    multilabel: bool = False,
) -> Text:
    """Describe svmlight text; ``base`` is its first feature id."""
    options = {
        "float64": float64,
        "base": base,
        "largest_index": 2**63 - 1 if n_features is None else n_features - 1,
        "skip_bad_lines": skip_bad_lines,
        "several_labels": multilabel,
    }
    return Text("svmlight", paths, block_bytes, threads, longest_line, options)


def vw_text(
    paths: tuple[str, ...],
    block_bytes: int,
    threads: int,
    *,
    longest_line: int = LONGEST_LINE,
    float64: bool = False,
    bits: int = 18,
    need_labels: bool = True,
    skip_bad_lines: bool = False,
    multilabel: bool = False,
    names: int = 0,
    crossed: tuple[tuple[str, ...], ...] = (),
    dropped: tuple[str, ...] = (),
    keep: Sequence[str] = (),
) -> Text:
    """Describe VW text: how to hash it, which namespaces to leave out and which to cross.

    At most ``names`` names of features are remembered, one for each slot. Tags are read if ``keep``
    asks for them.
    """
    options = {
        "float64": float64,
        "bits": bits,
        "need_labels": need_labels,
        "skip_bad_lines": skip_bad_lines,
        "several_labels": multilabel,
        "names": names,
        "crossed": [list(spaces) for spaces in crossed],
        "dropped": list(dropped),
        "with_tags": list(keep) in KEPT_OF_VW,
    }
    return Text("vw", paths, block_bytes, threads, longest_line, options)

"""A head start: a text file is read and parsed while Python is still importing.

Importing NumPy and what stands on it takes about as long as parsing 100 MB, and leaves all
processors but one idle. A command that is about to read text begins at once, and hands what it has
begun to whoever opens that text. This module imports nothing that takes time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from polyak._core import SvmlightText, TextBlock, VwText

UNKNOWN_BASE = -1
BLOCK_BYTES = 1 << 23
"""How much text is parsed at a time and handed on as one batch, unless somebody says otherwise."""
SCORED_BYTES = 1 << 22
"""The same for scoring, which ends soon after the last block is parsed: that comes sooner so."""
LONGEST_LINE = 1 << 26
"""How many bytes a line may have, unless somebody says otherwise: more is not believed to end."""
BLOCKS = 12
"""How many blocks to parse at most before they are asked for: as rows, about 4 MB each."""

KEPT_OF_VW = (["tag"], ["*"])
"""What can be kept of VW text: its tags."""

TextReader = SvmlightText | VwText


class Text(NamedTuple):
    """Files of text, and all that decides which rows come of them, in the words of the core.

    Without paths it is what the core is fed.
    """

    format: str
    paths: tuple[str, ...]
    block_bytes: int
    threads: int
    longest_line: int
    options: dict[str, Any]

    def read(self, file: int = 0, offset: int = 0, bytes_before: int = 0) -> TextReader:
        """Read and parse ahead, from a place in one of the files on."""
        reader = SvmlightText if self.format == "svmlight" else VwText
        return reader(
            list(self.paths),
            file=file,
            offset=offset,
            bytes_before=bytes_before,
            block_bytes=self.block_bytes,
            longest_line=self.longest_line,
            threads=self.threads,
            head_start=BLOCKS,
            **self.options,
        )

    def parse(self, lines: Any) -> TextBlock:
        """Parse lines that are there."""
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
    """Describe svmlight text: what its first id is, and how many features it may have."""
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
    """Describe VW text: how to hash it, what to leave out, and which namespaces to cross.

    Up to so many ``names`` are remembered, each that of another slot; and tags, if those are to be
    kept.
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


class HeadStart:
    """Text that is read before anybody opens it: whoever opens the same text takes it over."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._reader: TextReader | None = text.read()

    def taken_over_from(self, base: int) -> TextReader | None:
        """Give what was begun of svmlight text, once, if its first id is this; or else end it."""
        options = self._text.options
        return self.taken_over(self._text._replace(options=options | {"base": base}))

    def end(self) -> None:
        """Read no further."""
        self._reader = None

    def taken_over(self, text: Text, file: int = 0, offset: int = 0) -> TextReader | None:
        """Give what was begun, once, if it is how this text would be read; or else end it.

        A base that was found counts as given.
        """
        reader, self._reader = self._reader, None
        if reader is None or file or offset:
            return None
        if self._text != text and text.format == "svmlight":
            found = self._text.options | {"base": reader.base}
            return reader if self._text._replace(options=found) == text else None
        return reader if self._text == text else None


def begin(text: Text) -> HeadStart | None:
    """Begin to read, if that is what the files look like."""
    looks_right = _looks_like_svmlight if text.format == "svmlight" else _looks_like_vw
    # A pipe can be read once only; and nothing else is to be read in vain. A name that is not UTF-8
    # cannot be told to the core.
    if any("\udc80" <= letter <= "\udcff" for path in text.paths for letter in path):
        return None
    if all(os.path.isfile(path) and looks_right(_head(path)) for path in text.paths):
        return HeadStart(text)
    return None


def _head(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 12)
    except OSError:
        return b""


def _looks_like_svmlight(head: bytes) -> bool:
    """Tell whether it begins with a number and a pair."""
    try:
        label, pair = head.split(None, 2)[:2]
        float(label)
    except ValueError:
        return False
    return b":" in pair


def _looks_like_vw(head: bytes) -> bool:
    return b"|" in head.partition(b"\n")[0] and b"\0" not in head

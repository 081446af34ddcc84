"""A head start: a text file is read and parsed while Python is still importing.

Importing NumPy and what stands on it takes about as long as parsing 100 MB, and leaves all
processors but one idle. A command that is about to read svmlight text begins at once; whoever
opens that text in earnest takes over what was begun. This module imports nothing that takes time.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from polyak._core import SvmlightFiles

UNKNOWN_BASE = -1
BLOCKS = 64
"""How many blocks to parse at most before they are asked for: as rows, about 1 MB each."""


class SvmlightText(NamedTuple):
    """Files of svmlight text, and all that decides what comes of them but the base of their ids."""

    paths: tuple[str, ...]
    block_bytes: int
    threads: int
    float64: bool = False
    n_features: int | None = None
    skip_bad_lines: bool = False

    def read(self, base: int, file: int = 0, offset: int = 0) -> SvmlightFiles:
        """Read and parse ahead, from a place in one of the files on."""
        global _begun
        begun, _begun = _begun, None  # what was begun for another text ends here
        same = begun is not None and begun.text == self and file == offset == 0
        if begun is not None and same and base in (begun.base, begun.files.base):
            return begun.files
        return SvmlightFiles(
            list(self.paths),
            file=file,
            offset=offset,
            block_bytes=self.block_bytes,
            threads=self.threads,
            head_start=BLOCKS,
            float64=self.float64,
            base=base,
            largest_index=2**63 - 1 if self.n_features is None else self.n_features - 1,
            skip_bad_lines=self.skip_bad_lines,
        )


class _Begun(NamedTuple):
    text: SvmlightText
    base: int
    files: SvmlightFiles


_begun: _Begun | None = None


def begin(text: SvmlightText, base: int = UNKNOWN_BASE) -> None:
    """Begin to read, if that is what the files look like."""
    global _begun
    if all(map(_looks_right, text.paths)):
        _begun = _Begun(text, base, text.read(base))


def _looks_right(path: str) -> bool:
    """Whether the first line is a number and a pair, so that nothing else is read in vain."""
    try:
        if not os.path.isfile(path):  # a pipe can be read once only
            return False
        with open(path, "rb", buffering=0) as file:
            label, pair = file.read(1 << 12).split(None, 2)[:2]
        float(label)
        return b":" in pair
    except (OSError, ValueError):
        return False

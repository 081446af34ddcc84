"""Text in another encoding, or JSON that is not an object a line, as what the parsers read."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from polyak._core import json_objects
from polyak.data.sources.compression import first_bytes
from polyak.data.sources.files import Opened
from polyak.errors import DataError

Translate = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Translates bytes that come in portions."""


class Translation(NamedTuple):
    """How the bytes of files become text for the parsers: UTF-8, and one JSON object a line.

    Offsets are those in the translation; so going on from one means reading all before it.
    """

    encoding: str | None
    is_json: bool

    def is_needed(self, file: Any) -> bool:
        """Whether a file has to be translated."""
        return bool(self._steps(file))

    def open(self, file: Any) -> Opened:
        """Begin to read a file, translated if need be."""
        steps = self._steps(file)
        opened: Opened = file.open()
        for step in steps:
            opened.translate(step)
        return opened

    def _steps(self, file: Any) -> list[Translate]:
        """Return how to translate a file that begins as this one does."""
        head, encoding = first_bytes(file), self.encoding
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        steps: list[Translate] = []
        if encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
            steps.append(_to_utf8(file.name, encoding))
            head = head.decode(encoding, errors="ignore").encode()
        if self.is_json and _has_spread_objects(head):
            steps.append(_to_lines)
        return steps


def _to_utf8(name: str, encoding: str) -> Translate:
    def translate(portions: Iterator[bytes]) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            for portion in portions:
                yield decoder.decode(portion).encode()
            yield decoder.decode(b"", final=True).encode()
        except UnicodeError as error:
            raise DataError(f"{name} is not {encoding}: {error}") from error

    return translate


def _to_lines(portions: Iterator[bytes]) -> Iterator[bytes]:
    state = (0, False, False, False)
    for portion in portions:
        lines, state = json_objects(portion, state)
        yield bytes(lines)


def _has_spread_objects(head: bytes) -> bool:
    r"""Whether the objects of JSON are in an array, or on several lines each, by its beginning.

    Examples
    --------
    >>> _has_spread_objects(b' [{"a": 1}]'), _has_spread_objects(b'{\n  "a": 1\n}')
    (True, True)
    >>> _has_spread_objects(b'{"a": 1}\n{"a": 2}\n'), _has_spread_objects(b'{"a": \n')
    (False, False)
    """
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    first = text.partition(b"\n")[0].rstrip()
    return text.startswith(b"[") or (first.startswith(b"{") and first.endswith((b"{", b",", b"[")))


NO_TRANSLATION = Translation(None, is_json=False)
"""Reads bytes as they are, or UTF-16 that says so."""

"""Text in another encoding, or JSON that is not an object a line, as what the parsers read."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any, NamedTuple

from polyak._core import json_objects
from polyak.data.sources.compression import first_bytes
from polyak.data.sources.files import Opened, read_past
from polyak.errors import DataError

Translate = Callable[[bytes, bool], bytes]
"""Translates the next bytes; the second argument says whether they are the last."""

PORTION = 1 << 18


class Translation(NamedTuple):
    """How the bytes of files become text for the parsers: UTF-8, and one JSON object a line.

    Offsets are those in the translation; so going on from one means reading all before it.
    """

    encoding: str | None
    is_json: bool

    def is_needed(self, file: Any) -> bool:
        """Whether a file has to be translated."""
        return bool(self._steps(file))

    def open(self, file: Any) -> Any:
        """Begin to read a file, translated if need be."""
        steps = self._steps(file)
        opened = file.open()
        return _Translating(opened, file.name, steps) if steps else opened

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
            steps.append(_to_lines())
        return steps


class _Translating:
    """Bytes being read and translated."""

    def __init__(self, opened: Opened, name: str, steps: list[Translate]) -> None:
        self._opened = opened
        self._name = name
        self._steps = steps
        self._raw = memoryview(bytearray(PORTION))
        self._ready = memoryview(b"")
        self._at_end = False

    @property
    def bytes_read(self) -> int:
        """How many bytes of the file were read, as they lie on the disk."""
        return self._opened.bytes_read

    def fill(self, buffer: memoryview) -> int:
        """Fill the whole buffer unless the file ends first; return how much was filled."""
        filled = 0
        while filled < len(buffer) and (self._ready or not self._at_end):
            if not self._ready:
                got = self._opened.fill(self._raw)
                self._at_end = got < len(self._raw)
                text = bytes(self._raw[:got])
                for step in self._steps:
                    text = step(text, self._at_end)
                self._ready = memoryview(text)
            n = min(len(buffer) - filled, len(self._ready))
            buffer[filled : filled + n] = self._ready[:n]
            self._ready = self._ready[n:]
            filled += n
        return filled

    def skip(self, n: int) -> None:
        """Go on by ``n`` bytes."""
        read_past(self.fill, n, self._name)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


def _to_utf8(name: str, encoding: str) -> Translate:
    decoder = codecs.getincrementaldecoder(encoding)()

    def translate(text: bytes, is_last: bool) -> bytes:
        try:
            return decoder.decode(text, is_last).encode()
        except UnicodeError as error:
            raise DataError(f"{name} is not {encoding}: {error}") from error

    return translate


def _to_lines() -> Translate:
    state = (0, False, False, False)

    def translate(text: bytes, is_last: bool) -> bytes:
        nonlocal state
        lines, state = json_objects(text, state)
        return bytes(lines)

    return translate


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

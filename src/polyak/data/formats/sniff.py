"""The format of a file by its first bytes, where its name does not show it."""

from __future__ import annotations

import codecs
import re

BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
}
DELIMITERS = (b",", b";", b"\t", b"|")
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_VW = re.compile(rb"[^|]*(^|\s)('\S+)?\|", re.DOTALL)


def format_within(head: bytes) -> str | None:
    r"""Infer a format from a file's first bytes; None if they do not show it.

    Examples
    --------
    >>> heads = b'[{"a": 1}]', b"a;b\n1;2\n", b"1 3:0.5\n", b"1 |f x:2\n"
    >>> [format_within(head) for head in heads]
    ['jsonl', 'csv', 'svmlight', 'vw']
    >>> format_within(b"once upon a time\n") is None
    True
    """
    for beginning, format in BEGINNINGS.items():
        if head.startswith(beginning):
            return format
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.decode("utf-16", errors="ignore").encode()
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text.startswith((b"{", b"[")):
        return "jsonl"
    lines = [line.strip(b"\r\n ") for line in text.split(b"\n")[:20]]
    lines = [line for line in lines if line.split() and not line.startswith(b"#")]
    return "svmlight" if not lines else _of_lines(lines)


def _of_lines(lines: list[bytes]) -> str | None:
    first = lines[0]
    words = first.split()
    pairs = bool(_NUMBER.match(words[0])) and all(b":" in w or w[:1] == b"#" for w in words[1:2])
    if b"|" in first and _VW.match(first) and not _alike(lines, b"|"):
        return "vw"
    if pairs and not any(letter in words[0] for letter in DELIMITERS):
        return "svmlight"
    if any(_alike(lines, letter) for letter in DELIMITERS):
        return "csv"
    return "svmlight" if _NUMBER.match(words[0]) else None


def _alike(lines: list[bytes], letter: bytes) -> bool:
    """Whether a header and the first row have it as often, outside of quotation marks."""
    counts = [b"".join(line.split(b'"')[::2]).count(letter) for line in lines[:2]]
    return counts[0] > 0 and counts[0] == counts[-1] and b" " + letter not in lines[0]

"""The parser on damaged text: it must say a line is bad, or agree with a parser in Python."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from vw_in_python import number

from polyak._core import SvmlightText

PIECES = [
    b" ", b"\n", b"\r\n", b"\t", b":", b"#", b".", b"-", b"+", b"e", b"0", b"9", b",", b"\0",
    b"\xff", b"qid:7 ", b"nan", b"inf", b"1e400", b"1e-400", b" 3:4", b" 0:1", b"12345678",
    b"0000000000", b"9223372036854775807", b"9223372036854775808", b"0.30000000000000004441",
]  # fmt: skip


def parse_line(line: bytes) -> tuple[float, list[tuple[int, float]]] | None:
    """A row as a plain reading of the format has it; None if there is none in the line."""
    tokens = re.split(rb"[ \t\r]+", line.split(b"#")[0].strip(b" \t\r"))
    if tokens == [b""]:
        return None
    row = {}
    for token in tokens[1:]:
        name, _, value = token.partition(b":")
        if re.fullmatch(rb"qid:\d+", token):
            continue
        if not re.fullmatch(rb"\d+", name) or int(name) >= 2**31 or int(name) in row:
            raise ValueError
        row[int(name)] = number(value)
    return number(tokens[0]), sorted(row.items())


def parse_in_python(text: bytes) -> tuple[list[tuple[float, list[tuple[int, float]]]], int]:
    rows, bad = [], 0
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            row = parse_line(line)
        except ValueError:
            bad += 1
            continue
        if row is not None:
            rows.append(row)
    return rows, bad


WORDS = st.one_of(
    st.sampled_from(PIECES),
    st.builds(lambda i, v: b" %d:%r" % (i, v), st.integers(0, 500), st.floats(-1e6, 1e6)),
    st.binary(max_size=4),
)
LABELS = st.sampled_from([b"1", b"-2.5", b"+1e3", b"", b"nan", b"1,2", b"\xef\xbb\xbf1"])
LINES = st.builds(lambda label, words: label + b"".join(words), LABELS, st.lists(WORDS, max_size=9))


@settings(max_examples=1000, deadline=None)
@given(st.lists(LINES, max_size=4).map(b"\n".join))
def test_agrees_with_python_on_damaged_text(text: bytes) -> None:
    block = SvmlightText(float64=True, base=0, skip_bad_lines=True).parse(text)
    rows, bad = parse_in_python(text)
    assert block.bad_lines == bad
    assert block.targets.tolist() == [target for target, _ in rows]
    assert [
        list(zip(block.indices[a:b].tolist(), block.values[a:b].tolist(), strict=True))
        for a, b in pairwise(block.indptr)
    ] == [row for _, row in rows]

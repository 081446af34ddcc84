"""Namespaces of VW text that are crossed or left out: which features come of it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vw_in_python import parse_text

from polyak.data.formats.vw import slot_of
from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.errors import DataError

LINE = b"1 |u a b:2 c:3 |ad x y:0.5 |x z:3\n"


def named(text: bytes, **columns: Any) -> dict[str, float]:
    """The features of a text's one row, by name."""
    how = Columns(names=1000, **columns)
    with open_stream(io.BytesIO(text), format="vw", columns=how) as stream:
        rows = next(stream).rows
        names = stream.names()
    return {names[i]: v for i, v in zip(rows.indices.tolist(), rows.values.tolist(), strict=True)}


def test_every_pair_is_a_feature() -> None:
    plain = named(LINE)
    crossed = named(LINE, interact=("u:ad",))
    pairs = {"u^a*ad^x": 1, "u^b*ad^x": 2, "u^c*ad^x": 3, "u^a*ad^y": 0.5, "u^b*ad^y": 1}
    assert crossed == plain | pairs | {"u^c*ad^y": 1.5}
    itself = {"u^a*u^a": 1, "u^a*u^b": 2, "u^a*u^c": 3, "u^b*u^b": 4, "u^b*u^c": 6, "u^c*u^c": 9}
    assert named(LINE, interact=("u:u",)) == plain | itself
    assert named(b"1 |u a |ad x |z q:2\n", interact=("u:ad:z",))["u^a*ad^x*z^q"] == 2


def test_names_of_crosses_do_not_depend_on_blocks() -> None:
    lines = [f"1 |u a{n} b{n} |ad x{n % 7} y{n % 5}\n" for n in range(200)]
    how = Columns(names=1000, bits=6, interact=("u:ad",))
    found = []
    for text in (lines, lines[::-1]):
        source = io.BytesIO("".join(text).encode())
        with open_stream(source, format="vw", columns=how, block_bytes=200) as stream:
            assert sum(map(len, stream)) == len(lines)
            found.append(dict(stream.names()))
    assert found[0] == found[1]
    assert any("*" in name for name in found[0].values())


def test_a_namespace_is_left_out() -> None:
    assert named(LINE, drop=("u", "x")) == {"ad^x": 1, "ad^y": 0.5}
    with pytest.raises(DataError, match=r"the namespace u of .* is left out; it cannot be crossed"):
        named(LINE, drop=("u",), interact=("u:ad",))


def test_a_namespace_that_no_row_has_is_said() -> None:
    how = Columns(drop=("user",), interact=("u:x",))
    with (
        open_stream(io.BytesIO(LINE), format="vw", columns=how) as stream,
        pytest.warns(UserWarning, match="no row of .* has a namespace user$"),
    ):
        list(stream)


def test_the_slot_is_made_as_vowpal_wabbit_makes_it() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    text = "1 |u a b:2 c:3 |ad x y:0.5"
    bits, mask = 12, 4095

    def slots(options: str) -> set[int]:
        vw = vowpalwabbit.Workspace(f"--quiet --noconstant -b {bits} {options}")
        vw.learn(text)
        return {slot for slot in range(1 << bits) if vw.get_weight(slot)}

    vw = vowpalwabbit.Workspace(f"--quiet --noconstant -b {bits}")
    ours = [slot for slot, _ in vw.example(text).iter_features()]
    user, ad = ours[:3], ours[3:]
    pairs = {((a * 16777619) ^ b) & mask for a in user for b in ad}
    assert slots("-q ua") == {*ours, *pairs}
    itself = {((user[i] * 16777619) ^ user[j]) & mask for i in range(3) for j in range(i, 3)}
    assert slots("-q uu") == {*ours, *itself}
    # and by the same rule from our own slots
    with open_stream(
        io.BytesIO(b"1 |u a |ad x\n"), format="vw", columns=Columns(bits=bits, interact=("u:ad",))
    ) as stream:
        found = set(next(stream).rows.indices.tolist())
    a, x = slot_of("a", "u", bits), slot_of("x", "ad", bits)
    assert found == {a, x, ((a * 16777619) ^ x) & mask}


SPACES = st.sampled_from([b"|u", b"|ad", b"|x:2", b"|"])
FEATURES = st.sampled_from([b"a", b"b:2", b"c:-0.5", b"a:3", b":1", b"long" * 12, b"bad:x"])
PARTS = st.lists(st.one_of(SPACES, FEATURES), max_size=9)
LINES = PARTS.map(lambda parts: b"1 | " + b" ".join(parts))


@given(st.lists(LINES, max_size=12), st.integers(3, 20))
@settings(max_examples=200, deadline=None)
def test_it_is_what_the_plainest_parser_finds(lines: list[bytes], bits: int) -> None:
    text = b"\n".join([*lines, b"1 |u a |ad b |x c"])
    how = Columns(bits=bits, interact=("u:ad", "ad:u:ad", "u:u"), drop=("x",))
    with open_stream(
        io.BytesIO(text), format="vw", columns=how, skip_bad_lines=True, dtype=np.float64
    ) as stream:
        batches = list(stream)
        bad = stream.bad_lines
    crossed = [[b"u", b"ad"], [b"ad", b"u", b"ad"], [b"u", b"u"]]
    expected, n_bad = parse_text(text, bits, crossed=crossed, dropped=[b"x"])
    found = [
        dict(zip(rows.indices[a:b].tolist(), rows.values[a:b].tolist(), strict=True))
        for rows in (batch.rows for batch in batches)
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    assert (found, bad) == ([row.features for row in expected], n_bad)


def test_rows_that_grow_far_beyond_their_text() -> None:
    words = " ".join(f"w{i}" for i in range(300))
    text = f"1 |u {words} |ad {words}\n".encode() * 5
    with open_stream(
        io.BytesIO(text), format="vw", columns=Columns(bits=22, interact=("u:ad",))
    ) as stream:
        rows = next(stream).rows
    lengths = np.diff(rows.indptr)
    assert (lengths == lengths[0]).all()
    assert 88_000 < lengths[0] <= 90_600
    many = " ".join(f"w{i}" for i in range(5000))
    too_many = f"1 |u {many} |ad {many}\n".encode()
    with pytest.raises(DataError, match=r"line 1: .*crossed to more features than a row may have"):
        named(too_many, interact=("u:ad",))

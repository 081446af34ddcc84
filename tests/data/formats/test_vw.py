"""VW text: what a line may be, which slot a name has, what is refused, and nothing else."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import read_all
from vw_in_python import parse_text

from polyak._core import VwText, hash_name
from polyak.data.formats.vw import slot_of
from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.errors import DataError


def parse(text: str | bytes, bits: int = 18, **options):
    """One batch of a text small enough to be one."""
    data = text if isinstance(text, bytes) else text.encode()
    (batch,) = read_all(io.BytesIO(data), format="vw", columns=Columns(bits=bits), **options)
    return batch


def features(text: str | bytes, **options) -> dict[int, float]:
    """The features of a text's one row, by slot."""
    rows = parse(text, **options).rows
    return dict(zip(rows.indices.tolist(), rows.values.tolist(), strict=True))


def names(**values: float) -> dict[int, float]:
    return {slot_of(name): value for name, value in values.items()}


class TestWhatALineMayBe:
    @pytest.mark.parametrize(
        "line",
        [
            "1 | a:0.5 b",
            "1 |  a:0.5\tb:1 \r\n",
            "1 1 | a:0.5 b",
            "1 1 0 'tag| a:0.5 b",
            "1 1.0 0.0 tag| a:0.5 b",
            "1 'tag | a:0.5 b",
            "+1 tag| b | a:0.5",
            "1 | a:0.25 b a:.25",
            "1 | b:1e0 a:5e-1",
            "\n \r\n1 |\tb|\ta:0.50000000000000000000\n\n",
            "\ufeff1 | a:0.5 b",
        ],
    )
    def test_forms_of_the_same_row(self, line: str) -> None:
        batch = parse(line)
        assert batch.targets.tolist() == [1.0]
        assert batch.weights is None
        assert features(line) == names(a=0.5, b=1.0)
        assert batch.rows.n_features == 2**18

    def test_long_names_and_strange_ones(self) -> None:
        long = "n" * 1000
        assert features(f"1 |{long} {long}:2 a") == {
            slot_of(long, long): 2.0,
            slot_of("a", long): 1.0,
        }
        assert features("1 | a^b é # 'q") == {slot_of(n): 1.0 for n in ("a^b", "é", "#", "'q")}
        assert len(features(b"1 | \xff\xfe \x00 \x01:2")) == 3

    def test_types(self) -> None:
        batch = parse("1 0.5 | a")
        assert batch.targets.dtype == batch.weights.dtype == np.float64
        assert batch.rows.indptr.dtype == np.int64
        assert batch.rows.indices.dtype == np.int32
        assert batch.rows.values.dtype == np.float32
        assert parse("1 | a", dtype=np.float64).rows.values.dtype == np.float64

    @pytest.mark.parametrize("n", [1, 2, 11, 13, 100, 255, 256, 4095, 4097, 9000])
    def test_slots_ascend_whatever_the_length(self, n: int) -> None:
        line = "1 | " + " ".join(f"w{i}:{i % 9}.5" for i in range(n))
        rows = parse(line).rows
        assert np.all(np.diff(rows.indices) > 0)
        assert rows.values.sum(dtype=float) == sum(i % 9 + 0.5 for i in range(n))


class TestSlots:
    """Fixed, so that a model learned anywhere means the same everywhere."""

    @pytest.mark.parametrize(
        ("space", "name", "slot"),
        [("", "a", 28251), ("", "1", 91348), ("house", "price", 2426), ("é", "ü", 55016)],
    )
    def test_fixed_vectors(self, space: str, name: str, slot: int) -> None:
        assert slot_of(name, space) == slot
        assert features(f"1 |{space} {name}") == {slot: 1.0}

    @pytest.mark.parametrize("bits", [1, 7, 18, 30])
    def test_the_low_bits(self, bits: int) -> None:
        widest = slot_of("price", "house", 30)
        assert features("1 |house price", bits=bits) == {widest % 2**bits: 1.0}
        assert parse("1 |house price", bits=bits).rows.n_features == 2**bits


class TestNames:
    def test_of_the_slots_that_were_seen(self) -> None:
        text = b"1 |n a:2 b :7\n1 | c\n" * 50
        with open_stream(
            io.BytesIO(text), format="vw", columns=Columns(names=10), block_bytes=100
        ) as stream:
            assert sum(map(len, stream)) == 100
            assert stream.names() == {
                slot_of("a", "n"): "n^a",
                slot_of("b", "n"): "n^b",
                slot_of("0", "n"): "n^0",
                slot_of("c"): "c",
            }

    def test_of_two_in_a_slot_the_smaller_hash_stays(self) -> None:
        words = [f"w{i}" for i in range(100)]
        text = "".join(f"1 | {word}\n" for word in reversed(words)).encode()
        options = {"format": "vw", "columns": Columns(names=10, bits=1), "block_bytes": 40}
        with open_stream(io.BytesIO(text), **options) as stream:
            list(stream)
            slots = [[w for w in words if slot_of(w, bits=1) == slot] for slot in (0, 1)]
            assert stream.names() == {slot: min(slots[slot], key=hash_name) for slot in (0, 1)}

    def test_none_unless_asked_for(self) -> None:
        with open_stream(io.BytesIO(b"1 | a\n"), format="vw") as stream:
            list(stream)
            assert stream.names() == {}


class TestLabelsAndWeights:
    def test_rows_without_a_label_are_for_predicting_only(self) -> None:
        text = "| a\n1 | b\n'tag | c\n1| d\n"
        batch = parse(text, targets=False)
        assert batch.targets is None
        assert len(batch) == 4
        with open_stream(io.BytesIO(text.encode()), format="vw") as stream:
            assert [batch.targets.tolist() for batch in stream] == [[1.0]]
            assert (stream.rows_read, stream.rows_without_target) == (1, 3)

    def test_no_label_at_all(self) -> None:
        with pytest.raises(DataError, match="has no label to learn: labels stand apart from the"):
            parse("1| a\n| b\n")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("1 2:0.5 3:1", "there is no bar between label and features: '1 2:0.5 3:1'"),
            ("shared |user a", "examples of several lines, with shared features, cannot be read"),
            ("1:2:0.5 | a", "a row may have one number as its label only: '1:2:0.5'"),
            ("1,2 | a", "several labels are for models that learn them (multilabel=True): '1,2'"),
            ("yes | a", "before the bar stand a label, an importance and a base"),
            ("1 1 0 7 | a", "before the bar stand a label, an importance and a base"),
            ("1 'tag 7 | a", "before the bar stand a label, an importance and a base"),
            ("nan | a", "a number before the bar is not finite: 'nan'"),
            ("1e999 | a", "the label is too large: '1e999'"),
            ("1 1e999 | a", "the importance is too large"),
            ("1 -1 | a", "the importance is negative"),
            ("1 -1 'tag| a", "the importance is negative"),
            ("1 1 0.5 | a", "a base other than 0 is added to the score only with --offset base"),
            ("1 1 1e999 | a", "the base is too large"),
            ("1 |:2 a", "a namespace must be written |name or |name:scale: ':2'"),
            ("1 |n:x a", "a namespace must be written |name or |name:scale: 'n:x'"),
            ("1 |n:1e999 a", "a namespace must be written |name or |name:scale"),
            ("1 | a:", "a value is not a number: 'a:'"),
            ("1 | a:x", "a value is not a number: 'a:x'"),
            ("1 | a:1:2", "a value is not a number: 'a:1:2'"),
            ("1 | a:0.5x", "a value is not a number: 'a:0.5x'"),
            ("1 | a:nan", "a value is not finite: 'a:nan'"),
            ("1 | a:-Infinity", "a value is not finite"),
            ("1 | a:1e39", "a value is too large: 'a:1e39'"),
            ("1 |n:1e38 a:9", "a value is too large: 'a:9'"),
            ("1 | a:3e38 a:3e38", "values of one slot add up to too much"),
        ],
    )
    def test_reason_place_and_text(self, line: str, message: str) -> None:
        with pytest.raises(DataError) as caught:
            parse(f"1 | a\n\n{line}\n1 | b\n")
        assert str(caught.value).startswith("the file object, line 3: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_number_of_features(self) -> None:
        assert parse("1 | a", n_features=2**18).rows.n_features == 2**18
        with pytest.raises(DataError, match=r"hashed into 2\^18 slots: the number of bits"):
            parse("1 | a", n_features=100)


words = st.text("ab1^'#.-é", min_size=1, max_size=4).map(str.encode)
NUMBERS = "1 0 -2 0.5 -0.25 .5 7. 1e3 -1E-3 12 +3 0.123456789 1.00000000000000001 1e300 1e39"
values = st.sampled_from([*NUMBERS.encode().split(), b"x", b"", b"nan", b"1:2"])
feature = st.one_of(
    words,
    st.builds(lambda word, value: word + b":" + value, words, values),
    values.map(lambda value: b":" + value),
)
blanks = st.sampled_from([b" ", b"  ", b"\t", b" \r"])
spaces = st.builds(
    lambda name, scale, blank, parts: b"|" + name + scale + blank + blank.join(parts),
    st.one_of(st.just(b""), words),
    st.one_of(st.just(b""), values.map(lambda value: b":" + value)),
    blanks,
    st.lists(feature, max_size=6),
)
heads = st.builds(
    lambda parts, blank, tag: blank.join([*parts, tag]),
    st.lists(st.one_of(values, words), max_size=4),
    blanks,
    st.sampled_from([b"", b"tag", b"'tag", b"'tag "]),
)
lines = st.builds(lambda head, parts: head + b"".join(parts), heads, st.lists(spaces, max_size=3))
texts = st.lists(st.one_of(lines, st.just(b""), st.binary(max_size=12)), max_size=6).map(b"\n".join)


class TestAgainstPython:
    @settings(max_examples=500, deadline=None)
    @given(texts, st.sampled_from([1, 4, 18, 30]), st.booleans())
    @example(b"1 1 0 |a:-1 b:1 b:1 |a b:2", 18, False)
    @example(b"1 2.5 |n:2 a:3 :3 x :4 |m a:-1.5 | :5\n-1 0 |", 1, True)
    @example(b"0 | a:-0", 18, True)
    @example(b"1 |n " + b"x" * 33 + b":2 y", 18, True)
    def test_any_text(self, text: bytes, bits: int, float64: bool) -> None:
        rows, bad = parse_text(text, bits, np.float64 if float64 else np.float32)
        for need_labels in (False, True):
            how: Any = {"float64": float64, "need_labels": need_labels}
            block = VwText(bits=bits, skip_bad_lines=True, **how).parse(text)
            targets, weights, indptr = block.targets, block.weights, block.indptr
            wanted = [row for row in rows if row.label is not None or not need_labels]
            assert (block.bad_lines, block.unlabelled) == (bad, len(rows) - len(wanted))
            assert [None if np.isnan(t) else t for t in targets] == [row.label for row in wanted]
            mine = [1.0] * len(targets) if weights is None else weights.tolist()
            assert mine == [row.weight for row in wanted]
            assert [
                list(zip(block.indices[a:b].tolist(), block.values[a:b].tolist(), strict=True))
                for a, b in pairwise(indptr)
            ] == [list(row.features.items()) for row in wanted]

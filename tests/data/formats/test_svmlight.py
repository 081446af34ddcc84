"""The parser: what it takes, what it refuses, and that its numbers are Python's."""

from __future__ import annotations

import io
import struct
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import read_all
from sklearn.datasets import load_svmlight_file

from polyak.data.open import open_stream
from polyak.errors import DataError


def parse(text: str | bytes, **options):
    """One batch of a text small enough to be one."""
    data = text if isinstance(text, bytes) else text.encode()
    (batch,) = read_all(io.BytesIO(data), **options)
    return batch


def values(text: str | bytes, **options) -> list[float]:
    return parse(text, **options).rows.values.tolist()


class TestWhatALineMayBe:
    @pytest.mark.parametrize(
        "line",
        [
            "1 2:0.5 7:3",
            "1 2:0.5 7:3\n",
            "1 2:0.5 7:3\r\n",
            "1 2:0.5 7:3 \n",
            "  1   2:0.5\t\t7:3  \r\n",
            "+1 qid:17 2:0.5 7:3 # a comment 8:1",
            "1.0 2:.5 7:3.#comment",
            "1e0 2:+5e-1 7:3",
            "# a comment\n\n \t\n1 7:3 2:0.5\n\n# another",
            "\ufeff1 2:0.5 7:3",
            "1 00000002:0.5 000000000000000000000000000007:3",
            "1 2:0.50000000000000000000000000000 7:300000000000000000000e-20",
        ],
    )
    def test_forms_of_the_same_row(self, line: str) -> None:
        batch = parse(line)
        assert batch.targets.tolist() == [1.0]
        assert batch.rows.indices.tolist() == [1, 6]
        assert batch.rows.values.tolist() == [0.5, 3.0]
        assert batch.rows.n_features == 7

    def test_types(self) -> None:
        batch = parse("1 2:0.5")
        assert batch.targets.dtype == np.float64
        assert batch.rows.indptr.dtype == np.int64
        assert batch.rows.indices.dtype == np.int32
        assert batch.rows.values.dtype == np.float32
        assert parse("1 2:0.5", dtype=np.float64).rows.values.dtype == np.float64
        with pytest.raises(ValueError, match="dtype must be float32 or float64"):
            open_stream(io.BytesIO(b"1"), dtype=np.int32)

    def test_the_largest_id(self) -> None:
        rows = parse(f"1 0:1 {2**31 - 1}:2").rows
        assert rows.indices.tolist() == [0, 2**31 - 1]
        assert rows.n_features == 2**31
        with pytest.raises(DataError, match=r"id must be a whole number below 2\^31"):
            parse(f"1 1:1\n1 {2**31}:2\n")


class TestWhereIdsBegin:
    def test_at_one_unless_a_zero_is_seen(self) -> None:
        assert parse("1 1:1\n1 2:1").rows.indices.tolist() == [0, 1]
        assert parse("1 1:1\n1 0:1").rows.indices.tolist() == [1, 0]

    def test_as_told(self) -> None:
        assert parse("1 1:1", zero_based=True).rows.indices.tolist() == [1]
        assert parse("1 1:1", zero_based=False).rows.indices.tolist() == [0]
        with pytest.raises(DataError, match="line 1: ids begin at 1 here"):
            parse("1 0:1", zero_based=False)

    def test_known_only_once_there_is_a_feature(self) -> None:
        batches = read_all(io.BytesIO(b"1\n" * 50 + b"1 0:1\n"), block_bytes=20)
        assert batches[-1].rows.indices[-1] == 0

    def test_a_zero_too_late(self) -> None:
        text = b"1 1:1\n" * 100 + b"1 0:1 3:2\n"
        with pytest.raises(DataError, match=r"line 101: .*\(zero_based=True .*: '0'"):
            read_all(io.BytesIO(text), block_bytes=60)
        assert len(read_all(io.BytesIO(text), block_bytes=60, zero_based=True)) > 1


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("a 1:1", "the label is not a number: 'a'"),
            ("1,2 1:1", "several labels are for models that learn them (multilabel=True): '1,2'"),
            ("1:2 3:4", "the line does not begin with a label: '1:2'"),
            ("nan 1:1", "the label is not finite: 'nan'"),
            ("-inf 1:1", "the label is not finite: '-inf'"),
            ("1e999 1:1", "the label is too large: '1e999'"),
            ("1 1", "a feature must be written id:value: '1'"),
            ("1 1:", "a value is not a number: '1:'"),
            ("1 1: 2", "a value is not a number: '1:'"),
            ("1 1:x", "a value is not a number: '1:x'"),
            ("1 1:1_000", "a value is not a number: '1:1_000'"),
            ("1 1:0x10", "a value is not a number: '1:0x10'"),
            ("1 1:1e", "a value is not a number: '1:1e'"),
            ("1 1:1e+", "a value is not a number: '1:1e+'"),
            ("1 1:.", "a value is not a number: '1:.'"),
            ("1 1:--1", "a value is not a number: '1:--1'"),
            ("1 1:1.2.3", "a value is not a number: '1:1.2.3'"),
            ("1 1:2:3", "a value is not a number: '1:2:3'"),
            ("1 1:NaN", "a value is not finite: '1:NaN'"),
            ("1 1:-Infinity", "a value is not finite: '1:-Infinity'"),
            ("1 1:1e400", "a value is too large: '1:1e400'"),
            ("1 1:1e39", "a value is too large: '1:1e39'"),
            ("1 -1:2", "a feature's id must be a whole number below 2^31: '-1:2'"),
            ("1 1.5:2", "a feature must be written id:value: '1.5:2'"),
            ("1 :2", "a feature's id must be a whole number below 2^31: ':2'"),
            ("1 9223372036854775808:2", "must be a whole number below 2^31: '92233720368547"),
            ("1 3:1 4:1 3:2", "a feature appears twice: '3'"),
            ("1 qid:x 3:1", "the query is not written qid:number: 'qid:x'"),
            ("1 sid:2 3:1", "a feature's id must be a whole number below 2^31: 'sid:2'"),
            ("\x00", "the label is not a number"),
        ],
    )
    def test_reason_place_and_text(self, line: str, message: str) -> None:
        with pytest.raises(DataError) as caught:
            parse(f"1 1:1\n\n# three\n{line}\n1 1:1\n")
        assert str(caught.value).startswith("the file object, line 4: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_long_text_is_shortened(self) -> None:
        with pytest.raises(DataError) as caught:
            parse("1 1:1\n" + "x" * 10_000)
        assert len(str(caught.value)) < 150
        assert "…" in str(caught.value)

    def test_invalid_utf8(self) -> None:
        with pytest.raises(DataError, match="line 1"):
            parse(b"\xff\xfe 1:1", format="svmlight")

    def test_features_beyond_the_number_given(self) -> None:
        assert parse("1 3:1", n_features=3).rows.n_features == 3
        with pytest.raises(DataError, match=r"line 1: .*beyond the number of features: '4'"):
            parse("1 4:1", n_features=3)
        with pytest.raises(DataError, match="beyond"):
            parse("1 0:1 3:1", n_features=3)

    def test_skipped_and_counted(self) -> None:
        lines = [b"1 1:1" if i % 3 else b"bad%d 1:1" % i for i in range(100)]
        with open_stream(
            io.BytesIO(b"\n".join(lines)),
            format="svmlight",
            skip_bad_lines=True,
            block_bytes=64,
        ) as stream:
            rows = sum(map(len, stream))
        assert (rows, stream.rows_read, stream.bad_lines) == (66, 66, 34)
        assert [bad.line for bad in stream.first_bad_lines] == [3 * i + 1 for i in range(10)]
        assert stream.first_bad_lines[1] == (
            "the file object",
            4,
            "bad3",
            "the label is not a number",
        )


def halfway(bits: int) -> str:
    """The number between a double and the next, in full."""
    low, high = struct.unpack("<2d", struct.pack("<2Q", bits, bits + 1))
    with localcontext() as context:
        context.prec = 1200
        return format((Decimal(low) + Decimal(high)) / 2, "e")


digits = st.text("0123456789", max_size=30)
decimals = st.builds(
    lambda sign, whole, point, fraction, exponent: sign + whole + point + fraction + exponent,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.integers(-400, 400).map(lambda e: f"e{e}")),
)
doubles = st.floats(allow_nan=False, allow_infinity=False)
hard = st.integers(0, 0x7FE0000000000000).map(halfway)
numbers = st.one_of(
    decimals,
    doubles.map(repr),
    st.builds(lambda x, d: f"{x:.{d}e}", doubles, st.integers(0, 30)),
    hard,
    hard.map(lambda text: text.replace("e", "1e")),
    hard.map(lambda text: text.replace("e", "0" * 800 + "1e")),
)


class TestNumbersArePythons:
    @settings(max_examples=1500, deadline=None)
    @given(numbers)
    @example("2.2250738585072012e-308")
    @example("2.2250738585072011e-308")
    @example("4.9406564584124654e-324")
    @example("2.4703282292062327e-324")
    @example("2.4703282292062328e-324")
    @example("1e-400")
    @example("1.7976931348623158e308")
    @example("1.7976931348623159e308")
    @example("9007199254740993")
    @example("9007199254740992.999999999999999999")
    @example("0." + "0" * 400 + "1e401")
    @example("1" + "0" * 400 + "e-400")
    @example("-0")
    @example("1e99999999999999999999")
    @example("1e-99999999999999999999")
    @example("0e99999999999999999999")
    @example("123456789012345678")
    @example("0.99999999999999994448884876874")
    def test_equal_to_float(self, text: str) -> None:
        # Each as a label, a double and a float, all of them by the same text.
        try:
            expected = float(text)
        except ValueError:
            expected = None
        line = f"{text} 1:{text}\n".encode()
        if expected is None or not np.isfinite(expected):
            with pytest.raises(DataError):
                parse(line, dtype=np.float64)
            return
        batch = parse(line, dtype=np.float64)
        for number in (batch.targets[0], batch.rows.values[0]):
            assert struct.pack("d", number) == struct.pack("d", expected)
        with np.errstate(over="ignore"):
            single = np.float32(expected)
        if np.isfinite(single):
            assert parse(f"1 1:{text}").rows.values.tobytes() == single.tobytes()
        else:
            with pytest.raises(DataError, match="too large"):
                parse(f"1 1:{text}")


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("name", ["a9a.train.svm.gz", "rcv1.train.svm.gz"])
    def test_real_files(self, real_data: Path, name: str) -> None:
        path = str(real_data / name)
        X, y = load_svmlight_file(path, dtype=np.float64)
        batches = read_all(path, dtype=np.float64)
        indices = np.concatenate([batch.rows.indices for batch in batches])
        assert np.array_equal(np.concatenate([batch.targets for batch in batches]), y)
        assert np.array_equal(indices, X.indices)
        assert np.array_equal(np.concatenate([batch.rows.values for batch in batches]), X.data)

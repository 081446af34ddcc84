"""Every kind of Arrow column that holds numbers or times, as the core copies it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from polyak._core import column_numbers

SECONDS_A_DAY = 86_400
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def copied(array: pa.Array) -> list[float]:
    return column_numbers(*array.__arrow_c_array__()).tolist()


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_whole_numbers(kind: str) -> None:
    ends = np.iinfo(kind)
    array = pa.array([7, ends.min, None, ends.max], kind)
    np.testing.assert_equal(copied(array), [7.0, float(ends.min), np.nan, float(ends.max)])
    np.testing.assert_equal(copied(array.slice(1, 2)), [float(ends.min), np.nan])


def test_other_numbers() -> None:
    for kind in (pa.float32(), pa.float64()):
        np.testing.assert_equal(copied(pa.array([0.5, None], kind)), [0.5, np.nan])
    bits = [True, False, None] * 5
    wanted = [1.0, 0.0, np.nan] * 5
    np.testing.assert_equal(copied(pa.array(bits)), wanted)
    np.testing.assert_equal(copied(pa.array(bits).slice(7)), wanted[7:])
    np.testing.assert_equal(copied(pa.nulls(2)), [np.nan, np.nan])


@pytest.mark.parametrize(
    ("kind", "a_day"),
    [
        (pa.date32(), 1.0),
        (pa.date64(), SECONDS_A_DAY * 1e3),
        *((pa.time32(unit), SECONDS_A_DAY * UNITS[unit]) for unit in ("s", "ms")),
        *((pa.time64(unit), SECONDS_A_DAY * UNITS[unit]) for unit in ("us", "ns")),
        *((pa.timestamp(unit), SECONDS_A_DAY * per) for unit, per in UNITS.items()),
    ],
    ids=str,
)
def test_times_are_days(kind: pa.DataType, a_day: float) -> None:
    counts = [0, 1, 1_234_567_891, None, -1, -1_234_567_000]
    array = pa.array(counts, f"int{kind.bit_width}").view(kind)
    wanted = np.array(counts, dtype=float)
    if kind in (pa.time64("ns"), pa.timestamp("ns")):  # whole microseconds, from below
        wanted, a_day = np.floor(wanted / 1e3), a_day / 1e3
    np.testing.assert_equal(copied(array), (wanted / a_day).tolist())
    np.testing.assert_equal(copied(array.slice(2)), (wanted / a_day)[2:].tolist())


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="a column of type z is no number"):
        copied(pa.array([b"x"]))

"""Whatever the processor can do, a text has one meaning: every build gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyak import _core
from polyak._core import SvmlightText

BUILDS = _core.kernel_builds


@pytest.fixture(autouse=True)
def best_build_again() -> Iterator[None]:
    yield
    _core.use_kernels(_core.kernels)


def parsed(text: bytes, build: str, float64: bool) -> tuple[object, ...]:
    _core.use_kernels(build)
    block = SvmlightText(float64=float64, skip_bad_lines=True).parse(text)
    arrays = (block.targets, block.indptr, block.indices, block.values)
    counts = (block.lines, block.bad_lines, block.first_bad, block.largest_index, block.base)
    return (*[(array.dtype, array.tobytes()) for array in arrays], *counts)


def digits(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=least, max_size=most)


# As the quick path wants them, and with everything that it has to notice.
plain = st.builds("{}:{}.{} ".format, digits(1, 8), digits(1, 1), digits(1, 7))
odd = st.one_of(
    st.builds("{}:{}.{} ".format, digits(0, 11), digits(0, 3), digits(0, 10)),
    st.builds("{}:{} ".format, digits(1, 4), digits(1, 9)),
    st.builds("{}:-{}.{} ".format, digits(1, 4), digits(1, 1), digits(1, 7)),
    st.builds("{}:{}.{}e-2 ".format, digits(1, 4), digits(1, 1), digits(1, 5)),
    st.sampled_from([" ", "\t", "\n-1 ", "\r\n1 ", "# 5:0.5 ", "1:0.1:0.2 ", "7:0,5 ", "7:0/5 "]),
    st.sampled_from(["1:0.5: ", "1::0.5 ", "1:0..5 ", "1.5:0.5 ", "qid:7 ", "1:1.0.1 ", "nan "]),
)
rows = st.lists(st.one_of(plain, plain, plain, plain, odd), max_size=40).map("".join)


@settings(max_examples=400)
@given(text=rows.map(lambda features: f"1 {features}\n".encode()), float64=st.booleans())
@example(text=b"1 1:0.1 2:0.2 3:0.3 4:0.4\n", float64=False)  # the fourth ends the line
@example(text=b"1 1:0.1 2:0.2 3:0.3 4:0.4 \n", float64=False)
@example(text=b"1 12345678:0.123456 2:0.2 3:0.3 4:0.4 5:1.5\n", float64=True)  # seventeen wide
@example(text=b"1 0:0.1 1:0.2 2:0.3 3:0.4 5:1.5\n", float64=True)  # begins at zero after all
@example(text=b"1 9999999999:0.5 1:0.2 2:0.3 3:0.4 5:1.5 6:1.0\n", float64=True)  # falls
@example(text=b"1 5:0.5 4:0.2 4:0.3 3:0.4 6:1.5 7:1.0\n", float64=True)  # twice
def test_every_build_gives_the_same_bits(text: bytes, float64: bool) -> None:
    if "scalar" not in BUILDS:
        pytest.skip("the build without vectors is part of editable installs alone")
    first, *others = (parsed(text, build, float64) for build in BUILDS)
    for other in others:
        assert other == first


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("float64", [False, True])
def test_numbers_are_pythons(build: str, float64: bool) -> None:
    rng = np.random.default_rng(5)
    expected, lines = [], []
    for _ in range(300):
        ids = np.unique(rng.integers(1, 10 ** rng.integers(1, 9), 30))
        words = [f"{rng.uniform(0, 10):.{rng.integers(1, 8)}f}"[:9] for _ in ids]
        lines.append("1 " + " ".join(f"{i}:{w}" for i, w in zip(ids, words, strict=True)))
        expected += [float(word) for word in words]
    _core.use_kernels(build)
    text = "\n".join(lines).encode()
    values = SvmlightText(float64=float64, base=1).parse(text).values
    assert np.array_equal(values, np.array(expected).astype(values.dtype))

"""Lines that are parsed in another order than they stand in, and spans that are copied."""

from __future__ import annotations

import numpy as np
import pytest

from polyak._core import PADDING, line_places
from polyak.data.text import svmlight_text

TEXT = b"1 1:1\n\n-1 2:2 3:3\r\n1 # nothing\n"


def padded(text: bytes) -> bytes:
    return text + b"?" * PADDING


def test_lines_are_found_between_two_places() -> None:
    assert line_places(TEXT, 0, len(TEXT)).tolist() == [[0, 6], [6, 7], [7, 19], [19, 31]]
    assert line_places(TEXT, 3, 10).tolist() == [[3, 6], [6, 7], [7, 10]]
    assert line_places(TEXT, 5, 5).tolist() == []
    with pytest.raises(ValueError, match="no such text"):
        line_places(TEXT, 0, len(TEXT) + 1)


def test_lines_are_parsed_as_if_they_stood_in_that_order() -> None:
    reader = svmlight_text((), 1 << 20, 0).read()
    places = line_places(TEXT, 0, len(TEXT))
    lines = [TEXT[begin:end] for begin, end in places.tolist()]
    for order in [0, 1, 2, 3], [3, 2, 0], [2, 1], []:
        found = reader.parse_in_order(padded(TEXT), places, np.array(order, np.int64))
        expected = reader.parse(b"".join(lines[line] for line in order))
        for name in "targets", "indptr", "indices", "values":
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert found.lines == len(order)


def test_bad_lines_are_numbered_in_that_order() -> None:
    reader = svmlight_text((), 1 << 20, 0, skip_bad_lines=True).read()
    text = b"1 1:1\nnonsense\n-1 2:2\n"
    order = np.array([2, 0, 1])
    block = reader.parse_in_order(padded(text), line_places(text, 0, len(text)), order)
    assert [line for line, _, _ in block.first_bad] == [2]


@pytest.mark.parametrize("places", [[[0, 99]], [[-1, 6]], [[6, 6]], [[0, 5]], [[6, 0]]])
def test_lines_that_are_not_of_the_text_are_refused(places: list[list[int]]) -> None:
    reader = svmlight_text((), 1 << 20, 0).read()
    with pytest.raises(ValueError, match="is not one of the text"):
        reader.parse_in_order(padded(TEXT), np.array(places), np.array([0]))
    with pytest.raises(ValueError, match="there is no line 1"):
        reader.parse_in_order(padded(TEXT), np.array(places), np.array([1]))

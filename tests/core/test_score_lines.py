"""Lines straight from rows: what scores printed one by one would be, or the name of the best."""

from __future__ import annotations

import numpy as np
import pytest

from polyak._core import print_lines, score_lines, score_rows
from polyak.data.text import svmlight_text

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("checked", [False, True])
def test_scores(dtype, columns, checked):
    text = "".join(f"1 1:{a:.3f} 3:{b:.3f}\n" for a, b in RANDOM.normal(size=(50, 2)))
    block = svmlight_text((), 1 << 20, 0, base=1).parse(text.encode())
    rows = (block.checked,) if checked else (block.indptr, block.indices, block.values)
    weights = RANDOM.normal(size=(3, columns)).astype(dtype)
    intercept = RANDOM.normal(size=columns)
    scores = (score_rows(*rows, weights) + intercept).astype(np.float64)
    assert score_lines(*rows, weights, intercept, None) == print_lines(scores)
    # Anything with a buffer will do, NumPy or not.
    views = memoryview(weights.tobytes()).cast("B").cast(weights.dtype.char, weights.shape)
    assert score_lines(*rows, views, memoryview(intercept), None) == print_lines(scores)
    names = ["a", "b", "ü"][: max(2, columns)]
    best = scores[:, 0] > 0 if columns == 1 else scores.argmax(axis=1)
    named = "".join(f"{names[place]}\n" for place in best.astype(int))
    assert score_lines(*rows, weights, intercept, names) == named.encode()


@pytest.mark.parametrize(
    "scores", [[1.0, 1.0, 0.0], [0.0, np.nan, 2.0], [-np.inf, -np.inf, -np.inf], [np.nan, 1, 2]]
)
def test_ties_and_what_is_no_number(scores):
    """As NumPy has it: the first of several, and before all what is not a number."""
    rows, weights = np.zeros((1, 1)), np.zeros((1, 3))
    found = score_lines(None, None, rows, weights, np.array(scores), ["0", "1", "2"])
    assert int(found) == np.argmax(scores)


def test_what_does_not_fit_is_refused():
    rows, weights = np.zeros((2, 1)), np.zeros((1, 3))
    with pytest.raises(ValueError, match="intercepts differ"):
        score_lines(None, None, rows, weights, np.zeros(2), None)
    with pytest.raises(ValueError, match="names differ"):
        score_lines(None, None, rows, weights, np.zeros(3), ["no", "yes"])
    assert score_lines(None, None, rows[:0], weights, np.zeros(3), None) == b""

"""Scores as lines of text, and as the names of the best."""

from __future__ import annotations

import numpy as np
import pytest

from polyak._core import print_lines, print_names

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("columns", [1, 3])
def test_names_of_the_best(columns):
    scores = RANDOM.normal(size=(50, columns))
    names = ["a", "b", "ü"][: max(2, columns)]
    best = scores[:, 0] > 0 if columns == 1 else scores.argmax(axis=1)
    named = "".join(f"{names[place]}\n" for place in best.astype(int))
    assert print_names(scores, names) == named.encode()


@pytest.mark.parametrize(
    "scores", [[1.0, 1.0, 0.0], [0.0, np.nan, 2.0], [-np.inf, -np.inf, -np.inf], [np.nan, 1, 2]]
)
def test_ties_and_nan_as_in_numpy(scores):
    """The first of several highest scores wins, and before all the first NaN."""
    assert int(print_names(np.array([scores]), ["0", "1", "2"])) == np.argmax(scores)


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="names differ"):
        print_names(np.zeros((2, 3)), ["no", "yes"])
    assert print_names(np.zeros((0, 3)), ["0", "1", "2"]) == print_lines(np.zeros((0, 3))) == b""

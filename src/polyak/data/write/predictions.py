"""Predictions as lines of text, one a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyak._core import print_lines, print_names
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.rows.label_text import label_text

What = Literal["labels", "scores", "proba", "contributions"]


def with_empty_lines(lines: bytes, gaps: NDArray[np.int64] | None) -> bytes:
    r"""Add an empty line for each row that could not be read.

    Examples
    --------
    >>> with_empty_lines(b"1\n2\n", np.array([0, 1, 1]))
    b'\n1\n\n\n2\n'
    """
    if gaps is None:
        return lines
    return b"".join(np.insert(np.array(lines.splitlines(True), object), gaps, b"\n").tolist())


def label_lists(model: LinearModel, rows: Any) -> list[str]:
    """Return the labels of each row, separated by commas as in text files."""
    words = np.array([label_text(label) for label in np.asarray(model.classes)], dtype=object)
    return [",".join(words[there]) for there in model.scores(rows) > 0]


def line_writer(model: LinearModel, what: What) -> Callable[[Any], bytes]:
    r"""Return a function from rows to lines: labels (or values), scores, or probabilities.

    Several numbers a row are separated by spaces, in the order of the classes.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "log_loss", np.array([-1.0, 1.0]))
    >>> line_writer(model, "labels")(np.array([[2.0], [-2.0]]))
    b'1\n-1\n'
    >>> line_writer(model, "proba")(np.array([[0.0]]))
    b'0.5 0.5\n'
    """
    if what == "proba":
        model.proba_from_scores(
            np.zeros((1, len(model.intercept)))
        )  # raises at once if it has none
        return lambda rows: print_lines(model.predict_proba(rows))
    if what == "scores":
        return lambda rows: print_lines(model.scores(rows))
    if model.classes is None:
        link = get_loss(model.loss).predictions
        return lambda rows: print_lines(link(model.scores(rows)))
    if model.multilabel:
        return lambda rows: "".join(f"{each}\n" for each in label_lists(model, rows)).encode()
    names = [label_text(label) for label in model.classes]
    return lambda rows: print_names(model.scores(rows), names)

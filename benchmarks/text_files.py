"""RCV1-like text files of a given size, in svmlight and Vowpal Wabbit format.

Printing twenty million numbers one by one takes a minute; here a block of rows becomes one array of
characters, a line of fixed width for every number, from which the unused places are then dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cache import cached, documents
from polyak.rows.sparse import SparseRows

TEST_ROWS = 20_000
BYTES_A_ROW = 1041  # as written below
DECIMALS = 6
BLOCK = 10_000

# The separator between the label and the first feature: VW needs a namespace bar.
LABEL = {"svm": {-1: b"-1 ", 1: b"1 "}, "vw": {-1: b"-1 | ", 1: b"1 | "}}


def train_and_test(megabytes: int, form: str) -> tuple[Path, Path]:
    """Return a training file of about this size and a test file; ``svm`` or ``vw``."""
    rows = megabytes * 1_000_000 // BYTES_A_ROW

    def part(name: str, start: int, stop: int) -> Path:
        return cached(
            f"{name}-{megabytes}mb.{form}",
            lambda path: _write(path, *documents(rows + TEST_ROWS), start, stop, form),
        )

    return part("train", 0, rows), part("test", rows, rows + TEST_ROWS)


def _write(path: Path, X: SparseRows, y: Any, start: int, stop: int, form: str) -> None:
    with open(path, "wb") as file:
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            cut = slice(X.indptr[begin], X.indptr[end])
            indptr = X.indptr[begin : end + 1] - X.indptr[begin]
            file.write(lines(indptr, X.indices[cut], X.values[cut], y[begin:end], form))


def lines(indptr: Any, indices: Any, values: Any, y: Any, form: str) -> bytes:
    """Return the text of one block of rows; feature ids begin at one."""
    digits = len(str(int(indices.max()) + 1))
    label = max(map(len, LABEL[form].values()))
    place = np.r_[0, label, digits, 1, 2, DECIMALS, 1].cumsum()
    text = np.zeros((len(values), place[-1]), np.uint8)
    for sign, characters in LABEL[form].items():
        text[indptr[:-1][y == sign], : len(characters)] = np.frombuffer(characters, np.uint8)
    _print_digits(text[:, place[1] : place[2]], indices + 1, pad=False)
    text[:, place[2]] = ord(":")
    millionths = np.minimum(np.rint(values.astype(float) * 10**DECIMALS), 10**DECIMALS - 1)
    text[:, place[3] : place[4]] = np.frombuffer(b"0.", np.uint8)
    _print_digits(text[:, place[4] : place[5]], millionths.astype(np.int64), pad=True)
    text[:, -1] = ord(" ")
    text[indptr[1:] - 1, -1] = ord("\n")
    return text[text > 0].tobytes()


def _print_digits(text: Any, numbers: Any, pad: bool) -> None:
    for column in reversed(range(text.shape[1])):
        numbers, digit = np.divmod(numbers, 10)
        text[:, column] = digit + ord("0")
        if not pad:
            text[(numbers == 0) & (digit == 0), column] = 0

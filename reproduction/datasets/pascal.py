"""The sets of the PASCAL Large Scale Learning Challenge, as its organisers published them.

``NAME_train.dat`` holds one row a line and ``NAME_train.lab`` one label a line, both mostly
compressed with bzip2. A row is numbers with blanks between them (alpha to zeta), a word of the
letters A, C, G and T (dna), or, without any lines, one byte a pixel (fd, ocr).

Only the challenge's training files have labels. The paper's test rows are taken from their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from reproduction.datasets.catalogue import PAPER_SETS
from reproduction.datasets.real import find, read_lines

Part = tuple[Any, NDArray[np.float64]]

# Every row is scaled to unit length, as the challenge's own conversion does by default; gamma and
# delta stay as they are, as the paper's M of thousands shows.
UNIT_ROWS = ("alpha", "beta", "epsilon", "zeta", "fd", "ocr")
LINES = 4096
LETTERS = b"ACGT"


def load_pascal(name: str, folder: Path | None) -> tuple[Part, Part]:
    """Read a set of the challenge and split off the paper's number of test rows from its end.

    A file with fewer rows than the paper's is split in the same proportion.
    """
    paper = PAPER_SETS[name]
    rows, labels = find(folder, f"{name}_train.dat"), find(folder, f"{name}_train.lab")
    y = read_labels(labels, paper.n_train + paper.n_test)
    X = read_rows(name, rows, paper.n_train + paper.n_test, paper.n_features)
    n_rows = X.shape[0]
    if n_rows != len(y):
        raise DataError(f"{rows} has {n_rows:,} rows, but {labels} has {len(y):,} labels")
    n_test = min(paper.n_test, n_rows * paper.n_test // (paper.n_train + paper.n_test))
    n_train = n_rows - n_test
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


def read_labels(path: Path, most: int) -> NDArray[np.float64]:
    """Read labels, one a line: -1 or +1."""
    with read_lines(path) as file:
        words = [line.strip() for line in islice(file, most)]
    for row, word in enumerate(words, 1):
        if word not in (b"1", b"+1", b"-1"):
            text = word.decode("ascii", "replace")
            raise DataError(f"{path}, row {row}: the label {text!r} is neither -1 nor 1")
    return np.array([-1.0 if word == b"-1" else 1.0 for word in words])


def read_rows(name: str, path: Path, most: int, n_features: int) -> Any:
    """Read at most ``rows`` rows, in the form that the set is published in.

    Returns
    -------
    X : array of float32, or for dna a scipy matrix of compressed sparse rows
    """
    if name == "dna":
        return _letters(path, most, n_features // len(LETTERS))
    images = name in ("fd", "ocr") and not _is_text(path)
    blocks = _images(path, most, n_features) if images else _numbers(path, most, n_features)
    parts = [_unit(block) if name in UNIT_ROWS else block for block in blocks]
    if not parts:
        raise DataError(f"{path} has no rows")
    return np.concatenate(parts)


def _numbers(path: Path, most: int, width: int) -> Iterator[NDArray[np.float32]]:
    with read_lines(path) as file:
        row = 0
        lines = islice(file, most)
        while block := list(islice(lines, LINES)):
            counts = [len(line.split()) for line in block]
            for line, count in enumerate(counts, row + 1):
                if count != width:
                    raise DataError(f"{path}, row {line}: {count} numbers instead of {width}")
            try:
                values = np.array(b" ".join(block).split(), np.float32)
            except ValueError as error:
                rows = f"rows {row + 1} to {row + len(block)}"
                raise DataError(f"{path}, {rows}: {error}") from error
            yield values.reshape(len(block), width)
            row += len(block)


def _images(path: Path, most: int, width: int) -> Iterator[NDArray[np.float32]]:
    with read_lines(path) as file:
        left = most
        while left and (content := file.read(min(left, LINES) * width)):
            if len(content) % width:
                raise DataError(f"{path} ends within an image of {width} bytes")
            pixels = np.frombuffer(content, np.uint8).reshape(-1, width)
            left -= len(pixels)
            yield pixels.astype(np.float32)


def _letters(path: Path, most: int, length: int) -> Any:
    known = np.full(256, 255, np.uint8)
    known[list(LETTERS)] = np.arange(len(LETTERS))
    known[list(LETTERS.lower())] = np.arange(len(LETTERS))
    codes = []
    with read_lines(path) as file:
        lines = islice(file, most)
        row = 0
        while block := [line.strip() for line in islice(lines, LINES)]:
            for line, word in enumerate(block, row + 1):
                if len(word) != length:
                    raise DataError(f"{path}, row {line}: {len(word)} letters instead of {length}")
            letters = known[np.frombuffer(b"".join(block), np.uint8)].reshape(-1, length)
            if letters.max() > len(LETTERS):
                line, column = np.argwhere(letters > len(LETTERS))[0]
                letter = chr(block[line][column])
                raise DataError(f"{path}, row {row + line + 1}: {letter!r} is none of A, C, G, T")
            codes.append(letters)
            row += len(block)
    return one_hot(np.concatenate(codes))


def one_hot(letters: NDArray[np.uint8]) -> Any:
    """Return sparse rows of ones: letter ``l`` at place ``i`` is the feature ``4 i + l``.

    Examples
    --------
    >>> one_hot(np.array([[0, 3], [2, 1]], np.uint8)).toarray()
    array([[1., 0., 0., 0., 0., 0., 0., 1.],
           [0., 0., 1., 0., 0., 1., 0., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_matrix

    n_rows, length = letters.shape
    indices = (letters + np.arange(length, dtype=np.int32) * len(LETTERS)).astype(np.int32)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * length
    values = np.ones(indices.size, np.float32)
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)  # many peers refuse 64-bit indices
    return csr_matrix((values, indices.ravel(), indptr), shape=(n_rows, length * len(LETTERS)))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    length[length == 0] = 1
    rows /= length[:, None]
    return rows


def _is_text(path: Path) -> bool:
    with read_lines(path) as file:
        return not file.read(4096).strip(b"0123456789.eE+- \t\r\n")

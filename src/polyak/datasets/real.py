"""The real sets of the folder ``POLYAK_DATA`` names, in the forms their homes publish."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Part = tuple[Any, NDArray[np.float64]]
"""Rows (a dense ``float32`` array, or a scipy matrix of compressed sparse rows) and targets."""

# The published width of each svmlight set: the last features may be missing from a file.
SVMLIGHT_WIDTH = {"a9a": 123, "w8a": 300, "ijcnn1": 22, "rcv1": 47_236}
COVTYPE_TRAIN = 500_000  # the paper's: a random half million, the rest to test on


def load(name: str, data: str | os.PathLike[str] | None = None) -> tuple[Part, Part]:
    """Read a real set, split into the rows to learn from and the rows to test on.

    Parameters
    ----------
    name : str
        One of `NAMES`: ``a9a``, ``w8a``, ``ijcnn1``, ``rcv1`` (sparse); ``covtype`` (class 2 or
        not, every column scaled to [0, 1]), ``mnist`` (digit 9 or not) and ``mnist10`` (the ten
        digits), bytes scaled to [0, 1] (dense).
    data : path, optional
        The folder that holds the files; the environment variable ``POLYAK_DATA`` otherwise.

    Returns
    -------
    train, test : two pairs of X and y
        ``float32`` values. Targets are -1.0 and +1.0; for ``mnist10``, the digits 0.0 to 9.0.

    Raises
    ------
    FileNotFoundError
        Where a file of the set is absent.

    Examples
    --------
    >>> (X, y), (X_test, y_test) = load("a9a")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (32560, 123)
    """
    if name not in _LOADERS:
        raise ValueError(f"{name!r} is not a data set known here: choose from {', '.join(NAMES)}")
    folder = data if data is not None else os.environ.get("POLYAK_DATA")
    return _LOADERS[name](None if folder is None else Path(folder))


def _find(folder: Path | None, file: str) -> Path:
    if folder is None:
        raise FileNotFoundError(
            f"{file} is needed: set POLYAK_DATA to the folder that holds the real data sets"
        )
    if not (folder / file).is_file():
        raise FileNotFoundError(
            f"{folder / file} is absent: POLYAK_DATA must name the folder that holds {file}"
        )
    return folder / file


def _svmlight(name: str) -> Callable[[Path | None], tuple[Part, Part]]:
    def load_both(folder: Path | None) -> tuple[Part, Part]:
        from scipy.sparse import csr_matrix
        from sklearn.datasets import load_svmlight_files

        paths = [str(_find(folder, f"{name}.{part}.svm.gz")) for part in ("train", "test")]
        width = SVMLIGHT_WIDTH[name]
        X, y, X_test, y_test = load_svmlight_files(
            paths, n_features=width, dtype=np.float32, zero_based=False
        )

        def narrow(X: Any) -> Any:
            # Some versions of the loader give 64-bit indices, which many peers refuse.
            parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
            return csr_matrix(parts, shape=X.shape)

        return (narrow(X), _signs(y > 0)), (narrow(X_test), _signs(y_test > 0))

    return load_both


def _covtype(folder: Path | None) -> tuple[Part, Part]:
    with gzip.open(_find(folder, "covtype/covtype.data.gz")) as file:
        table = _integers(file.read()).reshape(-1, 55)
    X, y = table[:, :-1].astype(np.float32), _signs(table[:, -1] == 2)
    low, high = X.min(axis=0), X.max(axis=0)
    X -= low
    X /= high - low
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:COVTYPE_TRAIN], order[COVTYPE_TRAIN:]
    return (X[train], y[train]), (X[test], y[test])


def _integers(text: bytes) -> NDArray[np.int32]:
    """All numbers of a comma-separated table of integers, in a row."""
    return np.fromstring(text.replace(b"\n", b",").decode("ascii"), np.int32, sep=",")


def _mnist(nine_only: bool) -> Callable[[Path | None], tuple[Part, Part]]:
    def load_both(folder: Path | None) -> tuple[Part, Part]:
        def part(prefix: str) -> Part:
            images = _idx(_find(folder, f"mnist/{prefix}-images-idx3-ubyte.gz"))
            digits = _idx(_find(folder, f"mnist/{prefix}-labels-idx1-ubyte.gz"))
            X = images.reshape(len(images), -1) / np.float32(255)
            return X, _signs(digits == 9) if nine_only else digits.astype(np.float64)

        return part("train"), part("t10k")

    return load_both


def _idx(path: Path) -> NDArray[np.uint8]:
    """Bytes in the IDX format: the last byte of the magic number counts the axes."""
    with gzip.open(path) as file:
        content = file.read()
    axes = content[3]
    shape = np.frombuffer(content, ">i4", axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _signs(positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(positive, 1.0, -1.0)


_LOADERS: dict[str, Callable[[Path | None], tuple[Part, Part]]] = {
    **{name: _svmlight(name) for name in SVMLIGHT_WIDTH},
    "covtype": _covtype,
    "mnist": _mnist(nine_only=True),
    "mnist10": _mnist(nine_only=False),
}
NAMES = tuple(_LOADERS)
"""What `load` knows."""

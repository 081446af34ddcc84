"""The real sets of the folder ``POLYAK_DATA`` names, in the forms their homes publish."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets import pascal
from reproduction.datasets.data_paths import data_folder, find, look_for
from reproduction.datasets.digit_features import digit_features

Part = tuple[Any, NDArray[np.float64]]
"""Rows (a dense ``float32`` array, or a scipy matrix of compressed sparse rows) and targets."""

# The published width of each svmlight set: the last features may be missing from a file.
SVMLIGHT_WIDTH = {"a9a": 123, "w8a": 300, "ijcnn1": 22, "rcv1": 47_236}
COVTYPE_TRAIN = 500_000  # the paper's: a random half million, the rest to test on
MNIST9_TRAIN = 50_000  # the paper's


def load(name: str, data: str | os.PathLike[str] | None = None) -> tuple[Part, Part]:
    """Read a real set, split into the rows to learn from and the rows to test on.

    Parameters
    ----------
    name : str
        One of `NAMES`: ``a9a``, ``w8a``, ``ijcnn1``, ``rcv1`` (sparse); ``covtype`` (class 2 or
        not, every column scaled to [0, 1]), ``mnist`` (digit 9 or not) and ``mnist10`` (the ten
        digits), bytes scaled to [0, 1]; ``mnist9`` (digit 9 or not, 2,304 edge strengths), and the
        sets of the PASCAL challenge, ``alpha`` to ``dna`` (dense, but for dna).
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
    return _LOADERS[name](data_folder(data))


def _svmlight(name: str, folder: Path | None) -> tuple[Part, Part]:
    train, test = (find(folder, f"{name}.{part}.svm.gz") for part in ("train", "test"))
    return read_svmlight(train, test, SVMLIGHT_WIDTH[name])


def read_svmlight(train: Path, test: Path, width: int) -> tuple[Part, Part]:
    """Read two files of svmlight text whose labels are above zero or not."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_files

    X, y, X_test, y_test = load_svmlight_files(
        [str(train), str(test)], n_features=width, dtype=np.float32, zero_based=False
    )

    def narrow(X: Any) -> Any:
        # Some versions of the loader give 64-bit indices, which many peers refuse.
        if X.nnz >= 2**31:
            return X
        parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return csr_matrix(parts, shape=X.shape)

    return (narrow(X), _signs(y > 0)), (narrow(X_test), _signs(y_test > 0))


def _rcv1(folder: Path | None) -> tuple[Part, Part]:
    """Read the largest form of RCV1 that is there: Lewis's vectors, LIBSVM's, or the sample."""
    from reproduction.datasets.rcv1 import load_lewis

    if look_for(folder, "lyrl2004_vectors_train.dat") is not None:
        return load_lewis(folder)
    # Both homes call the short part the training set; the paper learns from the long one.
    short, long = (look_for(folder, f"rcv1_{part}.binary") for part in ("train", "test"))
    if short is not None and long is not None:
        return read_svmlight(long, short, SVMLIGHT_WIDTH["rcv1"])
    return _svmlight("rcv1", folder)


def _epsilon(folder: Path | None) -> tuple[Part, Part]:
    train, test = (look_for(folder, f"epsilon_normalized{end}") for end in ("", ".t"))
    if train is None or test is None:
        return pascal.load_pascal("epsilon", folder)
    (X, y), (X_test, y_test) = read_svmlight(train, test, 2000)
    return (X.toarray(), y), (X_test.toarray(), y_test)


def _covtype(folder: Path | None) -> tuple[Part, Part]:
    with gzip.open(find(folder, "covtype/covtype.data.gz")) as file:
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


def _digits(folder: Path | None, part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images = _idx(find(folder, f"mnist/{part}-images-idx3-ubyte.gz"))
    return images, _idx(find(folder, f"mnist/{part}-labels-idx1-ubyte.gz"))


def _mnist(nine_only: bool, folder: Path | None) -> tuple[Part, Part]:
    def load_part(part: str) -> Part:
        images, digits = _digits(folder, part)
        X = images.reshape(len(images), -1) / np.float32(255)
        return X, _signs(digits == 9) if nine_only else digits.astype(np.float64)

    return load_part("train"), load_part("t10k")


def _mnist9(folder: Path | None) -> tuple[Part, Part]:
    images, digits = _digits(folder, "train")
    test_images, test_digits = _digits(folder, "t10k")
    X, y = digit_features(images[:MNIST9_TRAIN]), _signs(digits[:MNIST9_TRAIN] == 9)
    return (X, y), (digit_features(test_images), _signs(test_digits == 9))


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
    **{name: partial(_svmlight, name) for name in SVMLIGHT_WIDTH},
    "rcv1": _rcv1,
    "covtype": _covtype,
    "mnist": partial(_mnist, True),
    "mnist10": partial(_mnist, False),
    "mnist9": _mnist9,
    **{name: partial(pascal.load_pascal, name) for name in pascal.NAMES},
    "epsilon": _epsilon,
}
NAMES = tuple(_LOADERS)
"""What `load` knows."""

"""The real sets of the folder ``POLYAK_DATA`` names, in the forms their homes publish."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets.digit_features import digit_features

Part = tuple[Any, NDArray[np.float64]]
"""Rows (a dense ``float32`` array, or a scipy matrix of compressed sparse rows) and targets."""

# The published width of each svmlight set: the last features may be missing from a file.
SVMLIGHT_WIDTH = {"a9a": 123, "w8a": 300, "ijcnn1": 22, "rcv1": 47_236}
COVTYPE_TRAIN = 500_000  # the paper's: a random half million, the rest to test on
MNIST9_TRAIN = 50_000  # the paper's


FOLDERS = ("", "covtype", "mnist", "rcv1", "epsilon")
"""Where files may lie within the data folder."""
OPENERS: dict[str, Any] = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
LEWIS = (
    *(f"lyrl2004_vectors_test_pt{part}.dat" for part in range(4)),
    "lyrl2004_vectors_train.dat",
)
LIBSVM_RCV1 = ("rcv1_test.binary", "rcv1_train.binary")
IDX = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)
EPSILON = ("epsilon_normalized", "epsilon_normalized.t")

# What must be there for a set to be read, the best form first. Of RCV1 both homes call the short
# part the training set; the paper learns from the long one.
_NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "covtype": (("covtype.data",),),
    **dict.fromkeys(("mnist", "mnist10", "mnist9"), (IDX,)),
    "rcv1": (LEWIS, LIBSVM_RCV1, ("rcv1.train.svm", "rcv1.test.svm")),
    "epsilon": (EPSILON,),
}


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder that was given, or that in ``POLYAK_DATA``, or None."""
    folder = data if data is not None else os.environ.get("POLYAK_DATA")
    return Path(folder) if folder else None


def look_for(folder: Path | None, file: str) -> Path | None:
    """Return the path of a file, compressed or not, in the data folder or a usual folder in it."""
    places = [] if folder is None else [folder / place for place in FOLDERS]
    paths = (place / (file + suffix) for place in places for suffix in OPENERS)
    return next((path for path in paths if path.is_file()), None)


def find(folder: Path | None, file: str) -> Path:
    """Return the path of a file that must be there."""
    path = look_for(folder, file)
    if path is None:
        raise FileNotFoundError(
            f"{file} is absent from {folder or 'the data folder'}: POLYAK_DATA must name the "
            "folder that holds it"
        )
    return path


def files_of(name: str, folder: Path | None) -> tuple[str, ...] | None:
    """Return the files that a set would be read from; None if there are none."""
    for files in _NEEDED.get(name, ((f"{name}.train.svm", f"{name}.test.svm"),)):
        if all(look_for(folder, file) for file in files):
            return files
    return None


def read_lines(path: Path) -> Any:
    """Open a file of bytes, compressed or not."""
    return OPENERS.get(path.suffix, open)(path, "rb")


def load(name: str, data: str | os.PathLike[str] | None = None) -> tuple[Part, Part]:
    """Read a real set, split into the rows to learn from and the rows to test on.

    Parameters
    ----------
    name : str
        One of `NAMES`: ``a9a``, ``w8a``, ``ijcnn1``, ``rcv1`` (sparse); ``covtype`` (class 2 or
        not, every column scaled to [0, 1]), ``mnist`` (digit 9 or not) and ``mnist10`` (the ten
        digits), bytes scaled to [0, 1]; ``mnist9`` (digit 9 or not, 2,304 edge strengths);
        ``epsilon`` (dense).
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
    train, test = (find(folder, f"{name}.{part}.svm") for part in ("train", "test"))
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
    files = files_of("rcv1", folder)
    if files == LEWIS:
        return _lewis(folder)
    if files == LIBSVM_RCV1:
        long, short = (find(folder, file) for file in files)
        return read_svmlight(long, short, SVMLIGHT_WIDTH["rcv1"])
    return _svmlight("rcv1", folder)


def _lewis(folder: Path | None) -> tuple[Part, Part]:
    """Read RCV1-v2 as Lewis and others published it: vectors by document, and a list of topics."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files

    with read_lines(find(folder, "rcv1-v2.topics.qrels")) as file:
        lines = (line.split() for line in file)
        chosen = np.array([float(words[1]) for words in lines if words[0] == b"CCAT"])
    paths = [str(find(folder, file)) for file in LEWIS]
    width = SVMLIGHT_WIDTH["rcv1"]
    loaded = load_svmlight_files(paths, n_features=width, dtype=np.float32, zero_based=False)
    matrices, documents = loaded[0::2], loaded[1::2]
    labels = [_signs(np.isin(numbers, chosen)) for numbers in documents]
    X = vstack(matrices[:-1], format="csr")
    return (X, np.concatenate(labels[:-1])), (matrices[-1], labels[-1])


def _epsilon(folder: Path | None) -> tuple[Part, Part]:
    train, test = (find(folder, file) for file in EPSILON)
    (X, y), (X_test, y_test) = read_svmlight(train, test, 2000)
    return (X.toarray(), y), (X_test.toarray(), y_test)


def _covtype(folder: Path | None) -> tuple[Part, Part]:
    with read_lines(find(folder, "covtype.data")) as file:
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
    images = _idx(find(folder, f"{part}-images-idx3-ubyte"))
    return images, _idx(find(folder, f"{part}-labels-idx1-ubyte"))


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
    with read_lines(path) as file:
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
    "epsilon": _epsilon,
}
NAMES = tuple(_LOADERS)
"""What `load` knows."""

"""The sets of the paper's benchmarks: real where the files are at hand, a stand-in otherwise."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets import real
from reproduction.datasets.catalogue import MORE_SETS, PAPER_SETS, PaperSet
from reproduction.datasets.data_paths import data_folder, look_for
from reproduction.datasets.stand_ins import SUFFIX, stand_in

LEAST_ROWS = 200

# What must be there for a set to be read, each alternative in full.
_NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "covtype": (("covtype.data",),),
    "mnist9": (
        tuple(
            f"{part}-{kind}-ubyte"
            for part in ("train", "t10k")
            for kind in ("images-idx3", "labels-idx1")
        ),
    ),
    "rcv1": (
        (
            *(f"lyrl2004_vectors_test_pt{part}.dat" for part in range(4)),
            "lyrl2004_vectors_train.dat",
        ),
        ("rcv1_train.binary", "rcv1_test.binary"),
        ("rcv1.train.svm", "rcv1.test.svm"),
    ),
    "epsilon": (
        ("epsilon_normalized", "epsilon_normalized.t"),
        ("epsilon_train.dat", "epsilon_train.lab"),
    ),
    **{name: ((f"{name}.train.svm", f"{name}.test.svm"),) for name in MORE_SETS},
}


@dataclass(frozen=True)
class BenchmarkSet:
    """Rows to learn from and rows to test on, and whether they are the real ones.

    Attributes
    ----------
    paper : PaperSet
        What the paper says of the set.
    is_real : bool
    X, y, X_test, y_test : arrays; the rows may be compressed sparse
    """

    paper: PaperSet
    is_real: bool
    X: Any
    y: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]

    @property
    def title(self) -> str:
        """The name, with a mark on a stand-in."""
        return self.paper.name + ("" if self.is_real else SUFFIX)


def form_here(name: str, data: str | os.PathLike[str] | None = None) -> str:
    """Return what `load_benchmark` returns: "real", a "sample" of the real rows, or "stand-in"."""
    folder = data_folder(data)
    for index, files in enumerate(_needed(name)):
        if all(look_for(folder, file) for file in files):
            return "sample" if (name, index) == ("rcv1", 2) else "real"
    return "stand-in"


def is_here(name: str, data: str | os.PathLike[str] | None = None) -> bool:
    """Whether the real files of a set are in the data folder."""
    return form_here(name, data) != "stand-in"


def _needed(name: str) -> tuple[tuple[str, ...], ...]:
    return _NEEDED.get(name, ((f"{name}_train.dat", f"{name}_train.lab"),))


def load_benchmark(
    name: str,
    data: str | os.PathLike[str] | None = None,
    scale: float = 1.0,
    real_scale: float = 1.0,
) -> BenchmarkSet:
    """Read a set of the paper, or draw a stand-in for it; or read one of ``MORE_SETS``.

    Parameters
    ----------
    name : str
        One of `reproduction.datasets.PAPER_SETS` or ``MORE_SETS``; for the latter there are no
        stand-ins.
    data : path, optional
        The folder of the real files; the environment variable ``POLYAK_DATA`` otherwise.
    scale : float
        The share of the paper's rows that a stand-in has.
    real_scale : float
        The share of a real set's rows to use: those of its beginning.

    Examples
    --------
    >>> load_benchmark("dna", data="/nowhere", scale=0.001).title
    'dna (stand-in)'
    """
    known = PAPER_SETS | MORE_SETS
    if name not in known:
        raise ValueError(f"{name!r} is not a set known here: {', '.join(known)}")
    paper = known[name]
    if is_here(name, data):
        (X, y), (X_test, y_test) = real.load(name, data)
        X, X_test = _stored_as(paper, X), _stored_as(paper, X_test)
        n, n_test = (max(LEAST_ROWS, round(real_scale * len(part))) for part in (y, y_test))
        return BenchmarkSet(paper, True, X[:n], y[:n], X_test[:n_test], y_test[:n_test])
    if name in MORE_SETS:
        raise FileNotFoundError(f"the files of {name} are not here, and it has no stand-in")
    sizes = (max(LEAST_ROWS, round(scale * size)) for size in (paper.n_train, paper.n_test))
    (X, y), (X_test, y_test) = stand_in(name, *sizes)
    X, X_test = _stored_as(paper, X), _stored_as(paper, X_test)
    return BenchmarkSet(paper, False, X, y, X_test, y_test)


def _stored_as(paper: PaperSet, X: Any) -> Any:
    """Store rows as the paper's tables say: covtype's 54 columns, mostly zeros, as sparse ones."""
    from scipy.sparse import csr_matrix

    return csr_matrix(X) if paper.sparse and isinstance(X, np.ndarray) else X

"""Generated data, cached outside of the repository."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyak.rows.sparse import SparseRows

FOLDER = Path(os.environ.get("POLYAK_BENCH_CACHE", Path(tempfile.gettempdir()) / "polyak-bench"))


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return the path of a cached file, which `make` writes if it does not exist."""
    path = FOLDER / name
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Written under another name and renamed, so that an interrupted run leaves no partial file.
        # The suffix is kept because numpy would otherwise append its own.
        draft = path.with_name(f"draft-{os.getpid()}-{name}")
        make(draft)
        draft.replace(path)
    return path


def documents(n_rows: int, n_features: int = 47_000, nnz: int = 70) -> tuple[SparseRows, Any]:
    """RCV1-like rows and their labels."""
    import numpy as np

    from polyak.rows.sparse import SparseRows
    from reproduction.datasets import rcv1_like

    def make(path: Path) -> None:
        rows, y = rcv1_like(n_rows, n_features, nnz)
        np.savez(path, indptr=rows.indptr, indices=rows.indices, values=rows.values, y=y)

    with np.load(cached(f"documents-{n_rows}x{n_features}x{nnz}.npz", make)) as parts:
        indptr, indices, values = parts["indptr"], parts["indices"], parts["values"]
        return SparseRows(indptr, indices, values, n_features), parts["y"]


def as_scipy(rows: SparseRows) -> Any:
    """Return the same rows as a scipy matrix, without a copy."""
    from scipy.sparse import csr_matrix

    return csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


def random_svmlight(n_rows: int, seed: int = 0, n_features: int = 5000) -> str:
    """Rows with ids and values of every common shape."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n_rows):
        ids = np.unique(random.integers(1, n_features + 1, random.integers(0, 30)))
        values = random.normal(size=len(ids)) * 10.0 ** random.integers(-6, 6, len(ids))
        digits = random.integers(1, 18, len(ids))
        features = " ".join(f"{i}:{v:.{d}g}" for i, v, d in zip(ids, values, digits, strict=True))
        lines.append(f"{random.choice([-1, 1])} {features}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def text() -> bytes:
    return random_svmlight(2000).encode()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(data: bytes | str, name: str = "rows.svm") -> str:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


@pytest.fixture
def real_data() -> Path:
    folder = os.environ.get("POLYAK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("POLYAK_DATA does not name a folder with the real data sets")
    return Path(folder)

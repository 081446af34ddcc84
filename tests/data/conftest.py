from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from reading import random_svmlight


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

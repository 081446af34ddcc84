from __future__ import annotations

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

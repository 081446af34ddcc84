"""Real data sets: tests of them are slow, and skipped where POLYAK_DATA names no folder of them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reproduction import datasets

REAL = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("POLYAK_DATA"), reason="POLYAK_DATA names no folder"),
]
"""The marks of a module of such tests."""


def real_file(name: str) -> Path:
    """Return the path of a file; skip the test where it is missing."""
    path = Path(os.environ["POLYAK_DATA"]) / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


@cache
def load(name: str) -> Any:
    """Return the training and test rows of a set; skip the test where it is missing."""
    try:
        return datasets.load(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))

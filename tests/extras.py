"""Libraries that are not required: a test that uses one is skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import pytest


class Extra:
    """A library that is imported when a test first uses it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(pytest.importorskip(self._name), attribute)


glum, pandas, polars, pyarrow = map(Extra, ("glum", "pandas", "polars", "pyarrow"))

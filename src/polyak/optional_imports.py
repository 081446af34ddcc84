"""Optional dependencies, imported when they are needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def needed(module: str, extra: str) -> Any:
    """Import a library; raise ValueError with the install command if it is missing.

    Examples
    --------
    >>> needed("no_such_library", "onnx")
    Traceback (most recent call last):
    ...
    ValueError: this needs no_such_library, which is not installed: pip install 'polyak[onnx]'
    """
    found = sys.modules.get(module)
    if found is not None:
        return found
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ValueError(
            f"this needs {error.name}, which is not installed: pip install 'polyak[{extra}]'"
        ) from error


_is_pandas_to_be_hidden = False


def expect_no_frames() -> None:
    """Prevent pyarrow from importing pandas, in a process that has no data frames.

    With its first array pyarrow imports pandas, if it is installed, to recognise its types. For a
    small table that adds half of the time. Nothing changes if pandas is imported already, and it
    can still be imported elsewhere.
    """
    global _is_pandas_to_be_hidden
    _is_pandas_to_be_hidden = True


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def pyarrow() -> Any:
    """Import pyarrow; raise ValueError with the install command if it is missing."""
    global _is_pandas_to_be_hidden
    pyarrow = needed("pyarrow", "tables")
    if _is_pandas_to_be_hidden and "pandas" not in sys.modules:
        _is_pandas_to_be_hidden = False
        sys.meta_path.insert(0, _NoPandas)
        try:
            pyarrow.array([])  # pyarrow looks for pandas only once
        finally:
            sys.meta_path.remove(_NoPandas)
    return pyarrow

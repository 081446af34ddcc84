"""Libraries that not everyone needs, imported when they are asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from polyak.errors import DataError


def needed(module: str, extra: str) -> Any:
    """Import a library, or say in one sentence how to get it.

    Examples
    --------
    >>> needed("no_such_library", "onnx")
    Traceback (most recent call last):
    ...
    ValueError: this needs no_such_library, which is not installed: pip install 'polyak[onnx]'
    """
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
    """Spare pyarrow the import of pandas, in a process where nobody has a frame.

    With its first array pyarrow imports pandas, if it is installed, to tell its arrays from others:
    that takes half as long again as a small table. Where pandas is imported already nothing
    changes, and elsewhere it can still be imported.
    """
    global _is_pandas_to_be_hidden
    _is_pandas_to_be_hidden = True


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def pyarrow() -> Any:
    """Import pyarrow, which is not installed for those who need no tables."""
    global _is_pandas_to_be_hidden
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(
            "to read tables, install the packages they need: pip install 'polyak[tables]'"
        ) from error
    if _is_pandas_to_be_hidden and "pandas" not in sys.modules:
        _is_pandas_to_be_hidden = False
        sys.meta_path.insert(0, _NoPandas)
        try:
            pyarrow.array([])  # it looks for pandas once
        finally:
            sys.meta_path.remove(_NoPandas)
    return pyarrow

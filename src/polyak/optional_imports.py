"""Libraries that not everyone needs, imported when they are asked for."""

from __future__ import annotations

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


def pyarrow() -> Any:
    """Import pyarrow, which is not installed for those who need no tables."""
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(
            "to read tables, install the packages they need: pip install 'polyak[tables]'"
        ) from error
    return pyarrow

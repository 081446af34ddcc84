"""Hive partitions: columns in the names of folders, ``year=2013/month=1/part-0.parquet``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyak.data.tables.arrow_types import with_column
from polyak.optional_imports import pyarrow


def partition_columns(files: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the values of the partition columns of each file, as Arrow scalars.

    A column is numeric if its values in all files are integers or missing.
    """
    keys: list[dict[str, str | None]] = [file.keys for file in files]
    if not any(keys):
        return [{} for _ in files]
    pa = pyarrow()
    words = {
        name
        for each in keys
        for name, value in each.items()
        if value is not None and not value.removeprefix("-").isdecimal()
    }

    def scalar(name: str, value: str | None) -> Any:
        if name in words:
            return pa.scalar(value, pa.string())
        return pa.scalar(None if value is None else float(value), pa.float64())

    return [{name: scalar(name, value) for name, value in each.items()} for each in keys]


def with_keys(table: Any, keys: dict[str, Any]) -> Any:
    """Return ``table`` with the partition columns ``keys`` of its file."""
    for name, value in keys.items():
        place = table.schema.get_field_index(name)
        column = pyarrow().repeat(value, table.num_rows)
        table = with_column(table, place if place >= 0 else table.num_columns, name, column)
    return table

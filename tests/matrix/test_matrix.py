"""Every source by every way: the model file is the same, byte for byte.

The default run has a thin diagonal of the matrix: the sources one after the other, each with one
way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from model_bytes import differences
from sources import SOURCES, Source
from ways import WAYS, train

pytestmark = pytest.mark.slow

Reference = Callable[[Source, bool], bytes]


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Source], Path]:
    """Write a source once."""
    folder, paths = tmp_path_factory.mktemp("sources"), dict[str, Path]()

    def path(source: Source) -> Path:
        name = f"{source.form}.{source.packing}"
        if name not in paths:
            paths[name] = source.write(folder)
        return paths[name]

    return path


@pytest.fixture(scope="session")
def reference(
    tmp_path_factory: pytest.TempPathFactory, written: Callable[[Source], Path]
) -> Reference:
    """Learn each form once: from a plain file, at once."""
    folder, models = tmp_path_factory.mktemp("references"), dict[tuple[Source, bool], bytes]()

    def model(source: Source, with_names: bool) -> bytes:
        key = (source.plain, with_names)
        if key not in models:
            names = ("--names", "1000" if with_names else "0")
            models[key] = train(key[0], written(key[0]), folder / "model", *names)
        return models[key]

    return model


def is_promised(source: Source, way: str) -> bool:
    """Whether the way yields the same file: conversion to rows loses the columns of a table."""
    return way != ("converted-npz" if source.is_table else "converted-parquet")


def keeps_names(source: Source, way: str) -> bool:
    """Whether feature names are kept: converted rows have indices instead."""
    return source.has_names and (source.is_table or not way.startswith("converted"))


def cells() -> list[object]:
    """List each source with one of the ways in turn, so that every source and way occurs."""
    found: list[object] = []
    for number, source in enumerate(SOURCES):
        ways = [way for way in WAYS if is_promised(source, way)]
        way = ways[number % len(ways)]
        found.append(pytest.param(source, way, id=f"{source}-{way}"))
    return found


@pytest.mark.parametrize(("source", "way"), cells())
def test_same_model(
    source: Source,
    way: str,
    written: Callable[[Source], Path],
    reference: Reference,
    tmp_path: Path,
) -> None:
    with_names = keeps_names(source, way)
    names = ("--names", "1000" if with_names else "0")
    model = WAYS[way](source, written(source), tmp_path, *names)
    assert differences(model, reference(source, with_names)) == []

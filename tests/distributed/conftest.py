"""A real cluster on this machine: a scheduler and two workers, each a process with a nanny."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from distributed import Client, LocalCluster

WIDTH = 20


def rows(n: int, seed: int) -> tuple[Any, Any]:
    """Draw rows of a logistic model with correlated features."""
    random = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH)
    X = random.normal(size=(n, WIDTH)) @ (mix + 0.5 * np.eye(WIDTH))
    truth = np.random.default_rng(98).normal(size=WIDTH)
    return X, np.where(random.random(n) < 1 / (1 + np.exp(-(X @ truth))), 1.0, -1.0)


def as_text(X: Any, y: Any) -> str:
    return "".join(
        f"{target:g} {' '.join(f'{j + 1}:{value:.5g}' for j, value in enumerate(row))}\n"
        for row, target in zip(X.tolist(), y.tolist(), strict=True)
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write three files of text, one far longer than the others."""
    folder: Path = tmp_path_factory.mktemp("files")
    X, y = rows(40_000, 0)
    paths = []
    for name, some in {
        "a": slice(0, 30_000),
        "b": slice(30_000, 31_000),
        "c": slice(31_000, None),
    }.items():
        paths.append(folder / f"{name}.svm")
        paths[-1].write_text(as_text(X[some], y[some]))
    return [str(path) for path in paths]


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client

"""A real cluster on this machine: a scheduler and two workers, each a process with a nanny."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from made_rows import as_text, rows

from distributed import Client, LocalCluster


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

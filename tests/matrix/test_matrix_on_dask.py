"""Every source of files on a cluster: the same bytes from another one, and a model that predicts.

The clusters have the same number of chains, but one has two workers and the other one of two
threads, so that tasks end in another order and in other places.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from model_bytes import differences
from sources import TEXT, Source, rows
from ways import done

from distributed import LocalCluster
from polyak.cli import main
from polyak.model.linear import LinearModel

pytestmark = pytest.mark.slow

ROWS, PARTS = 21_000, 3


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[str]]:
    """Start two clusters with two threads each and yield their addresses."""
    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as two_workers,
        LocalCluster(n_workers=1, threads_per_worker=2, **quiet) as two_threads,
    ):
        yield [two_workers.scheduler_address, two_threads.scheduler_address]


def sources() -> list[object]:
    """List a source of each kind of reader."""
    chosen = [Source(form) for form in ("svm", "vw", "csv", "parquet", "npz")]
    return [pytest.param(source, id=str(source)) for source in chosen]


def written(source: Source, folder: Path) -> list[str]:
    """Write the rows as several files; NumPy's are read one at a time."""
    parts = 1 if source.form == "npz" else PARTS
    size, some = ROWS // parts, rows(ROWS)
    slices = [some[n * size : (n + 1) * size] for n in range(parts)]
    return [str(source.write(folder, f"part{n}", part)) for n, part in enumerate(slices)]


@pytest.mark.parametrize("source", sources())
def test_on_dask(source: Source, clusters: list[str], tmp_path: Path) -> None:
    paths = written(source, tmp_path)
    names = ["--names", "1000" if source.has_names else "0"]
    options = [*source.options, *names, "-q"]
    models = [tmp_path / f"model{n}" for n in range(len(clusters))]
    for model, address in zip(models, clusters, strict=True):
        engine = ["--engine", "dask", "--scheduler", address, "-m", str(model)]
        with pytest.raises(SystemExit) as ended:
            main(["train", *paths, *options, *engine])
        assert ended.value.code == 0
    assert differences(*(model.read_bytes() for model in models)) == []

    alone = tmp_path / "alone"
    done(source, tmp_path, "train", "--order", "as-is", *paths, *options, "-m", alone)
    learned, expected = LinearModel.load(models[0]), LinearModel.load(alone)
    if source.form in TEXT:  # of other files the first batches can be all there is
        assert learned.report.engine.chains == 2
    assert learned.features == expected.features
    assert learned.report.rows == expected.report.rows
    lines = [
        done(source, tmp_path, "predict", model, *paths).split() for model in (models[0], alone)
    ]
    assert [len(predicted) for predicted in lines] == [ROWS, ROWS]
    alike = sum(one == other for one, other in zip(*lines, strict=True))
    assert alike > 0.97 * ROWS

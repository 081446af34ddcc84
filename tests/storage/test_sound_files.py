"""Files with a right checksum and wrong contents: of use, or refused in a sentence."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from polyak.data.options import Columns, ReadOptions
from polyak.errors import DataError, DivergenceError, ModelFileError
from polyak.learn.recipes import Recipe
from polyak.model.linear import LinearModel
from polyak.storage.container import Arrays, Page, pack, unpack
from polyak.storage.model_file import FORMAT as MODEL_FORMAT
from polyak.storage.model_file import KIND as MODEL_KIND
from polyak.training.checkpoint import FORMAT, KIND, NEWEST, PREVIOUS, CheckpointFolder
from polyak.training.job import Job
from polyak.training.loop import train

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2500, 6))
UP = np.where(X[:, 0] > 0, "up", "down")
THREE = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**40, 2**70, 0.5, -1e300, "", "x", "auto", [], [1], [[]], {}, {"a": 1},
)  # fmt: skip
THIRDS = ODD[::3], ODD[1::3], ODD[2::3]
"""Each has a number, a word and a list or a dictionary."""


def table(folder: Path) -> Path:
    path = folder / "rows.csv"
    towns = RANDOM.integers(0, 9, size=len(X))
    lines = [f"{y},{x[0]},{x[1]},t{t}" for y, x, t in zip(UP, X.tolist(), towns, strict=True)]
    path.write_text("y,a,b,town\n" + "\n".join(lines) + "\n")
    return path


def job(kind: str, folder: Path) -> Job:
    log = Recipe(loss="log_loss", recipe="auto", alpha=1e-5, decay=0.1)
    newton = Recipe(loss="squared_hinge", recipe="auto")
    jobs: dict[str, dict[str, Any]] = {
        "one candidate": {"source": (X, UP), "recipe": Recipe("squared_hinge", "paper")},
        "newton": {"source": (X, THREE), "recipe": newton, "classes": np.array(["a", "b", "c"])},
        "intervals": {"source": (X, UP), "recipe": replace(newton, intervals=True)},
    }
    if kind == "table":
        columns = Columns(target="y", bits=6, interact=("a:town",))
        reading = ReadOptions(columns=columns, block_bytes=4000)
        jobs[kind] = {"source": str(table(folder)), "recipe": log, "reading": reading}
    return Job(**jobs[kind], checkpoint=str(folder), every_rows=1, order="as-is")


def changes(value: Any, turn: Iterator[tuple[Any, ...]] | None = None) -> Iterator[Any]:
    """Yield copies of a page with one entry changed or removed; of lists, the first or last.

    Entries take turns with the thirds of the odd values: a third of them finds what all do, in a
    third of the time, since an entry is mostly one of several of its kind.
    """
    turn = turn or cycle(THIRDS)
    if isinstance(value, dict):
        keys: list[Any] = list(value)
    else:
        keys = sorted({0, len(value) - 1}) if value else []
    for key in keys:
        for odd in next(turn):
            yield _with(value, key, odd)
        without = copy.copy(value)
        del without[key]
        yield without
        if isinstance(value[key], dict | list):
            for inner in changes(value[key], turn):
                yield _with(value, key, inner)


def _with(value: Any, key: Any, item: Any) -> Any:
    changed = copy.copy(value)
    changed[key] = item
    return changed


def other_arrays(arrays: Arrays) -> Iterator[Arrays]:
    """Yield the arrays with one left out or changed; of shapes and types, each a third in turn."""
    for turn, (name, array) in enumerate(arrays.items()):
        yield {key: other for key, other in arrays.items() if key != name}
        shapes_and_types = (
            array[:-1], array[:0], array[None], array.ravel(), array[..., :1], array[..., None],
            np.concatenate([array, array]), array.astype(np.int64), array.astype(np.float16),
            array.astype(np.float32), array.astype(np.float64), array.astype(np.uint8),
        )  # fmt: skip
        values = array * 0 - 1, array * 0 + 99, array.astype(np.float64) * np.nan, array != 0
        for other in (*shapes_and_types[turn % 3 :: 3], *values):
            yield arrays | {name: other}


def contents(data: bytes, kind: str, version: int) -> Iterator[tuple[Page, Arrays]]:
    """Yield every change of a file's page or arrays, with its kind and format version unchanged."""
    page, arrays = unpack(data, "it", kind, version)
    sealed = {"kind": kind, "format": version}
    for changed in changes({key: page[key] for key in page if key not in sealed}):
        yield sealed | changed, arrays
    with np.errstate(all="ignore"):
        for others in other_arrays(arrays):
            yield page, others


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def refused(error: ModelFileError, path: Path) -> None:
    assert str(path) in str(error)
    assert "\n" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one candidate", "newton", "intervals", "table"])
def test_models(tmp_path: Path, kind: str) -> None:
    model = train(job(kind, tmp_path)).model
    assert model is not None
    path = tmp_path / "m"
    model.save(path)
    loaded = 0
    for page, arrays in contents(path.read_bytes(), MODEL_KIND, MODEL_FORMAT):
        try:
            data = pack(page, arrays)
        except ValueError:  # what JSON cannot hold
            continue
        path.write_bytes(data)
        try:
            found = LinearModel.load(path)
        except ModelFileError as error:
            refused(error, path)
            continue
        loaded += 1
        width = found.features.width or found.n_features  # the columns of a table are encoded
        rows = csr_matrix(np.ones((2, width)))
        found.predict(rows)
        if found.classes is not None and (found.loss == "log_loss" or found.sigmoids is not None):
            found.predict_proba(rows)
    assert loaded > 5  # what changes nothing that matters


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["newton", "table"])
def test_checkpoints(tmp_path: Path, kind: str) -> None:
    work = job(kind, tmp_path)

    def stop(progress: Any) -> None:
        if progress.rows >= 1500:
            raise KeyboardInterrupt

    assert train(work, stop).interrupted
    path = tmp_path / NEWEST
    whole = path.read_bytes()
    page, _ = unpack(whole, "it", KIND, FORMAT)
    loaded = 0
    for changed, arrays in contents(whole, KIND, FORMAT):
        try:
            data = pack(changed, arrays)
        except ValueError:
            continue
        path.write_bytes(data)
        (tmp_path / PREVIOUS).unlink(missing_ok=True)
        try:
            found = CheckpointFolder(tmp_path).load(page["data"], work.options())
        except ModelFileError as error:
            refused(error, path)
            continue
        assert found is not None
        loaded += 1
        try:
            found.learner.learn(X[:1200], (THREE if kind == "newton" else UP)[:1200])
        except (DataError, DivergenceError):
            continue
        found.learner.model().predict(X[:2])
    assert loaded > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one candidate", "table"])
def test_going_on_from_them(tmp_path: Path, kind: str) -> None:
    """Counts and the position are only read when a run goes on."""
    work = job(kind, tmp_path)

    def stop(progress: Any) -> None:
        if progress.rows >= 1500:
            raise KeyboardInterrupt

    assert train(work, stop).interrupted
    path = tmp_path / NEWEST
    page, arrays = unpack(path.read_bytes(), "it", KIND, FORMAT)
    work = replace(work, every_rows=10**9)
    read = {name: page[name] for name in ("position", "counts", "passes_done")}
    counted = {name: read[name] for name in ("counts", "passes_done")}
    positions = ({"position": odd} for odd in ODD if not isinstance(odd, dict))
    for changed in (read | one for one in (*positions, *changes(counted))):
        path.write_bytes(pack({name: page[name] for name in page.keys() - read} | changed, arrays))
        (tmp_path / PREVIOUS).unlink(missing_ok=True)
        try:
            outcome = train(work)
        except (DataError, ModelFileError):
            continue
        assert outcome.model is not None

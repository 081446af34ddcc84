"""A table of flights to a model, beside reading it with pyarrow; one process, two cores."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

from benchmarks.cache import cached
from benchmarks.contestant import Job
from benchmarks.runner import Contest, Result, Target, in_process, speedup

ROWS = 336_776
TARGET, DROPPED = "arr_delay", ("arr_time", "air_time")
ARROW, PAPER, RACE = "pyarrow alone", "ours, the paper's recipe", "ours, the race"


def contests(name: str, quick: bool) -> list[Contest]:
    folder = os.environ.get("POLYAK_DATA")
    if folder is None or not (Path(folder) / "nycflights13.csv.gz").exists():
        print("tables: POLYAK_DATA has no nycflights13.csv.gz")
        return []
    csv = cached("flights.csv", lambda path: _unzip(Path(folder) / "nycflights13.csv.gz", path))
    parquet = cached("flights.parquet", lambda path: _to_parquet(csv, path))

    def figures(result: Result) -> dict[str, float]:
        return {"1000 rows/s": ROWS / result.best / 1e3}

    return [
        Contest(
            title=f"{path.name} to model, {path.stat().st_size / 1e6:.0f} MB, two cores",
            contestants=[
                in_process(ARROW, "tables:arrow", path=str(path)),
                in_process(PAPER, "tables:ours", path=str(path), recipe="paper"),
                in_process(RACE, "tables:ours", path=str(path), recipe="auto"),
            ],
            reference=PAPER,
            cores=2,
            repeats=3 if quick else 7,
            derive=figures,
            targets=[Target(f"of pyarrow's speed: {PAPER}", speedup(PAPER, ARROW), at_least=least)],
        )
        for path, least in ((csv, 0.45), (parquet, 1.5))
    ]


def _unzip(source: Path, path: Path) -> None:
    with gzip.open(source) as packed, path.open("wb") as file:
        shutil.copyfileobj(packed, file)


def _to_parquet(csv: Path, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(csv), path)


def arrow(path: str) -> Job:
    """Read all columns with pyarrow's defaults, on all cores."""
    import pyarrow.csv
    import pyarrow.parquet

    read = pyarrow.csv.read_csv if path.endswith(".csv") else pyarrow.parquet.read_table
    return lambda: read(path), dict


def ours(path: str, recipe: str) -> Job:
    """Read, encode and learn; the figure is the share of the variance explained."""
    import numpy as np

    from polyak.data.open import open_stream
    from polyak.data.options import Columns
    from polyak.learn.learner import Learner
    from polyak.learn.recipes import Recipe

    arrow(path)  # its imports
    learner = Learner(Recipe(loss="squared_error", recipe=recipe))
    seen = []

    def work() -> None:
        with open_stream(path, columns=Columns(target=TARGET, drop=DROPPED)) as stream:
            for batch in stream:
                learner.learn(batch.rows, batch.targets)
                seen.append(batch.targets)
        learner.finish()
        learner.model()

    def judge() -> dict[str, float]:
        return {"R2": 1 - 2 * learner.progressive_loss / float(np.var(np.concatenate(seen)))}

    return work, judge

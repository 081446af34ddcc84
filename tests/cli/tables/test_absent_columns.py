"""Tables that lack columns of the model: some are read as missing, none at all is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak

N = 300


def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    number = random.normal(size=N).round(3)
    city = random.choice(["Rome", "Oslo"], N)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 300, N), unit="D")
    y = (2 * number + (city == "Rome") + random.normal(size=N) / 9).round(3)
    flag = random.random(N) < 0.5
    return pd.DataFrame({"x": number, "city": city, "day": day, "flag": flag, "y": y})


def write(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        days = {"day": table["day"].dt.date} if "day" in table else {}
        table.assign(**days).to_parquet(path)
    else:
        table.astype({"day": str} if "day" in table else {}).to_json(
            path, orient="records", lines=True
        )
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    path = folder / "m.polyak"
    polyak("train", write(frame(), folder / "t.csv"), "--target", "y", "-m", path, "-q")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("absent", [["city"], ["x", "day", "flag"]])
def test_some_are_read_as_missing(
    suffix: str, absent: list[str], model: Path, tmp_path: Path
) -> None:
    short = write(frame().drop(columns=absent), tmp_path / f"short{suffix}")
    empty = write(frame().assign(**dict.fromkeys(absent)), tmp_path / "empty.csv")
    done = polyak("predict", model, short)
    assert done.stdout == polyak("predict", model, empty).stdout
    first = "the first rows of " if suffix == ".jsonl" else ""
    said = [line for line in done.stderr.splitlines() if "learned from: read as missing" in line]
    assert len(said) == 1
    assert f"{first}{short} do" in said[0]
    assert ", ".join(absent) in said[0]
    most = "of the model's 4 columns there is only city: predictions may be poor; is it the right"
    assert (most in said[0]) == (len(absent) > 2)
    scores = polyak("evaluate", model, short, "--json")
    assert json.loads(scores.stdout)["rows"] == N


def test_names_are_cut_where_there_are_many(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(90, 9)), columns=list("abcdefghy"))
    polyak(*("train", write(wide, tmp_path / "t.csv"), "--target", "y", "-m", tmp_path / "m", "-q"))
    some = write(wide[["a", "b", "y"]], tmp_path / "some.csv")
    for command in ("predict", "evaluate"):
        done = polyak(command, tmp_path / "m", some)
        assert done.stderr.count("does not have c, d, e, f, g and 1 more, which the model") == 1
        assert done.stderr.count("there are only a, b: predictions may be poor") == 1


def test_evaluate_without_the_target(model: Path, tmp_path: Path) -> None:
    path = write(frame().drop(columns="y"), tmp_path / "t.csv")
    said = fails("evaluate", model, path)
    assert f"{path} has no target column y; it has x, city, day, flag" in said


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_none_at_all_is_refused(suffix: str, model: Path, tmp_path: Path) -> None:
    other = write(pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}), tmp_path / f"other{suffix}")
    said = fails("predict", model, other)
    assert (
        f"{other} has none of the columns that the model was learned from: it has a, b; "
        "the model has x, city, day, flag" in said
    )

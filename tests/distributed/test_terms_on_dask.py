"""Additive models of Dask collections."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.distributed.dask import DaskASGDClassifier, DaskASGDRegressor

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.uniform(-2, 2, size=(16_000, 4)), columns=list("abcd"))
MEAN = np.abs(TABLE["a"]) + TABLE["b"] * TABLE["c"]
Y = MEAN + 0.5 * rng.normal(size=len(TABLE))
LEARNED, HELD = slice(0, 12_000), slice(12_000, None)


@pytest.mark.parametrize("kind", ["frame", "words", "array"])
def test_curves_and_pairs_are_as_good_as_on_one_machine(kind: str) -> None:
    table = TABLE.assign(d=np.where(TABLE["d"] > 0, "high", "low")) if kind == "words" else TABLE
    rows: Any = table.to_numpy() if kind == "array" else table
    parts = (
        da.from_array(rows[LEARNED], chunks=(3000, 4))
        if kind == "array"
        else dd.from_pandas(rows[LEARNED], npartitions=4, sort=False)
    )
    y = Y[LEARNED]
    targets = (
        da.from_array(y.to_numpy(), chunks=3000)
        if kind == "array"
        else dd.from_pandas(y, npartitions=4, sort=False)
    )
    settings = {"curves": "all", "pairs": "auto", "random_state": 0}
    one = ASGDRegressor(**settings).fit(rows[LEARNED], y)
    several = DaskASGDRegressor(**settings, chains=2).fit(parts, targets)
    losses = [np.mean((model.predict(rows[HELD]) - Y[HELD]) ** 2) for model in (one, several)]
    assert losses[1] < 1.01 * losses[0]
    names = {term["name"] for term in several.terms_}
    assert names >= ({"x0", "x1 × x2"} if kind == "array" else {"a", "b × c"})


def test_constraints() -> None:
    parts = dd.from_pandas(TABLE[LEARNED], npartitions=4, sort=False)
    late = dd.from_pandas(Y[LEARNED] > 1, npartitions=4, sort=False)
    model = DaskASGDClassifier(curves=["a"], increasing=["a"], chains=2, random_state=0)
    curve = model.fit(parts, late).effect("a").value
    assert (np.diff(curve) >= 0).all()
    assert set(DaskASGDClassifier().get_params()) >= {"pairs", "negative", "decreasing"}
    assert ASGDClassifier().get_params()["pairs"] is None


def test_batches_after_a_fit() -> None:
    parts = dd.from_pandas(TABLE[LEARNED], npartitions=4, sort=False)
    targets = dd.from_pandas(Y[LEARNED], npartitions=4, sort=False)
    model = DaskASGDRegressor(chains=2, random_state=0).fit(parts, targets)
    model.partial_fit(TABLE[HELD], Y[HELD])
    assert model.t_ == len(TABLE) + 1

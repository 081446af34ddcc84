"""One pass over real tables: near the batch optimum of every loss, and quantiles that cover."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from simulated_losses import batch_optimum
from tests.extras import pandas as pd
from tests.real_sets import REAL, real_file

from polyak import ASGDRegressor
from polyak.losses import get_loss

pytestmark = REAL
FLIGHTS = ["month", "day", "hour", "minute", "sched_arr_time", "distance", "air_time", "dep_delay"]
QUANTILES = [0.05, 0.5, 0.95]


@cache
def table(name: str):
    """Return columns as numbers, a target, and a positive target, in random order."""
    frame = pd.read_csv(real_file(f"{name}.csv.gz"))
    if name == "california_housing":
        frame = frame.dropna()
        amount = positive = frame.pop("median_house_value").to_numpy(float)
        positive = positive / 1000.0
    else:
        frame = frame[[*FLIGHTS, "carrier", "origin", "arr_delay"]].dropna()
        amount = frame.pop("arr_delay").to_numpy(float)
        positive = frame["distance"].to_numpy(float)
    X = pd.get_dummies(frame, drop_first=True).astype(float)
    without = X.drop(columns=["distance", "air_time"], errors="ignore")
    order = np.random.default_rng(0).permutation(len(X))
    return X.to_numpy()[order], without.to_numpy()[order], amount[order], positive[order]


@pytest.mark.parametrize("name", ["california_housing", "nycflights13"])
@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive", "poisson", "gamma"])
def test_one_pass_is_near_the_batch_optimum(name: str, loss: str) -> None:
    X, without, amount, positive = table(name)
    if get_loss(loss).log_link:
        X, amount = without, np.round(positive) if loss == "poisson" else positive
    model = ASGDRegressor(loss=loss, max_iter=1, random_state=0).fit(X, amount)
    found = get_loss(model.to_model().loss)
    lost = found.value(X @ model.coef_ + model.intercept_, amount).mean()
    assert lost <= 1.01 * batch_optimum(found, X, amount)


@pytest.mark.parametrize("name", ["california_housing", "nycflights13"])
def test_quantiles_cover_what_they_should(name: str) -> None:
    X, _, amount, _ = table(name)
    n = 3 * len(X) // 4
    model = ASGDRegressor(loss="quantile", quantile=QUANTILES, max_iter=1, random_state=0)
    model.fit(X[:n], amount[:n])
    predicted = model.predict(X[n:])
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert np.abs((amount[n:, None] <= predicted).mean(axis=0) - QUANTILES).max() < 0.01
    scores = X[:n] @ model.coef_.T + model.intercept_
    for k, quantile in enumerate(QUANTILES):
        loss = get_loss(f"quantile({quantile})")
        best = batch_optimum(loss, X[:n], amount[:n])
        assert loss.value(scores[:, k], amount[:n]).mean() <= 1.01 * best

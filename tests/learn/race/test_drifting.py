"""Streams that drift: candidates that do not rest lead where that pays, and nowhere else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

Floats = NDArray[np.float64]
STEP = 100


def stream(kind: str, loss: str, n: int, d: int, seed: int) -> tuple[Floats, NDArray[Any]]:
    """Make rows whose true weights turn by half a circle, change in the middle, or stay."""
    rng = np.random.default_rng(seed)
    X, time = rng.normal(size=(n, d)), np.arange(n)[:, None] / n
    one, other = 2.0 * np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    truth = {
        "rotation": np.cos(np.pi * time) * one + np.sin(np.pi * time) * other,
        "abrupt": np.where(time < 0.5, one, other),
        "stationary": np.broadcast_to(one, (n, d)),
    }[kind]
    score = (X * truth).sum(axis=1)
    if loss == "squared_error":
        return X, score + rng.normal(size=n)
    return X, np.where(score + rng.logistic(size=n) > 0, 1, -1)


def estimator(loss: str) -> Any:
    if loss == "squared_error":
        return ASGDRegressor(random_state=0)
    return ASGDClassifier(loss=loss, random_state=0)


def loss_of_the_last_tenth(loss: str, X: Floats, y: NDArray[Any]) -> float:
    """Return the mean loss of ``partial_fit`` on the last tenth; each chunk is scored first."""
    model, begin, lost = estimator(loss), len(y) * 9 // 10, 0.0
    classes = {} if loss == "squared_error" else {"classes": [-1, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that order matters
        for place in range(0, len(y), STEP):
            some = slice(place, place + STEP)
            if place >= begin:
                scores = (model.predict if not classes else model.decision_function)(X[some])
                lost += float(get_loss(loss).value(scores, y[some].astype(float)).sum())
            model.partial_fit(X[some], y[some], **classes)
    return lost / (len(y) - begin)


def best_constant_rate(loss: str, X: Floats, y: NDArray[Any]) -> float:
    """Return the lowest loss on the last tenth of SGD over many constant rates, in hindsight."""
    unit = get_loss(loss).curvature * (X.shape[1] + 1)
    rates = [Polynomial(2.0**-k / unit, 0.0, 0.5) for k in range(12)]
    bank = Bank(loss=loss, alpha=0.0, schedule=rates, averaging=Averaging(None), step="implicit")
    scores = np.empty((len(y), len(rates)))
    bank.learn(X, y, scores=scores)
    last = slice(len(y) * 9 // 10, None)
    losses = get_loss(loss).value(scores[last], y[last, None].astype(float))
    return float(losses.mean(axis=0).min())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rotation", "abrupt"])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("d", [5, 40])
def test_as_good_as_the_best_constant_rate_in_hindsight(kind: str, loss: str, d: int) -> None:
    X, y = stream(kind, loss, 20_000, d, seed=d)
    assert loss_of_the_last_tenth(loss, X, y) < 1.05 * best_constant_rate(loss, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize(("n", "d"), [(3000, 10), (20_000, 5), (20_000, 40)])
def test_where_nothing_drifts_it_is_as_without_them(loss: str, n: int, d: int) -> None:
    for seed in range(3):
        X, y = stream("stationary", loss, n, d, seed)
        learner, begin, lost = Learner(Recipe(loss=loss, recipe="auto")), n * 9 // 10, 0.0
        for place in range(0, n, STEP):
            some = slice(place, place + STEP)
            if place >= begin:
                scores = learner.model().scores(X[some])[:, 0]
                lost += float(get_loss(loss).value(scores, y[some].astype(float)).sum())
            learner.learn(X[some], y[some])
        assert loss_of_the_last_tenth(loss, X, y) <= 1.002 * lost / (n - begin)


def learned_in_batches(X: Floats, y: Floats, batch: int) -> ASGDRegressor:
    model = ASGDRegressor(random_state=0)
    for place in range(0, len(y), batch):
        model.partial_fit(X[place : place + batch], y[place : place + batch])
    return model


@pytest.mark.filterwarnings("ignore:the model loses")
def test_they_lead_where_the_truth_turns_whatever_the_batches() -> None:
    X, y = stream("rotation", "squared_error", 8000, 5, seed=0)
    models = [learned_in_batches(X, y, batch) for batch in (700, 8000)]
    assert models[0].best_candidate_["averaging"]["start"] is None
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    still = ASGDRegressor(random_state=0, shuffle=False).fit(X, y)
    late = slice(7800, None)
    for_late = [np.mean((model.predict(X[late]) - y[late]) ** 2) for model in (models[0], still)]
    assert for_late[0] < 0.7 * for_late[1]


def test_after_many_rows_only_the_best_of_them_runs_whatever_the_batches() -> None:
    X, y = stream("stationary", "squared_error", 20_000, 5, seed=0)
    found = []
    for batch in (1700, 20_000):
        model = learned_in_batches(X, y, batch)
        moving = [c for c in model.candidates_ if c.get("averaging", {}).get("start", 0) is None]
        found.append([c["rows"] for c in moving])
    assert found[0] == found[1]
    assert sorted(found[0]) == [16_000, 16_000, 20_000]


def test_only_where_rows_come_as_they_stand() -> None:
    X, y = stream("stationary", "squared_error", 3000, 5, seed=0)

    def entered(model: Any) -> int:
        return sum(c.get("averaging", {}).get("start", 0) is None for c in model.candidates_)

    assert entered(ASGDRegressor(random_state=0).partial_fit(X, y)) == 3
    assert entered(ASGDRegressor(random_state=0).fit(X, y)) == 0
    assert entered(ASGDRegressor(random_state=0, shuffle=False).fit(X, y)) == 0
    assert entered(ASGDRegressor(random_state=0, alpha=1e-3).partial_fit(X, y)) == 0
    assert entered(ASGDRegressor(random_state=0, recipe="paper").partial_fit(X, y)) == 0


def of_classes(n: int, seed: int, classes: int) -> tuple[Floats, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    weights = np.random.default_rng(0).normal(size=(5, classes))
    return X, np.argmax(X @ weights + rng.gumbel(size=(n, classes)), axis=1)


def log_losses(model: ASGDClassifier, X: Floats, y: NDArray[Any]) -> Floats:
    return -model.predict_log_proba(X)[np.arange(len(y)), y]


@pytest.mark.filterwarnings("ignore:the model loses", "ignore:the first rows", "ignore:the loss on")
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("order", ["sorted", "last"])
def test_they_do_not_lead_by_following_the_order_of_classes(classes: int, order: str) -> None:
    X, y = of_classes(6000, 1, classes)
    fresh = of_classes(4000, 2, classes)
    shares = np.bincount(y) / len(y)
    alone = -np.log(shares[fresh[1]]).mean()
    by = np.argsort(y if order == "sorted" else y == classes - 1, kind="stable")
    model = ASGDClassifier(loss="log_loss", random_state=0)
    for some in np.array_split(by, 6):
        model.partial_fit(X[some], y[some], classes=np.arange(classes))
    assert log_losses(model, *fresh).mean() < 1.01 * alone
    assert model.recent_loss_ > 0.9 * alone  # which does not flatter


@pytest.mark.filterwarnings("ignore:the model loses", "ignore:the loss on")
def test_they_lead_where_shares_of_classes_drift_a_little() -> None:
    X, y = stream("rotation", "log_loss", 8000, 5, seed=0)
    rare = np.random.default_rng(0).random(len(y)) < np.linspace(1.0, 0.4, len(y))
    some = (y < 0) | rare
    model = ASGDClassifier(loss="log_loss", random_state=0)
    model.partial_fit(X[some], y[some], classes=[-1, 1])
    assert model.best_candidate_["averaging"]["start"] is None

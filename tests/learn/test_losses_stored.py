"""Losses with parameters and links: a learner stopped, and learners put together."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

LOSSES = ["huber", "huber(0.5)", "quantile(0.1,0.9)", "epsilon_insensitive", "poisson", "gamma"]


def made(loss: str, rows: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)) + 2.0
    means = X @ [0.3, -0.2, 0.1, 0.0] + 1.0
    if get_loss(loss).log_link:
        y = rng.poisson(np.exp(means)) + float(loss == "gamma")
    else:
        y = means + 0.3 * rng.standard_t(3, size=rows)
    return X, np.asarray(y, float)


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("stop", [300, 1700])
def test_stopped_it_goes_on_to_the_same_bits(loss, recipe, stop):
    X, y = made(loss, 6000)
    whole, begun = Learner(Recipe(loss=loss, recipe=recipe)), Learner(Recipe(loss, recipe))
    whole.learn(X, y)
    begun.learn(X[:stop], y[:stop])
    again = Learner.from_state(*begun.state())
    again.learn(X[stop:], y[stop:])
    ours, theirs = whole.model(), again.model()
    assert ours.loss == theirs.loss
    assert ours.weights.tobytes() == theirs.weights.tobytes()
    assert ours.intercept.tobytes() == theirs.intercept.tobytes()
    assert whole.recent() == again.recent()


@pytest.mark.parametrize("loss", LOSSES)
def test_parts_that_went_on_from_one_learner_become_one(loss):
    X, y = made(loss, 16_000)
    head = Learner(Recipe(loss=loss, recipe="auto"))
    head.learn(X[:2000], y[:2000])
    parts = [Learner.from_state(*head.state()) for _ in range(2)]
    for part, rows in zip(parts, (slice(2000, 9000), slice(9000, 16_000)), strict=True):
        assert part.race is not None
        part.race.is_part = True
        part.learn(X[rows], y[rows])
    parts[0].merge(parts[1:], head)
    alone = Learner(Recipe(loss=loss, recipe="auto"))
    alone.learn(X, y)
    assert parts[0].rows_seen == 16_000
    together, one = parts[0].model(), alone.model()
    assert together.loss == one.loss
    value, columns = get_loss(one.loss).value, y[:, None]
    merged = value(together.scores(X), columns).sum(axis=1).mean()
    assert merged <= 1.005 * value(one.scores(X), columns).sum(axis=1).mean()
    assert parts[0].recent()["constant_loss"] == pytest.approx(
        alone.recent()["constant_loss"], rel=0.1
    )

"""Choices that no single row, rare class or absurd value may turn."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.recipes import Recipe


def dummies(rng, rows, levels):
    return np.eye(levels)[rng.integers(0, levels, rows)]


def poisson_rows(rng, rows, effects):
    """Counts that depend on the logarithms of long-tailed columns, and on 52 dummies."""
    Z, level = rng.normal(size=(rows, 6)), dummies(rng, rows, 52)
    score = Z @ effects[:6] + level @ effects[6:] - 1.0
    return np.hstack([np.exp(1.4 * Z), level]), rng.poisson(np.exp(score))


@pytest.mark.parametrize("seed", range(2))
def test_one_huge_early_loss_does_not_hide_the_later_ones(seed):
    rng = np.random.default_rng(seed)
    effects = rng.normal(0.0, 0.3, 58)
    (X, y), (test, counts) = (poisson_rows(rng, n, effects) for n in (18_000, 5_000))
    ours = ASGDRegressor(loss="poisson", random_state=seed).fit(X, y)
    theirs = min(
        mean_poisson_deviance(counts, model.predict(test))
        for alpha in (1e-4, 1e-3, 1e-2)
        for model in [make_pipeline(StandardScaler(), PoissonRegressor(alpha=alpha)).fit(X, y)]
    )
    assert ours.recent_loss_ > 0.0
    assert mean_poisson_deviance(counts, ours.predict(test)) < 1.02 * theirs


def rare_rows(rng, rows):
    """Dummies, and 2 to 5% of positive rows."""
    X = np.hstack([dummies(rng, rows, 10), dummies(rng, rows, 15), rng.normal(size=(rows, 3))])
    score = X @ rng.normal(0.0, 0.7, X.shape[1])
    share = rng.uniform(0.02, 0.05)
    y = np.zeros(rows, dtype=int)
    y[np.argsort(-(score + rng.logistic(size=rows)))[: max(int(share * rows), 3)]] = 1
    return X, y


@pytest.mark.parametrize("rows", [200, 500])
def test_a_rare_class_counts_in_full(rows):
    worse = []
    for seed in range(8):
        X, y = rare_rows(np.random.default_rng(seed), rows)
        model = ASGDClassifier(random_state=seed).fit(X, y)
        constant = log_loss(y, np.full(rows, y.mean()))
        if log_loss(y, model.predict_proba(X)[:, 1]) > 1.001 * constant:
            worse.append(seed)
    assert not worse


@pytest.mark.slow
def test_wide_rows_do_not_lead_to_the_lightest_penalty():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(40, 1024)) / np.arange(1, 41)[:, None]
    Z = rng.normal(size=(4500, 40))
    X = Z @ basis + 0.3 * rng.normal(size=(4500, 1024))
    y = (Z[:, :10].sum(axis=1) + 2.0 * rng.normal(size=4500) > 0).astype(int)
    model = ASGDClassifier(random_state=0).fit(X[:1500], y[:1500])
    assert model.recent_loss_ < model.constant_loss_
    assert log_loss(y[1500:], model.predict_proba(X[1500:])) < 0.65


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_a_given_penalty_is_not_given_up_for_the_constant(seed):
    """One-step leave-one-out overestimates what nearly separated rows lose."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 20))
    y = (X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=150) > 0).astype(int)
    model = ASGDClassifier(penalty="l1", alpha=1e-4, random_state=seed).fit(X, y)
    assert model.coef_.any()


def test_few_rows_are_reported_by_the_estimate_that_chose():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    y = X @ [3.0, 2.0, 1.0] + 0.1 * rng.normal(size=12)
    model = ASGDRegressor(random_state=0).fit(X, y)
    assert model.recent_.left_out
    assert model.recent_.rows == 12
    assert 0.9 < model.recent_.r2 <= 1.0


@pytest.mark.parametrize("where", ["feature", "target", "weight"])
def test_one_absurd_value_does_bounded_harm(where):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(4000, 5)), np.ones(2000)
    y = X @ [3.0, 2.0, 1.0, 0.0, 0.0] + rng.normal(size=4000)
    least_squares = LinearRegression().fit(X[:2000], y[:2000])
    if where == "feature":
        X[700, 2] = 1e9
    elif where == "target":
        y[700] += 1e3
    else:
        w[700] = 1e6
    if where != "feature":  # least squares itself is not robust against these
        least_squares.fit(X[:2000], y[:2000], sample_weight=w)

    def error(model):
        return np.mean((model.predict(X[2000:]) - y[2000:]) ** 2)

    ours = ASGDRegressor(random_state=0).fit(X[:2000], y[:2000], sample_weight=w)
    assert error(ours) < 1.05 * error(least_squares)


def test_an_absurd_count_leaves_the_choice_to_bounded_steps():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(12_000, 10))
    y = rng.poisson(np.exp(X @ rng.normal(0.0, 0.4, 10))).astype(float)
    X, test, y, counts = X[:2000], X[2000:], y[:2000], y[2000:]
    y[rng.integers(2000)] = 1e5
    ours = ASGDRegressor(loss="poisson", random_state=0).fit(X, y)
    alone = mean_poisson_deviance(counts, np.full(len(counts), y.mean()))
    assert mean_poisson_deviance(counts, ours.predict(test)) < alone


@pytest.mark.slow
def test_rows_that_ruin_all_weights_leave_the_constant():
    rng = np.random.default_rng(3)
    effects = rng.normal(size=10)
    X = rng.standard_cauchy(size=(18_000, 10))
    y = rng.poisson(np.exp(0.3 * np.arctan(X) @ effects)).astype(float)
    ours = ASGDRegressor(loss="poisson", random_state=3).fit(X, y)
    ours.partial_fit(X[:100], y[:100])
    assert np.allclose(ours.predict(X[:5]), y.mean(), rtol=0.02)


def test_the_constant_goes_on_where_all_weights_overflow():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    learner = Learner(Recipe(loss="poisson", recipe="auto"))
    learner.learn(X, y)
    race = learner.race
    assert race is not None
    (newton,) = (lane for lane in race.lanes if isinstance(lane, NewtonRacer))
    (constant,) = race.baselines
    race.drop_all_but({*newton.numbers, *constant.numbers})
    newton.newton.left = "the weights overflowed"
    with pytest.warns(UserWarning, match="all other candidates overflowed"):
        learner.learn(X, y)
    learner.learn(X, y)
    assert np.allclose(learner.model().predict(X[:5]), y.mean(), rtol=0.02)


def test_rows_of_a_rare_class_are_too_few_for_a_light_penalty():
    """Fresh rows, relative to the constant of the rows learned."""
    ratios = []
    for seed in range(3, 8):
        X, y = rare_rows(np.random.default_rng(seed), 5200)
        chosen = np.random.default_rng(seed).permutation(5200)
        some, rest = chosen[:200], chosen[200:]
        model = ASGDClassifier(random_state=seed).fit(X[some], y[some])
        alone = log_loss(y[rest], np.full(5000, y[some].mean()))
        ratios.append(log_loss(y[rest], model.predict_proba(X[rest])[:, 1]) / alone)
    assert max(ratios) < 1.02, ratios

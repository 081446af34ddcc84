"""Losses with parameters and links, through the estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from simulated_losses import TARGETS, batch_optimum, made
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor
from polyak.losses import get_loss, names_of

NUMBERS = [name for name in names_of(classifies=False) if name != "squared_error"]


def loss_found(model):
    return get_loss(model.to_model().loss)


def mean_loss(model, X, y):
    scores = X @ model.coef_.T + model.intercept_
    return loss_found(model).value(scores, y).mean()


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
@pytest.mark.parametrize("loss", NUMBERS)
def test_one_pass_is_within_one_percent_of_the_optimum(loss, recipe):
    X, y = made(loss, 6000)
    model = ASGDRegressor(loss=loss, recipe=recipe, max_iter=1, random_state=0).fit(X, y)
    best = batch_optimum(loss_found(model), X, y)
    assert mean_loss(model, X, y) <= 1.01 * best
    assert model.recent_loss_ < model.constant_loss_


def test_the_median_is_that_of_linear_programming():
    X, y = made("quantile", 1500)
    model = ASGDRegressor(loss="quantile", random_state=0).fit(X, y)
    theirs = QuantileRegressor(quantile=0.5, alpha=0).fit(X, y)
    lost = get_loss("quantile(0.5)").value(theirs.predict(X), y).mean()
    assert mean_loss(model, X, y) <= 1.005 * lost


@pytest.mark.parametrize(("loss", "unit"), [("poisson", 1e-6), ("quantile", 1e6)])
def test_the_unit_of_targets_does_not_make_a_penalty_stronger(loss, unit):
    # Beside words, weights that a penalty erases at every row take seconds for a thousand rows.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"region": rng.choice(list("abcdefgh"), 600), "age": rng.normal(40, 10, 600)})
    y = rng.gamma(1.0, 1.0, 600)
    products = []
    for targets in (y, unit * y):
        found = ASGDRegressor(loss=loss, max_iter=1, random_state=0).fit(X, targets).candidates_
        averaged = [one for one in found if "alpha" in one]
        products.append([one["alpha"] * one["schedule"]["gamma0"] for one in averaged])
    assert len(products[0]) == 8
    np.testing.assert_allclose(products[1], products[0], rtol=1e-6)


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
def test_several_quantiles_cover_what_they_should_and_do_not_cross(recipe):
    X, y = made("quantile", 12_000)
    quantiles = [0.05, 0.5, 0.95]
    model = ASGDRegressor(loss="quantile", quantile=quantiles, recipe=recipe, random_state=0)
    predicted = model.fit(X[:8000], y[:8000]).predict(X[8000:])
    assert predicted.shape == (4000, 3)
    assert (np.diff(predicted, axis=1) >= 0).all()
    covered = (y[8000:, None] <= predicted).mean(axis=0)
    assert np.abs(covered - quantiles).max() < 0.015  # four standard errors, in the middle two


def test_quantiles_that_would_cross_are_put_in_order():
    X, y = made("quantile", 3000)
    model = ASGDRegressor(loss="quantile", quantile=[0.2, 0.3], random_state=0).fit(X, y)
    far = X[:50] * 1000.0
    raw = far @ model.coef_.T + model.intercept_
    assert (raw[:, 0] > raw[:, 1]).any()
    assert (np.diff(model.predict(far), axis=1) >= 0).all()


@pytest.mark.parametrize("loss", ["huber", "quantile", "epsilon_insensitive"])
def test_the_units_of_the_target_do_not_matter(loss):
    X, y = made(loss, 3000)
    here = ASGDRegressor(loss=loss, random_state=0).fit(X, y).predict(X)
    there = ASGDRegressor(loss=loss, random_state=0).fit(X, 1e4 * y - 1e7).predict(X)
    np.testing.assert_allclose((there + 1e7) / 1e4, here, atol=0.03 * np.std(y))


def test_huber_finds_its_epsilon_from_the_noise_that_is_usual():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.5 * rng.normal(size=2000)
    y[::10] += 1000.0
    model = ASGDRegressor(loss="huber", random_state=0).fit(X, y)
    assert loss_found(model).parameters[0] == pytest.approx(1.345 * 0.5, rel=0.3)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], atol=0.1)


def test_huber_without_outliers_and_with_a_large_epsilon_is_least_squares():
    X, y = made("huber", 2000)
    square = ASGDRegressor(random_state=0).fit(X, y)
    huber = ASGDRegressor(loss="huber", epsilon=1e9, random_state=0).fit(X, y)
    np.testing.assert_allclose(huber.predict(X), square.predict(X), atol=0.02 * np.std(y))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_means_of_a_log_link_are_positive_and_add_up(loss):
    X, y = made(loss, 4000)
    model = ASGDRegressor(loss=loss, random_state=0).fit(X, y)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    if loss == "poisson":  # the intercept's equation
        assert predicted.mean() == pytest.approx(y.mean(), rel=0.01)
    np.testing.assert_allclose(np.log(predicted), X @ model.coef_ + model.intercept_)


def test_exposures_are_weights_of_rates():
    """A row of exposure three counts as three rows of its rate."""
    X, y = made("poisson", 3000)
    exposure = np.random.default_rng(1).integers(1, 4, size=3000)
    rates = y / exposure
    weighted = ASGDRegressor(loss="poisson", random_state=0).fit(X, rates, exposure)
    best = batch_optimum(get_loss("poisson"), X, rates, exposure.astype(float))
    scores = X @ weighted.coef_ + weighted.intercept_
    lost = np.average(get_loss("poisson").value(scores, rates), weights=exposure)
    assert lost <= 1.005 * best


@pytest.mark.parametrize(
    ("loss", "bad", "wants"),
    [
        ("poisson", -1.0, "poisson needs numbers of zero or more"),
        ("gamma", 0.0, "gamma needs numbers above zero"),
    ],
)
@pytest.mark.parametrize("rows", [50, 3000])
def test_a_target_that_cannot_be_is_named(loss, bad, wants, rows):
    X, y = made(loss, rows)
    y[17] = bad
    with pytest.raises(ValueError, match=rf"row 17 has the target {bad:g}; {wants}"):
        ASGDRegressor(loss=loss, shuffle=False).partial_fit(X, y)


@pytest.mark.parametrize("loss", NUMBERS)
def test_a_model_and_a_pickle_know_the_parameter(loss, tmp_path):
    X, y = made(loss, 1500)
    model = ASGDRegressor(loss=loss, random_state=0).fit(X, y)
    model.to_model().save(tmp_path / "m.polyak")
    loaded = type(model.to_model()).load(tmp_path / "m.polyak")
    assert loaded.loss == model.to_model().loss
    again = ASGDRegressor.from_model(loaded)
    assert again.loss == loss
    for other in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": "quantile", "quantile": [0.5, 0.2]}, "in increasing order"),
        ({"loss": "quantile", "quantile": [0.5, 1.2]}, "between 0 and 1, not 1.2"),
        ({"loss": "huber", "epsilon": 0}, "epsilon of huber must be above zero"),
        ({"loss": "hubert"}, "'loss' parameter"),
    ],
)
def test_parameters_that_cannot_be(settings, sentence):
    X, y = made("quantile", 100)
    with pytest.raises(ValueError, match=sentence):
        ASGDRegressor(**settings).fit(X, y)


def test_several_quantiles_of_several_targets_are_refused():
    X, y = made("quantile", 100)
    with pytest.raises(ValueError, match="several quantiles are learned of one target"):
        ASGDRegressor(loss="quantile", quantile=[0.2, 0.5]).fit(X, np.column_stack([y, y]))


def test_several_targets_have_an_epsilon_each():
    X, y = made("huber", 2000)
    both = ASGDRegressor(loss="huber", random_state=0).fit(X, np.column_stack([y, 50 * y]))
    small, large = loss_found(both).parameters
    assert large == pytest.approx(50 * small)
    alone = ASGDRegressor(loss="huber", random_state=0).fit(X, y)
    np.testing.assert_allclose(both.predict(X)[:, 0], alone.predict(X), atol=0.01 * np.std(y))


@pytest.mark.parametrize("loss", ["huber", "poisson", "gamma", "quantile"])
def test_intervals_hold_the_prediction(loss):
    X, y = made(loss, 3000)
    model = ASGDRegressor(loss=loss, intervals=True, random_state=0).fit(X, y)
    low, high = model.predict_interval(X[:100])
    assert ((low < high) & (low > 0 if get_loss(loss).log_link else low < high)).all()
    assert np.mean((low < model.predict(X[:100])) & (model.predict(X[:100]) < high)) > 0.9


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
def test_modified_huber_tells_classes_apart(recipe):
    X, y = made("huber", 4000)
    labels = np.where(y > np.median(y), "high", "low")
    model = ASGDClassifier(loss="modified_huber", recipe=recipe, random_state=0).fit(X, labels)
    logistic = ASGDClassifier(random_state=0).fit(X, labels)
    assert model.score(X, labels) > logistic.score(X, labels) - 0.01
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_every_loss_for_numbers_has_made_targets():
    assert set(TARGETS) == set(NUMBERS)

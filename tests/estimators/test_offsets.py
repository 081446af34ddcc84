"""Offsets: what is added to the score of each row, for every loss."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_predict
from tests.extras import glum
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

sm = pytest.importorskip("statsmodels.api")

ROWS = 6000
FAMILIES = {
    "squared_error": sm.families.Gaussian(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
    "log_loss": sm.families.Binomial(),
}


def problem(loss: str, rows: int = ROWS, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return rows, targets and offsets, which are correlated with the first feature."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 3))
    offset = random.normal(size=rows) + 0.5 * X[:, 0]
    score = X @ [0.4, -0.3, 0.2] + 0.3 + offset
    if loss == "poisson":
        return X, random.poisson(np.exp(score)).astype(float), offset
    if loss == "gamma":
        return X, random.gamma(2.0, np.exp(score) / 2.0), offset
    if loss == "squared_error":
        return X, score + random.normal(size=rows), offset
    return X, (random.random(rows) < 1.0 / (1.0 + np.exp(-score))).astype(int), offset


def estimator(loss: str, **settings: Any) -> Any:
    kind = ASGDClassifier if loss in ("log_loss", "squared_hinge", "hinge") else ASGDRegressor
    return kind(loss=loss, random_state=0, **settings)


def all_weights(fitted: Any) -> np.ndarray:
    return np.append(np.ravel(fitted.coef_), fitted.intercept_)


@pytest.mark.parametrize("loss", FAMILIES)
def test_weights_and_errors_are_those_of_statsmodels(loss: str) -> None:
    X, y, offset = problem(loss)
    design = sm.add_constant(X, prepend=False)
    model = sm.GLM(y, design, family=FAMILIES[loss], offset=offset)
    fitted = estimator(loss, penalty=None, intervals=True).fit(X, y, offset=offset)
    theirs = model.fit(tol=1e-12)
    np.testing.assert_allclose(all_weights(fitted), theirs.params, rtol=1e-3)
    # The jackknife's errors: each slope is divided by one minus its leverage.
    slopes = y - theirs.fittedvalues
    curvature = np.ones(len(y))
    if loss == "poisson":
        curvature = theirs.fittedvalues
    elif loss == "gamma":
        slopes, curvature = slopes / theirs.fittedvalues, y / theirs.fittedvalues
    elif loss == "log_loss":
        curvature = theirs.fittedvalues * (1.0 - theirs.fittedvalues)
    bread = np.linalg.inv(design.T @ (design * curvature[:, None]))
    leverage = curvature * np.einsum("ij,jk,ik->i", design, bread, design)
    spread = design * (slopes / (1.0 - leverage))[:, None]
    errors = np.sqrt(np.diag(bread @ spread.T @ spread @ bread))
    found = np.append(np.ravel(fitted.coef_std_err_), fitted.intercept_std_err_)
    np.testing.assert_allclose(found, errors, rtol=1e-3)
    np.testing.assert_allclose(found, theirs.bse, rtol=0.1)


def test_glum_agrees() -> None:
    X, y, offset = problem("poisson")
    theirs = glum.GeneralizedLinearRegressor(alpha=0, family="poisson", gradient_tol=1e-10)
    theirs.fit(X, y, offset=offset)
    fitted = ASGDRegressor(loss="poisson", penalty=None).fit(X, y, offset=offset)
    np.testing.assert_allclose(fitted.coef_, theirs.coef_, rtol=1e-3)


@pytest.mark.parametrize("loss", FAMILIES)
def test_averaged_sgd_learns_the_same_direction(loss: str) -> None:
    X, y, offset = problem(loss, 40_000)
    fitted = estimator(loss, recipe="sgd").fit(X, y, offset=offset)
    assert "SGD" in fitted.method_
    np.testing.assert_allclose(np.ravel(fitted.coef_), [0.4, -0.3, 0.2], atol=0.06)
    np.testing.assert_allclose(fitted.intercept_, 0.3, atol=0.06)


@pytest.mark.parametrize("loss", ["huber", "quantile", "epsilon_insensitive"])
def test_losses_of_residuals_learn_targets_less_offsets(loss: str) -> None:
    X, y, offset = problem("squared_error")
    fitted = estimator(loss).fit(X, y, offset=offset)
    less = estimator(loss).fit(X, y - offset)
    np.testing.assert_allclose(all_weights(fitted), all_weights(less), rtol=1e-6)
    np.testing.assert_allclose(
        fitted.predict(X, offset=offset), less.predict(X) + offset, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "poisson", "gamma"])
def test_the_same_offset_for_all_rows_moves_the_intercept(loss: str) -> None:
    X, y, _ = problem(
        "poisson" if loss == "poisson" else "gamma" if loss == "gamma" else "log_loss"
    )
    fitted = estimator(loss, alpha=0.01).fit(X, y, offset=np.full(len(y), 0.5))
    plain = estimator(loss, alpha=0.01).fit(X, y)
    assert fitted.intercept_ + 0.5 == pytest.approx(plain.intercept_, abs=0.05)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, atol=0.05)


def test_batches_leave_no_trace_and_sparse_is_dense() -> None:
    X, y, offset = problem("log_loss")
    whole = estimator("log_loss", shuffle=False).partial_fit(X, y, classes=[0, 1], offset=offset)
    parts, thin = estimator("log_loss"), estimator("log_loss")
    for some in np.array_split(np.arange(ROWS), 13):
        parts.partial_fit(X[some], y[some], classes=[0, 1], offset=offset[some])
        thin.partial_fit(sparse.csr_matrix(X[some]), y[some], classes=[0, 1], offset=offset[some])
    np.testing.assert_array_equal(all_weights(whole), all_weights(parts))
    np.testing.assert_allclose(all_weights(whole), all_weights(thin), rtol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"recipe": "sgd"}, {"penalty": "l1"}])
def test_resumed_is_uninterrupted(settings: dict[str, Any]) -> None:
    X, y, offset = problem("poisson")
    rows = np.column_stack([X, offset])
    learner = Learner(Recipe(loss="poisson", **settings), offset=3)
    learner.learn(rows[:2500], y[:2500])
    resumed = Learner.from_state(*copy.deepcopy(learner.state()))
    for one in (learner, resumed):
        one.learn(rows[2500:], y[2500:])
    np.testing.assert_array_equal(learner.model().weights, resumed.model().weights)
    assert learner.model().weights[3, 0] == 1.0


def test_merged_is_learned_together() -> None:
    X, y, offset = problem("squared_error")
    rows = np.column_stack([X, offset])
    recipe = Recipe(loss="squared_error", penalty="none")
    parts = [Learner(recipe, offset=3) for _ in range(2)]
    for part, half in zip(parts, (slice(3000), slice(3000, None)), strict=True):
        part.learn(rows[half], y[half])
    parts[0].merge(parts[1:])
    theirs = sm.OLS(y - offset, sm.add_constant(X, prepend=False)).fit()
    found = parts[0].model()
    np.testing.assert_allclose([*found.weights[:3, 0], *found.intercept], theirs.params, rtol=1e-6)


def test_curves_beside_an_offset() -> None:
    random = np.random.default_rng(0)
    x, offset = random.uniform(-3.0, 3.0, 8000), random.normal(size=8000)
    y = random.poisson(np.exp(np.sin(x) + offset)).astype(float)
    fitted = ASGDRegressor(loss="poisson", curves="all", random_state=0)
    fitted.fit(x[:, None], y, offset=offset)
    grid = np.linspace(-2.5, 2.5, 50)
    found = np.log(fitted.predict(grid[:, None], offset=np.ones(50)))
    np.testing.assert_allclose(found, np.sin(grid) + 1.0, atol=0.12)
    assert [term["name"] for term in fitted.terms_] == ["x0"]


def test_exposure_and_its_logarithm_as_offset_are_one_model() -> None:
    X, _, _ = problem("poisson")
    random = np.random.default_rng(1)
    exposure = random.uniform(0.1, 2.0, ROWS)
    y = random.poisson(exposure * np.exp(X @ [0.4, -0.3, 0.2]))
    how = {"penalty": None, "random_state": 0}
    rates = ASGDRegressor(loss="poisson", **how).fit(X, y, exposure=exposure)
    beside = ASGDRegressor(loss="poisson", **how).fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(all_weights(rates), all_weights(beside), rtol=1e-5)


def test_a_column_of_a_frame_is_needed_once() -> None:
    X, y, offset = problem("log_loss")
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        base=offset, word=np.where(X[:, 0] > 0, "u", "v"), y=y
    )
    fitted = ASGDClassifier(loss="log_loss", random_state=0).fit(frame, "y", offset="base")
    rows = frame.drop(columns="y")
    np.testing.assert_allclose(fitted.to_model().predict_proba(rows), fitted.predict_proba(rows))
    more = rows.assign(base=offset + 1.0)
    np.testing.assert_allclose(
        fitted.decision_function(more), fitted.decision_function(rows) + 1.0, rtol=1e-9
    )
    names, parts = fitted.contributions(rows)
    np.testing.assert_allclose(parts.sum(axis=1), fitted.decision_function(rows))
    np.testing.assert_allclose(parts[:, names.index("base")], offset)
    with pytest.raises(ValueError, match="as offset=, or in the column base"):
        fitted.predict(rows.drop(columns="base"))


def test_intervals_are_about_the_shifted_score() -> None:
    X, y, offset = problem("poisson")
    for recipe in ("auto", "sgd"):
        fitted = estimator("poisson", intervals=True, recipe=recipe).fit(X, y, offset=offset)
        low, high = fitted.predict_interval(X, offset=offset)
        value = fitted.predict(X, offset=offset)
        assert np.all((low < value) & (value < high))
    table = estimator("poisson", intervals=True).fit(X, y, offset=offset).coefficients()
    line = table.set_index("feature").loc["offset"]
    assert line["weight"] == 1.0
    assert line["standard_error"] == 0.0


def test_arrays_keep_their_features() -> None:
    X, y, offset = problem("poisson")
    X[5, 1] = np.nan
    fitted = ASGDRegressor(loss="poisson", random_state=0).fit(X, y, offset=offset)
    assert fitted.n_features_in_ == 3
    there = ASGDRegressor(loss="poisson", random_state=0).fit(X[6:], y[6:], offset=offset[6:])
    assert there.coef_.shape == there.get_feature_names_out().shape == (3,)
    np.testing.assert_allclose(
        there.predict(X[6:], offset=offset[6:]), fitted.predict(X[6:], offset=offset[6:]), rtol=0.01
    )
    assert there.score(X[6:], y[6:], offset=offset[6:]) > 0.5


def test_what_is_refused() -> None:
    X, y, offset = problem("log_loss")
    fitted = ASGDClassifier(loss="log_loss").fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="has learned with offsets: pass the offset of each row"):
        fitted.predict(X)
    frame = pd.DataFrame(X, columns=list("abc"))
    of_frame = ASGDClassifier(loss="log_loss").fit(frame, y, offset=offset)
    with pytest.raises(ValueError, match="has learned with offsets: pass the offset of each row"):
        of_frame.predict(frame)
    with pytest.raises(ValueError, match="has learned without offsets"):
        ASGDClassifier(loss="log_loss").fit(X, y).predict(X, offset=offset)
    with pytest.raises(ValueError, match="an offset of a row adds the same"):
        ASGDClassifier(loss="log_loss").fit(X, np.arange(ROWS) % 3, offset=offset)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="offset contains"):
            ASGDClassifier(loss="log_loss").fit(X, y, offset=np.where(offset > 2, value, offset))


def test_offsets_in_a_column_are_cross_validated() -> None:
    X, y, offset = problem("squared_error", 400)
    frame = pd.DataFrame(X, columns=list("abc")).assign(o=offset)
    model = ASGDRegressor(random_state=0)
    predicted = cross_val_predict(model, frame, y, params={"offset": "o"})
    assert np.corrcoef(predicted, y)[0, 1] > 0.5
    with pytest.raises(ValueError, match="by cross_val_predict, fit a frame that has them"):
        cross_val_predict(model, X, y, params={"offset": offset})


def test_the_intercept_of_wide_rows_makes_up_for_large_offsets() -> None:
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(1500, 300)), 4)
    y = X[:, 0] + 0.5 * rng.normal(size=1500) > 0.5
    plain, shifted = (
        ASGDClassifier(loss="log_loss", random_state=0).fit(X, y, offset=np.full(1500, size))
        for size in (0.0, 5.0)
    )
    assert shifted.method_ == plain.method_ != "constant"
    assert shifted.recent_loss_ < 1.05 * plain.recent_loss_

"""Wide dense rows at the estimators: losses, odd columns, refusals, reports and files."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from tests.learn.dense.dense_problems import WIDTH, made

import polyak
from polyak import ASGDClassifier, ASGDRegressor
from polyak.cli.commands import inspect
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.recipes.plan import Sample, plan_race
from polyak.model.linear import LinearModel

ROWS = 2000
X, Y = made(ROWS + 2000)
X, X_TEST, Y, Y_TEST = X[:ROWS], X[ROWS:], Y[:ROWS], Y[ROWS:]


def fitted(rows: Any = X, y: Any = Y, **settings: Any) -> ASGDClassifier:
    return ASGDClassifier(random_state=0).set_params(**settings).fit(rows, y)


def loss(model: Any, rows: Any = X_TEST) -> float:
    return float(log_loss(Y_TEST, model.predict_proba(rows), labels=np.arange(5)))


@pytest.fixture(scope="module")
def plain() -> ASGDClassifier:
    return fitted()


# -- quality ---------------------------------------------------------------------------------------


def test_fit_is_as_good_as_the_best_penalty(plain: ASGDClassifier) -> None:
    scale = StandardScaler().fit(X)
    batch = [
        LogisticRegression(C=C, max_iter=5000).fit(scale.transform(X), Y) for C in (1e-3, 1e-2, 0.1)
    ]
    best = min(loss(one, scale.transform(X_TEST)) for one in batch)
    assert plain.method_ == "dense"
    assert loss(plain) < 1.01 * best


def test_fit_is_the_optimum_at_the_penalty_it_reports(plain: ASGDClassifier) -> None:
    penalty = plain.to_model().report.winner.penalty
    away = X - X.mean(axis=0)
    variance, most = X.var(axis=0), np.square(away).max(axis=0)
    scale = np.sqrt((variance + np.minimum(variance.mean(), most)) / 2)
    rows = (away / scale).astype(np.float64)
    batch = LogisticRegression(C=1 / penalty, max_iter=5000, tol=1e-7).fit(rows, Y)
    ours, best = (
        log_loss(Y, p) + penalty / 2 / ROWS * np.square(W).sum()
        for p, W in (
            (plain.predict_proba(X), plain.coef_ * scale),
            (batch.predict_proba(rows), batch.coef_),
        )
    )
    assert best - 1e-6 < ours < best + 1e-3


def test_two_classes_of_many_columns() -> None:
    rows, y = made(3000, 2, width=1100)
    model = fitted(rows[:1500], y[:1500])
    assert model.method_ == "dense"
    assert model.coef_.shape == (1, 1100)
    batch = min(
        log_loss(y[1500:], LogisticRegression(C=C).fit(rows[:1500], y[:1500]).predict_proba(r))
        for C in (0.1, 1, 10)
        for r in (rows[1500:],)
    )
    assert log_loss(y[1500:], model.predict_proba(rows[1500:])) < 1.02 * batch


def test_long_tails_and_few_weights() -> None:
    """200 weights: with long tails Newton steps and averaged SGD end at the constant."""
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(8000, 100))
    y = np.argmax(logs @ rng.normal(size=(100, 3)) + rng.gumbel(size=(8000, 3)), axis=1)
    rows = StandardScaler().fit_transform(np.exp(2.5 * logs))
    given, new = (rows[:6000], y[:6000]), rows[6000:]
    model = ASGDClassifier(max_iter=1, random_state=0).fit(*given)
    assert model.method_ == "dense"
    batch = LogisticRegression(C=1e-3).fit(*given)
    ours, best = (log_loss(y[6000:], one.predict_proba(new)) for one in (model, batch))
    assert ours < 1.02 * best
    for other in ({}, {"may_drift": True}, {"solved": True}):
        sample = Sample(rows[:1000], rows[:1000], 3, one_vs_rest=True, **other)
        methods = {one.method for one in plan_race(Recipe(loss="log_loss"), sample)}
        assert ("dense" in methods) == (not other)


@pytest.fixture(scope="module")
def rare() -> tuple[Any, Any]:
    """Return rows of which 2% are positive, none of them among the first 300."""
    rng = np.random.default_rng(15)
    rows = (rng.normal(size=(20_000, 16)) @ rng.normal(size=(16, 300)) / 4).astype(np.float32)
    rows += rng.normal(size=rows.shape).astype(np.float32)
    scores = 4 * rows[:, :5] @ rng.normal(size=5)
    y = (scores + rng.logistic(size=20_000) > np.quantile(scores, 0.98)).astype(int)
    first = np.flatnonzero(y == 0)[:300]
    order = np.r_[first, np.setdiff1d(np.arange(20_000), first)]
    return rows[order], y[order]


@pytest.mark.parametrize("stream", [False, True])
def test_rare_positives_that_come_late(rare: tuple[Any, Any], stream: bool) -> None:
    rows, y = rare
    model = ASGDClassifier(shuffle=False)
    if stream:
        model.partial_fit(rows[:3000], y[:3000], classes=[0, 1])
    else:
        model.fit(rows[:3000], y[:3000])
    assert model.method_ == "dense"

    def loss(one: Any) -> float:
        return float(log_loss(y[3000:], one.predict_proba(rows[3000:])))

    best = min(
        loss(LogisticRegression(C=C, max_iter=500).fit(rows[:3000], y[:3000]))
        for C in (3e-3, 1e-2, 3e-2)
    )
    assert loss(model) < 1.05 * best
    if not stream:
        recent = model.to_model().report.recent
        assert recent.left_out
        assert abs(recent.loss - loss(model)) < 2 * recent.loss_std_err


@pytest.mark.parametrize(("rows", "counted"), [(2400, 1211), (3000, 1000), (5500, 1500)])
@pytest.mark.parametrize("stream", [False, True])
def test_losses_count_since_the_penalty_was_found(rows: int, counted: int, stream: bool) -> None:
    """At 2,000 and 4,000 rows, or earlier where fewer than a quarter of these came since."""
    many, classes = made(rows)
    model = ASGDClassifier(random_state=0)
    if stream:
        model.partial_fit(many, classes, classes=np.arange(5))
    else:
        model.fit(many, classes)
    assert model.recent_.rows == counted
    if counted < rows / 2:
        assert model.progressive_loss_ == model.recent_loss_


def test_several_targets() -> None:
    rng = np.random.default_rng(0)
    rows, _ = made(3000, 2, width=1100)
    y = rows @ rng.normal(size=(1100, 3)) + rng.normal(size=(3000, 3))
    model = ASGDRegressor(random_state=0).fit(rows[:1500], y[:1500])
    assert model.method_ == "dense"
    ridges = [Ridge(alpha).fit(rows[:1500], y[:1500]) for alpha in (1.0, 10.0, 100.0)]
    best = min(np.square(one.predict(rows[1500:]) - y[1500:]).mean() for one in ridges)
    assert np.square(model.predict(rows[1500:]) - y[1500:]).mean() < 1.02 * best
    one = ASGDRegressor(random_state=0).fit(rows[:1500], y[:1500, 0])
    assert one.method_ == "dense"
    assert one.predict(rows[:2]).shape == (2,)


def test_several_labels() -> None:
    """Each label has a model of its own, so Newton steps have room up to 1024 columns."""
    rng = np.random.default_rng(1)
    rows, _ = made(1500, 2, width=1100)
    scores = 3 * rows[:, :8] / rows[:, :8].std(axis=0) @ rng.normal(size=(8, 3))
    model = ASGDClassifier(random_state=0).fit(rows[:1000], (scores[:1000] > 1).astype(int))
    assert model.method_ == "dense"
    assert model.predict_proba(rows[:2]).shape == (2, 3)
    right = model.predict(rows[1000:]) == (scores[1000:] > 1)
    assert right.mean() > 0.75


def test_class_weights() -> None:
    rare = (Y != 4) | (np.arange(ROWS) % 8 == 0)
    model = fitted(X[rare], Y[rare])
    balanced = fitted(X[rare], Y[rare], class_weight="balanced")
    assert balanced.method_ == "dense"
    shares = [(one.predict(X_TEST) == 4).mean() for one in (model, balanced)]
    assert shares[0] < shares[1] < 2 * (Y_TEST == 4).mean()


def test_weights_of_zero_are_removal() -> None:
    there = np.arange(ROWS) % 3 > 0
    model = ASGDClassifier(shuffle=False, random_state=0)
    weighted = model.fit(X, Y, sample_weight=there.astype(float)).coef_
    np.testing.assert_array_equal(weighted, model.fit(X[there], Y[there]).coef_)


# -- odd rows --------------------------------------------------------------------------------------


def test_constant_columns_get_no_weight(plain: ASGDClassifier) -> None:
    rows, test = (np.c_[part, np.full((len(part), 3), 7.0, np.float32)] for part in (X, X_TEST))
    model = fitted(rows)
    assert np.abs(model.coef_[:, -3:]).max() < 1e-6
    assert loss(model, test) == pytest.approx(loss(plain), rel=0.003)


@pytest.mark.parametrize("value", [0.1, -1 / 300])
def test_columns_that_are_constant_at_first(plain: ASGDClassifier, value: float) -> None:
    """Also where the mean of such values is not the value, as in standardised columns."""
    rows, test = (np.c_[part, np.full((len(part), 3), value)] for part in (X, X_TEST))
    model = fitted(rows)
    assert np.abs(model.coef_[:, -3:]).max() == 0.0
    test[::100, -1] = 300.0
    assert loss(model, test) == pytest.approx(loss(plain), rel=0.003)
    rows[1500::100, -1] = 300.0
    streamed = ASGDClassifier().partial_fit(rows, Y, classes=np.arange(5))
    assert streamed.recent_loss_ < np.log(5)


def test_rare_columns(plain: ASGDClassifier) -> None:
    """Columns that are zero in all but a few rows, some only in rows after the first ones."""
    rare = np.zeros((2 * ROWS, 20), np.float32)
    for column in range(20):
        rare[column * 90 : column * 90 + 3, column] = 1.0
    model = fitted(np.c_[X, rare[:ROWS]])
    assert loss(model, np.c_[X_TEST, rare[ROWS:]]) < 1.02 * loss(plain)


@pytest.mark.parametrize("place", [5, 1500])
def test_an_absurd_value_does_little_harm(plain: ASGDClassifier, place: int) -> None:
    rows = X.copy()
    rows[place, 7] = 1e6
    model = ASGDClassifier(shuffle=False).fit(rows, Y)
    assert np.isfinite(model.coef_).all()
    assert loss(model) < 1.05 * loss(plain)


def test_columns_in_other_units(plain: ASGDClassifier) -> None:
    """Scales are between those of embeddings, which share a unit, and each column's own."""
    rng = np.random.default_rng(5)
    unit = 10.0 ** rng.uniform(-3, 3, WIDTH)
    origin = rng.normal(size=WIDTH) * X.std(axis=0)
    rows, test = ((part + origin) * unit for part in (X, X_TEST))
    assert loss(fitted(rows), test) < 1.05 * loss(plain)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_precisions(plain: ASGDClassifier, dtype: Any) -> None:
    model = fitted(X.astype(dtype))
    assert model.method_ == "dense"
    assert loss(model, X_TEST.astype(dtype)) == pytest.approx(loss(plain), rel=0.003)


def test_few_rows_have_other_lanes() -> None:
    model = fitted(X[:100], Y[:100])
    assert model.method_ != "dense"
    assert loss(model) < 1.02 * np.log(5)


def test_values_that_are_not_finite_are_refused() -> None:
    model = ASGDClassifier().partial_fit(X[:1500], Y[:1500], classes=np.arange(5))
    before, rows = model.coef_, X[1500:].copy()
    rows[17, 33] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(rows, Y[1500:])
    np.testing.assert_array_equal(model.coef_, before)
    learner = Learner(Recipe(loss="log_loss", recipe="auto"))
    learner.learn(X[:1500], Y[:1500])
    for value in (np.nan, np.inf):
        rows[17, 33] = value
        with pytest.raises(ValueError, match=f"row 17 has the value {value} for feature 33"):
            learner.learn(rows, Y[1500:])
    assert learner.rows_seen == 1500


def test_rows_of_another_width_are_refused(plain: ASGDClassifier) -> None:
    with pytest.raises(ValueError, match="X has 299 features, but ASGDClassifier is expecting 300"):
        plain.predict(X[:, 1:])


def test_intervals_keep_to_other_lanes(plain: ASGDClassifier) -> None:
    for intervals in (False, True):
        recipe = Recipe(loss="log_loss", recipe="auto", intervals=intervals)
        assert recipe.takes_dense_rows(WIDTH, 5) == (not intervals)
    with pytest.raises(AttributeError, match="it was fitted without intervals=True"):
        plain.coef_interval()


# -- promises --------------------------------------------------------------------------------------


def test_the_number_of_threads_changes_no_bit(plain: ASGDClassifier) -> None:
    one, two = fitted(n_jobs=1), fitted(n_jobs=2)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.recent_loss_ == two.recent_loss_


def test_batches_and_predictions_in_between_change_no_bit() -> None:
    some, other = ASGDClassifier(), ASGDClassifier()
    some.partial_fit(X, Y, classes=np.arange(5))
    for begin in range(0, ROWS, 300):
        other.partial_fit(X[begin : begin + 300], Y[begin : begin + 300], classes=np.arange(5))
        other.predict(X[:3])
    np.testing.assert_array_equal(some.coef_, other.coef_)
    assert some.recent_loss_ == other.recent_loss_


def test_pickles_go_on() -> None:
    some = ASGDClassifier().partial_fit(X[:1300], Y[:1300], classes=np.arange(5))
    other = pickle.loads(pickle.dumps(some))
    for model in (some, other):
        model.partial_fit(X[1300:], Y[1300:])
    np.testing.assert_array_equal(some.coef_, other.coef_)


def test_model_files(plain: ASGDClassifier, tmp_path: Any) -> None:
    path = tmp_path / "probe.polyak"
    plain.to_model().save(path)
    again = LinearModel.load(path)
    np.testing.assert_array_equal(again.weights, plain.to_model().weights)
    assert again.report == plain.to_model().report


def test_the_report_names_method_and_penalty(plain: ASGDClassifier) -> None:
    model = plain.to_model()
    winner = model.report.winner
    assert winner.method == "dense"
    assert 1 < winner.penalty < 1e4
    assert plain.best_candidate_["penalty"] == winner.penalty
    page = polyak.report(model)
    assert "matrix products of dense rows" in page
    assert re.search(r"<h2[^>]*>The race", page)
    told = inspect._training("log_loss", model.report)
    assert "matrix products of dense rows" in str(told)


def test_a_value_too_large_for_32_bits_is_named() -> None:
    rows = np.random.default_rng(0).normal(size=(600, 300))
    classes = rows[:, :6].argmax(axis=1)
    rows[7, 3] = -1e30
    with pytest.raises(ValueError, match=r"row 7: the value -1e\+30 for feature 3 is too large"):
        ASGDClassifier(loss="log_loss", random_state=0).fit(rows, classes)


@pytest.mark.parametrize("mean", [1e6, 1e9])
def test_large_means_cost_no_digits(mean: float) -> None:
    X, y = made(2000, classes=10, width=60)
    near, far = (
        ASGDClassifier(random_state=0).fit(rows[:1500], y[:1500])
        for rows in (X.astype(float), X.astype(float) + mean)
    )
    assert far.method_ == "dense"
    accuracy = near.score(X[1500:], y[1500:])
    assert abs(far.score(X[1500:].astype(float) + mean, y[1500:]) - accuracy) < 0.02


def test_one_against_the_rest_is_learned_as_asked() -> None:
    X, y = made(1000, classes=5, width=600)
    apart = ASGDClassifier(multi_class="ovr", random_state=0)
    with pytest.warns(UserWarning, match="fits rows this wide by averaged SGD"):
        assert apart.fit(X, y).method_ != "dense"
    apart.set_params(alpha=0.1)
    for width, what in ((600, "those of averaged SGD"), (500, "only those that most rows have")):
        with pytest.warns(UserWarning, match=f"the optimum with alpha=0.1: .*{what}"):
            apart.fit(X[:, :width], y)
    narrow = apart.set_params(alpha="auto").fit(X[:, :20], y)  # without a warning
    assert narrow.method_ == "newton"


def test_later_values_too_large_for_32_bits_are_refused_in_narrow_rows() -> None:
    X, y = made(1500, classes=10, width=60)
    X = X.astype(float)
    model = ASGDClassifier().partial_fit(X[:1200], y[:1200], classes=np.arange(10))
    X[1201, 3] = 1e20
    with pytest.raises(ValueError, match=r"row 1: the value 1e\+20 for feature 3 is too large"):
        model.partial_fit(X[1200:], y[1200:])


@pytest.mark.parametrize("value", [1e3, 1e6, 1e12])
def test_an_absurd_value_leaves_a_model_of_narrow_rows(value: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 80))
    classes = np.argmax(2 * rows[:, :10] + rng.gumbel(size=(3000, 10)), axis=1)
    clean = ASGDClassifier(random_state=0).fit(rows, classes)
    rows[1500, 3] = value
    model = ASGDClassifier(random_state=0).fit(rows, classes)
    assert model.method_ == "dense"
    assert model.score(rows, classes) > clean.score(rows, classes) - 0.05  # one column is lost

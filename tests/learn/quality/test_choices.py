"""The race's choices where they are hardest, each against batch fits whose penalty was tuned.

A family draws a table from a seed and returns losses of ours, each beside that of a rival. The
tests have a few seeds of each; a report takes their number as an option:

    python tests/learn/quality/test_choices.py poisson --seeds 20
    python tests/learn/quality/test_choices.py                      # all families in full
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from row_losses import constant_losses, model_losses
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyak import ASGDClassifier, ASGDRegressor
from polyak.losses import get_loss

TEST_ROWS = 20_000


class Pair(NamedTuple):
    """What the model loses, and what it is compared with."""

    ours: float
    rival: float


class Bound(NamedTuple):
    """The largest ratio of a pair: of each fit, or of the means over all fits."""

    most: float
    of_means: bool = False


class Family(NamedTuple):
    """A kind of table: what is measured on the one of a seed, and what is accepted."""

    measure: Callable[[int], dict[str, Pair]]
    bounds: dict[str, Bound]
    seeds: int
    """In a full report."""
    few: int
    """In a test."""


def mean_loss(fitted: Any, X: Any, y: Any) -> float:
    return float(model_losses(fitted, X, y).mean())


def constant_loss(fitted: Any, y_train: Any, y: Any) -> float:
    return float(constant_losses(fitted, y_train, None, y).mean())


def truth(failed: bool) -> Pair:
    """Return a pair beyond every bound if something failed that has no size."""
    return Pair(float("inf") if failed else 0.0, 1.0)


# -- counts on columns with long tails -------------------------------------------------------------


def lognormal_counts(rows: int, seed: int, stream: int) -> tuple[Any, Any]:
    """Counts that depend on the logarithms of six long-tailed columns and on 52 dummies."""
    of, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, stream])
    Z = rng.normal(size=(rows, 6))
    level = rng.choice(52, size=rows, p=of.dirichlet(np.ones(52)))
    score = Z @ of.normal(0.0, 0.3, 6) + of.normal(0.0, 0.4, 52)[level] - 1.0
    X = np.hstack([np.exp(of.uniform(0.8, 1.6, 6) * Z), level[:, None] == np.arange(52)])
    return X, rng.poisson(np.exp(score)).astype(float)


def tuned_poisson(X: Any, y: Any) -> Any:
    """Return PoissonRegressor on scaled columns, its penalty chosen by a fifth of the rows."""
    held = len(y) * 4 // 5
    value = get_loss("poisson").value

    def fit(alpha: float, rows: slice) -> Any:
        one = make_pipeline(StandardScaler(), PoissonRegressor(alpha=alpha, max_iter=300))
        return one.fit(X[rows], y[rows])

    def held_loss(alpha: float) -> float:
        said = fit(alpha, slice(held)).predict(X[held:])
        return float(value(np.log(np.maximum(said, 1e-300)), y[held:]).mean())

    return fit(min(np.logspace(-5, 1, 7), key=held_loss), slice(None))


def poisson(seed: int) -> dict[str, Pair]:
    (X, y), (X_test, y_test) = (
        lognormal_counts(n, seed, k) for n, k in ((18_000, 1), (TEST_ROWS, 2))
    )
    fitted = ASGDRegressor(loss="poisson", random_state=seed, n_jobs=1).fit(X, y)
    tuned = np.log(np.maximum(tuned_poisson(X, y).predict(X_test), 1e-300))
    test = mean_loss(fitted, X_test, y_test)
    return {
        "test deviance / tuned PoissonRegressor": Pair(
            test, float(get_loss("poisson").value(tuned, y_test).mean())
        ),
        "finite, recent_loss_ above zero": truth(
            not (np.isfinite(fitted.coef_).all() and fitted.recent_loss_ > 0)
        ),
        "recent_loss_ / test deviance": Pair(fitted.recent_loss_, test),
        "test deviance / recent_loss_": Pair(test, fitted.recent_loss_),
    }


def cauchy(seed: int) -> dict[str, Pair]:
    """Columns without a mean: what a linear model says of a far row cannot be right.

    So losses on test rows are capped, each at ten times what the constant loses there and in the
    mean; training rows are known and need no cap.
    """
    rng = np.random.default_rng(seed)
    of = rng.normal(size=10)

    def draw(rows: int) -> tuple[Any, Any]:
        X = rng.standard_cauchy(size=(rows, 10))
        return X, rng.poisson(np.exp(0.3 * np.arctan(X) @ of)).astype(float)

    (X, y), (X_test, y_test) = draw(18_000), draw(TEST_ROWS)
    fitted = ASGDRegressor(loss="poisson", random_state=seed, n_jobs=1).fit(X, y)
    constant = constant_losses(fitted, y, None, y_test)
    capped = np.minimum(model_losses(fitted, X_test, y_test), 10.0 * (constant + constant.mean()))
    return {
        "finite, recent_loss_ above zero": truth(
            not (np.isfinite(fitted.coef_).all() and fitted.recent_loss_ > 0)
        ),
        "training deviance / constant": Pair(mean_loss(fitted, X, y), constant_loss(fitted, y, y)),
        "capped test deviance / constant": Pair(float(capped.mean()), float(constant.mean())),
    }


# -- rare classes ----------------------------------------------------------------------------------


WORDS = [(30,), (10,), (5, 5), (10, 20), (3, 3, 3), (2,) * 10]
"""How many values each word of a row can have."""


def rare_dummies(rows: int, seed: int, stream: int) -> tuple[Any, Any]:
    """Rows of nothing but dummies, 2 to 5% of them positive, whom they tell little or much."""
    of, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, stream])
    positive, effect = of.uniform(0.02, 0.05), of.choice([0.3, 1.5])
    odds = np.full(rows, np.log(positive / (1.0 - positive)) - effect**2 / 2)
    columns = []
    for levels in WORDS[seed % len(WORDS)]:
        level = rng.choice(levels, size=rows, p=of.dirichlet(np.full(levels, 2.0)))
        odds += of.normal(0.0, effect, levels)[level]
        columns.append(level[:, None] == np.arange(levels))
    return np.hstack(columns).astype(float), (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(
        int
    )


def dummies_of(rows: int) -> Callable[[int], dict[str, Pair]]:
    def dummies(seed: int) -> dict[str, Pair]:
        X, y = rare_dummies(rows, seed, 1)
        X_test, y_test = rare_dummies(TEST_ROWS, seed, 2)
        y[:2] = 1  # or there might be none, and nothing to learn
        fitted = ASGDClassifier(random_state=seed, n_jobs=1).fit(X, y)
        batch = LogisticRegressionCV(
            Cs=np.logspace(-4, 4, 9), cv=min(5, int(y.sum())), scoring="neg_log_loss", max_iter=1000
        ).fit(X, y)
        scores = batch.decision_function(X_test)
        value = get_loss("log_loss").value(scores, 2.0 * y_test - 1.0)
        return {
            "training loss / constant": Pair(mean_loss(fitted, X, y), constant_loss(fitted, y, y)),
            "test loss / LogisticRegressionCV": Pair(
                mean_loss(fitted, X_test, y_test), float(value.mean())
            ),
        }

    return dummies


def rare_orders(seed: int) -> dict[str, Pair]:
    """The same 40,000 rows with 0.3% positives, in another order for each seed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80_000, 20))
    weigh = rng.normal(0.0, 0.4, 20)
    odds = X @ weigh - 6.6
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    (X, X_test), (y, y_test) = np.split(X, 2), np.split(y, 2)
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    fitted = ASGDClassifier(shuffle=False, random_state=seed, n_jobs=1).fit(X[order], y[order])
    batch = LogisticRegression(C=1.0, max_iter=1000).fit(X, y).decision_function(X_test)
    value = get_loss("log_loss").value(batch, 2.0 * y_test - 1.0)
    return {
        "the constant": truth(fitted.method_ == "constant"),
        "test loss / LogisticRegression": Pair(
            mean_loss(fitted, X_test, y_test), float(value.mean())
        ),
    }


# -- about equal numbers of columns and rows -------------------------------------------------------


def embeddings(seed: int) -> dict[str, Pair]:
    """1,024 columns of low rank plus noise, about a common mean, as embeddings of texts are."""
    rng = np.random.default_rng(seed)
    width, rows = 1024, (1000, 2000, 3000)[seed % 3]
    places = np.arange(1, width + 1)
    spectrum = (
        places**-0.5,  # variances fall as one over the place
        np.where(places <= 50, 1.0, 0.15),  # a plateau, and noise
        np.where(places <= 10, 3.0, 1.0) * places**-0.25,  # a few strong directions
    )[seed // 3 % 3]
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    middle = rng.normal(size=width) * spectrum.max()
    Z = rng.normal(size=(rows + 5000, width))
    weigh = rng.normal(size=width) * (places <= 60)
    margin = Z @ weigh / np.linalg.norm(weigh)
    y = (2.5 * margin + rng.logistic(size=len(Z)) > 0).astype(int)
    X = (Z * spectrum + middle) @ turn
    if seed // 9 % 2:  # rows of length one, as most models give them out
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    X_test, y_test, X, y = X[rows:], y[rows:], X[:rows], y[:rows]
    fitted = ASGDClassifier(random_state=seed, n_jobs=1).fit(X, y)
    scaler = StandardScaler(with_std=False).fit(X)
    size = scaler.transform(X).std()
    value = get_loss("log_loss").value

    def batch_loss(C: float) -> float:
        one = LogisticRegression(C=C, max_iter=300).fit(scaler.transform(X) / size, y)
        scores = one.decision_function(scaler.transform(X_test) / size)
        return float(value(scores, 2.0 * y_test - 1.0).mean())

    best = min(map(batch_loss, np.logspace(-5, 1, 7)))
    return {
        "test loss / best C": Pair(mean_loss(fitted, X_test, y_test), best),
        "recent_loss_ / constant_loss_": Pair(fitted.recent_loss_, fitted.constant_loss_),
    }


# -- one absurd value ------------------------------------------------------------------------------

ABSURD_LOSSES = ("log_loss", "squared_error", "poisson", "quantile")


def absurd_in(place: str) -> Callable[[int], dict[str, Pair]]:
    """Spoil one value of 2,000 rows, by a factor of 1e3 to 1e6.

    The rival is the best of batch fits to the same rows, over all penalties and the constant: what
    no penalty can repair is no wrong choice.
    """

    def absurd(seed: int) -> dict[str, Pair]:
        losses = [name for name in ABSURD_LOSSES if place != "target" or name != "log_loss"]
        name = losses[seed % len(losses)]
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000 + TEST_ROWS, 10))
        score = X @ rng.normal(0.0, 0.4, 10)
        y = score + rng.normal(size=len(X))
        if name == "poisson":
            y = rng.poisson(np.exp(score)).astype(float)
        if name == "log_loss":
            y = (score + rng.logistic(size=len(X)) > 0).astype(int)
        X_test, y_test, X, y = X[2000:], y[2000:], X[:2000], y[:2000]
        size, row = 10.0 ** (3 + seed // len(losses) % 4), int(rng.integers(2000))
        weights = np.ones(2000)
        one = ASGDClassifier if name == "log_loss" else ASGDRegressor
        clean = one(loss=name, random_state=seed, n_jobs=1).fit(X, y)
        if place == "feature":
            X[row] *= size
        elif place == "target":
            y[row] = abs(y[row]) * size + size
        else:
            weights[row] = size
        fitted = one(loss=name, random_state=seed, n_jobs=1).fit(X, y, sample_weight=weights)
        test = mean_loss(fitted, X_test, y_test)
        constant = float(constant_losses(fitted, y, weights, y_test).mean())
        return {
            "finite": truth(not (np.isfinite(fitted.coef_).all() and np.isfinite(test))),
            "test loss / best batch fit": Pair(
                test, min(constant, best_batch(name, X, y, weights, X_test, y_test))
            ),
            "test loss / constant of the same rows": Pair(test, constant),
            "test loss / fit without it": Pair(test, mean_loss(clean, X_test, y_test)),
        }

    return absurd


def best_batch(name: str, X: Any, y: Any, weights: Any, X_test: Any, y_test: Any) -> float:
    """Return the lowest test loss over a decade grid of penalties, columns scaled and not."""
    value, losses = get_loss(name).value, []
    signs = 2.0 * y_test - 1.0 if name == "log_loss" else y_test
    weights = weights / weights.mean()
    for scaled in (False, True):
        scaler = StandardScaler(with_mean=scaled, with_std=scaled).fit(X)
        for alpha in np.logspace(-6, 2, 5):
            one: Any = {
                "log_loss": LogisticRegression(C=1.0 / (len(y) * alpha), max_iter=1000),
                "squared_error": Ridge(alpha=len(y) * alpha),
                "poisson": PoissonRegressor(alpha=alpha, max_iter=1000),
                "quantile": QuantileRegressor(alpha=alpha),
            }[name]
            one.fit(scaler.transform(X), y, sample_weight=weights)
            ask = one.decision_function if name == "log_loss" else one.predict
            scores = ask(scaler.transform(X_test))
            if name == "poisson":
                scores = np.log(np.clip(scores, 1e-300, 1e300))
            losses.append(float(value(scores, signs).mean()))
    return float(np.nanmin(losses))


# -- a penalty that is given -----------------------------------------------------------------------


def nearly_separable(seed: int) -> dict[str, Pair]:
    """L1 of a given size on long-tailed columns that tell the 3% of positive rows exactly.

    Three tables in several orders; on fresh rows the batch optimum is clearly better than the
    constant, so to fall back on that is no caution.
    """
    rng = np.random.default_rng((1, 2, 3)[seed % 3])
    order = np.random.default_rng([seed, 1]).permutation(600)
    X = rng.normal(size=(600 + TEST_ROWS, 20))
    margin = np.exp(1.5 * X) @ rng.normal(size=20)
    X, y = np.exp(1.5 * X), (margin > np.quantile(margin, 0.97)).astype(int)
    X_test, y_test, X, y = X[600:], y[600:], X[:600], y[:600]
    alpha = 1e-3
    fitted = ASGDClassifier(
        penalty="l1", alpha=alpha, shuffle=False, random_state=seed, n_jobs=1
    ).fit(X[order], y[order])
    batch = LogisticRegression(  # whose penalty has the intercept too, which is made cheap
        penalty="l1",
        C=1.0 / (len(y) * alpha),
        solver="liblinear",
        tol=1e-8,
        max_iter=5000,
        intercept_scaling=100,
    ).fit(X, y)
    value = get_loss("log_loss").value

    def objective(one: Any) -> float:
        losses = value(one.decision_function(X), 2.0 * y - 1.0)
        return float(losses.mean() + alpha * np.abs(one.coef_).sum())

    batch_test = value(batch.decision_function(X_test), 2.0 * y_test - 1.0).mean()
    return {
        "the constant": truth(fitted.method_ == "constant"),
        "objective / optimum": Pair(objective(fitted), objective(batch)),
        "batch test loss / constant": Pair(float(batch_test), constant_loss(fitted, y, y_test)),
    }


FAMILIES = {
    "poisson": Family(
        poisson,
        {
            "finite, recent_loss_ above zero": Bound(0.0),
            "test deviance / tuned PoissonRegressor": Bound(1.02),
            "recent_loss_ / test deviance": Bound(1.5),
            "test deviance / recent_loss_": Bound(1.5),
        },
        seeds=20,
        few=4,
    ),
    "cauchy": Family(
        cauchy,
        {
            "finite, recent_loss_ above zero": Bound(0.0),
            "training deviance / constant": Bound(1.001),
            "capped test deviance / constant": Bound(1.02),
        },
        seeds=10,
        few=3,
    ),
    **{
        f"dummies-{rows}": Family(
            dummies_of(rows),
            {
                "training loss / constant": Bound(1.0001),
                "test loss / LogisticRegressionCV": Bound(1.05, of_means=True),
            },
            seeds=150,
            few=30,
        )
        for rows in (200, 500, 2000)
    },
    "rare": Family(
        rare_orders,
        {"the constant": Bound(0.0), "test loss / LogisticRegression": Bound(1.05)},
        seeds=20,
        few=4,
    ),
    "embeddings": Family(
        embeddings,
        {"test loss / best C": Bound(1.1), "recent_loss_ / constant_loss_": Bound(1.0)},
        seeds=18,
        few=3,
    ),
    **{
        f"absurd-{place}": Family(
            absurd_in(place),
            {
                "finite": Bound(0.0),
                "test loss / constant of the same rows": Bound(1.02),
                # A row that weighs as much as all others is all there is to choose a penalty by.
                "test loss / best batch fit": Bound(np.inf if place == "weight" else 1.1),
                "test loss / fit without it": Bound(np.inf),  # reported: no penalty repairs it all
            },
            seeds=24,
            few=8,
        )
        for place in ("feature", "target", "weight")
    },
    "separable": Family(
        nearly_separable,
        {
            "the constant": Bound(0.0),
            "objective / optimum": Bound(1.02),
            "batch test loss / constant": Bound(0.9),  # or the comparison would be unfair
        },
        seeds=12,
        few=3,
    ),
}


def ratios(pairs: list[Pair]) -> np.ndarray:
    ours, rival = np.array(pairs).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isfinite(ours), ours / rival, np.inf)


def measured(family: Family, seeds: int) -> dict[str, list[Pair]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [family.measure(seed) for seed in range(seeds)]
    return {name: [run[name] for run in runs] for name in family.bounds}


def beyond(pairs: list[Pair], bound: Bound) -> list[int]:
    """Return the seeds beyond a bound; -1 for the means."""
    if bound.of_means:
        ours, rival = np.mean(pairs, axis=0)
        return [] if ours <= bound.most * rival else [-1]
    return np.flatnonzero(~(ratios(pairs) <= bound.most)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_choices(name):
    family = FAMILIES[name]
    found = measured(family, family.few)
    wrong = {
        figure: (beyond(found[figure], bound), np.round(ratios(found[figure]), 4).tolist())
        for figure, bound in family.bounds.items()
        if beyond(found[figure], bound)
    }
    assert not wrong, f"{name}: figure: (seeds beyond the bound, ratios) {wrong}"


def report(names: list[str], seeds: int | None = None) -> None:
    """Print mean and largest ratios, and which seeds are beyond the bound."""
    for name in names:
        family, begin = FAMILIES[name], time.perf_counter()
        found = measured(family, seeds or family.seeds)
        taken = time.perf_counter() - begin
        print(f"{name}: {seeds or family.seeds} seeds, {taken:.0f} s", flush=True)
        for figure, bound in family.bounds.items():
            each, failing = ratios(found[figure]), beyond(found[figure], bound)
            ours, rival = np.mean(found[figure], axis=0)
            mean, kind = (ours / rival, "of means") if bound.of_means else (each.mean(), "each")
            print(
                f"  {figure:42} mean {mean:<8.4g} max {each.max():<8.4g} at most {bound.most:g} "
                f"({kind}): {len(failing)} fail {failing or ''}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], default=[])
    parser.add_argument("--seeds", type=int)
    asked = parser.parse_args()
    report(asked.families or list(FAMILIES), asked.seeds)

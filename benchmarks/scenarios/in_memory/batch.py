"""``fit`` beside scikit-learn's batch solvers, the usual alternative, on two cores.

The work is all of `fit`, from arrays to the model. The small tables, which cross-validation fits by
the hundred, are learned several times in a row, and the time is that of one fit.
"""

from __future__ import annotations

import os
from math import nan
from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, Target, in_process
from benchmarks.scenarios.in_memory.newton import _simulated

OURS, LOGISTIC, RIDGE = "polyak", "LogisticRegression", "Ridge"
CHOSEN, RIDGE_CV = "LogisticRegressionCV", "RidgeCV"
GAUSSIAN = {  # rows, features: promised times the time of LogisticRegression, and of Ridge
    (1_000_000, 30): (1.0, 1.3),
    (500_000, 100): (1.0, 1.3),
    (60_000, 784): (1.0, None),
}
REAL = {"covtype": 0.4, "mnist": 0.4}
SMALL = {"iris": 0.7, "wine": 0.7, "breast_cancer": 0.7, "digits": 0.7}
AT_HAND = {  # rows, features: promised times the processor time of one LogisticRegression
    (150, 4): 0.7,
    (600, 30): 0.7,
    (5_000, 20): 0.7,
    (20_000, 50): 1.0,
    (100_000, 30): 1.0,
}
DIABETES = 1.5
WITHIN = 1.001  # of the batch solver's test loss
FITS = 5


def contests(name: str, quick: bool) -> list[Contest]:
    found = []
    for (rows, width), (logistic, ridge) in GAUSSIAN.items():
        rows //= 10 if quick else 1
        size = {"rows": rows, "width": width}
        title = f"{rows:,} × {width} Gaussian float32"
        found.append(_contest(f"{title}, log-loss", LOGISTIC, "batch:gaussian", size, logistic))
        found.append(_contest(f"{title}, squares", RIDGE, "batch:gaussian", size, ridge))
    sets = REAL if "POLYAK_DATA" in os.environ and not quick else {}
    for data, most in sets.items():
        found.append(_contest(data, LOGISTIC, "batch:real", {"data": data}, most))
    for data, most in SMALL.items():
        found.append(_contest(data, LOGISTIC, "batch:small", {"data": data}, most, cores=1))
    found.append(
        _contest("diabetes", RIDGE_CV, "batch:small", {"data": "diabetes"}, DIABETES, cores=1)
    )
    for (rows, width), most in AT_HAND.items():
        title, size = f"{rows:,} × {width}", {"rows": rows, "width": width}
        found.append(_contest(title, LOGISTIC, "batch:at_hand", size, most, cores=1))
    return found


def _contest(
    title: str,
    rival: str,
    job: str,
    given: dict[str, Any],
    most: float | None,
    cores: int = 2,
) -> Contest:
    def times(results: dict[str, Result]) -> float:
        return results[OURS].best / results[rival].best

    def loss(results: dict[str, Result]) -> float:
        ours, theirs = (results[label].figures.get("test loss", nan) for label in (OURS, rival))
        return ours / theirs

    targets = [] if most is None else [Target(f"times {rival}'s time", times, at_most=most)]
    if cores == 2 or job == "batch:at_hand":
        targets.append(Target(f"times {rival}'s test loss", loss, at_most=WITHIN))
    chosen = [CHOSEN] if cores == 1 and rival == LOGISTIC else []
    return Contest(
        title=f"fit beside a batch solver, {title}, {'two cores' if cores == 2 else 'one core'}",
        contestants=[
            in_process(OURS, job, **given, solver=f"ours {rival}"),
            *(in_process(label, job, **given, solver=label) for label in (rival, *chosen)),
        ],
        reference=rival,
        cores=cores,
        repeats=3,
        targets=targets,
    )


# -- jobs ------------------------------------------------------------------------------------------


def _solver(name: str) -> Any:
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, RidgeCV

    from polyak import ASGDClassifier, ASGDRegressor

    return {
        LOGISTIC: lambda: LogisticRegression(max_iter=1000),
        CHOSEN: lambda: LogisticRegressionCV(max_iter=1000),
        RIDGE: Ridge,
        RIDGE_CV: RidgeCV,
        f"ours {LOGISTIC}": lambda: ASGDClassifier(loss="log_loss"),
        f"ours {RIDGE}": ASGDRegressor,
        f"ours {RIDGE_CV}": ASGDRegressor,
    }[name]()


def _judge(model: Any, X: Any, y: Any) -> Figures:
    import numpy as np
    from sklearn.metrics import log_loss

    if hasattr(model, "predict_proba"):
        return {"test loss": log_loss(y, model.predict_proba(X))}
    return {"test loss": float(np.mean(np.square(model.predict(X) - y)) / 2)}


def _job(solver: str, train: tuple[Any, Any], test: tuple[Any, Any]) -> Job:
    model = _solver(solver)
    _solver(solver).fit(train[0][:1000], train[1][:1000])
    return lambda: model.fit(*train), lambda: _judge(model, *test)


def gaussian(rows: int, width: int, solver: str) -> Job:
    import numpy as np

    X, scores = _simulated(rows + 100_000, width)
    y = scores + np.random.default_rng(1).logistic(size=len(X))
    if RIDGE not in solver:
        y = (y > 0).astype(int)
    return _job(solver, (X[:rows], y[:rows]), (X[rows:], y[rows:]))


def real(data: str, solver: str) -> Job:
    """Take covtype, standardised, or the nines of mnist: numbers between 0 and 1 as they are."""
    import numpy as np
    from scipy import sparse

    from reproduction.datasets import load

    (X, y), (X_test, y_test) = load(data)
    X, X_test = (
        (part.toarray() if sparse.issparse(part) else part).astype(np.float32)
        for part in (X, X_test)
    )
    if data == "covtype":
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
    return _job(solver, (X, y), (X_test, y_test))


def small(data: str, solver: str) -> Job:
    """Take a table of scikit-learn's, its columns standardised."""
    from sklearn import datasets
    from sklearn.preprocessing import scale

    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    return _repeated(solver, scale(X), y, {})


def at_hand(rows: int, width: int, solver: str) -> Job:
    """Take simulated classes of normal columns."""
    import numpy as np
    from sklearn.metrics import log_loss

    random = np.random.default_rng(0)
    X = random.normal(size=(rows + 20_000, width))
    weights = random.normal(size=width) / np.sqrt(width)
    y = (random.random(len(X)) < 1.0 / (1.0 + np.exp(-2.0 * X @ weights))).astype(int)
    model = _solver(solver).fit(X[:rows], y[:rows])
    loss = {"test loss": log_loss(y[rows:], model.predict_proba(X[rows:]))}
    return _repeated(solver, X[:rows], y[:rows], loss)


def _repeated(solver: str, X: Any, y: Any, figures: Figures) -> Job:
    def work() -> None:
        for _ in range(FITS):
            _solver(solver).fit(X, y)

    work()
    return work, lambda: figures | {"scale": 1 / FITS}

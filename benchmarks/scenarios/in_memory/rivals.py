"""The paper's rivals on our core: one pass of each beside one pass of ours.

The paper says that a pass of ASGD takes about as long as one of the others, oLBFGS aside. So do
ours, if the comparison is to be about the algorithms and not about who wrote the loops.
"""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Target, in_process

OURS = "ours, paper's recipe"
LABELS = {
    "sgd": "SGD",
    "sgd2": "SGD2",
    "pegasos": "Pegasos",
    "sgd_qn": "SGD-QN",
    "olbfgs": "oLBFGS",
    "liblinear": "LIBLINEAR, one iteration",
}
SLOW = ("olbfgs", "liblinear")  # by their nature, and by what scikit-learn does before its call
LOSS, ALPHA, TEST = "squared_hinge", 1e-5, 5000


def contests(name: str, quick: bool) -> list[Contest]:
    sparse = {"data": "sparse", "rows": 100_000 if quick else 300_000}
    dense = {"data": "dense", "rows": 50_000 if quick else 200_000}
    return [
        _contest("47,000 features, 70 nonzeros a row", quick, **sparse),
        _contest("500 dense features of float32", quick, **dense),
    ]


def _contest(what: str, quick: bool, data: str, rows: int) -> Contest:
    size = {"data": data, "rows": rows}
    return Contest(
        title=f"the rivals, one pass, {rows:,} rows, {what}, squared hinge, one core",
        contestants=[
            in_process(OURS, "rivals:ours", **size),
            *(in_process(label, "rivals:rival", **size, key=k) for k, label in LABELS.items()),
        ],
        reference=OURS,
        repeats=3 if quick else 5,
        targets=[
            Target(f"{label}, times as long as ours", _times_as_long(label), at_most=1.5)
            for key, label in LABELS.items()
            if key not in SLOW
        ],
    )


def _times_as_long(label: str) -> Any:
    return lambda results: results[label].best / results[OURS].best


def _data(data: str, rows: int) -> tuple[Any, Any]:
    if data == "sparse":
        from benchmarks.cache import as_scipy, documents

        X, y = documents(rows + TEST)
        return as_scipy(X), y
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows + TEST, 500), np.float32)
    scores = X @ (rng.standard_normal(500) / 500**0.5).astype(np.float32)
    return X, np.where(scores + rng.standard_normal(rows + TEST) > 0, 1.0, -1.0)


def ours(data: str, rows: int) -> Job:
    from polyak import ASGDClassifier

    # Without an intercept, as the rivals are.
    model = ASGDClassifier(
        loss=LOSS, alpha=ALPHA, recipe="paper", max_iter=1, shuffle=False, fit_intercept=False
    )
    return _job(model, data, rows)


def rival(data: str, rows: int, key: str) -> Job:
    from reproduction.rivals import RIVALS

    return _job(RIVALS[key](loss=LOSS, alpha=ALPHA), data, rows)


def _job(model: Any, data: str, rows: int) -> Job:
    X, y = _data(data, rows)
    train, labels = X[:rows], y[:rows]
    model.fit(X[:1000], y[:1000])  # warm up before timing

    def judge() -> Figures:
        return {"test error": 1 - model.score(X[rows:], y[rows:])}

    return lambda: model.fit(train, labels), judge

"""Many classes: one bank reads a row once for all of them."""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Target, in_process, speedup
from benchmarks.scenarios.in_memory.ours import ALPHA, LOSS

OURS, SGD, STEPS = "ours", "SGDClassifier, average", "SGDClassifier, average, our steps"


def contests(name: str, quick: bool) -> list[Contest]:
    passes = 1 if quick else 2
    faster = Target("times as fast as SGDClassifier(average=True)", speedup(OURS, SGD), at_least=4)
    mnist = Contest(
        title=f"the ten digits of mnist, {passes} pass(es), one core",
        contestants=[
            in_process(OURS, "classes:ours", data="mnist", passes=passes),
            in_process(SGD, "classes:sgd", data="mnist", passes=passes),
            in_process(STEPS, "classes:sgd", data="mnist", passes=passes, our_steps=True),
        ],
        reference=OURS,
        repeats=1 if quick else 3,
        targets=[faster],
    )
    rows = 5_000 if quick else 20_000
    size = {"data": str(rows), "passes": 1}
    thousand = Contest(
        title=f"1,000 generated classes, {rows:,} × 100, one pass, one core",
        contestants=[
            in_process(OURS, "classes:ours", **size),
            in_process(SGD, "classes:sgd", **size),
            in_process(STEPS, "classes:sgd", **size, our_steps=True),
        ],
        reference=OURS,
        repeats=1 if quick else 3,
    )
    return [mnist, thousand]


def _data(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Load mnist, or generate rows around a thousand centres."""
    import numpy as np

    from reproduction.datasets import load

    if name == "mnist":
        return load("mnist10")
    rng = np.random.default_rng(0)
    rows = int(name)
    centres = rng.standard_normal((1000, 100), np.float32)
    y = rng.integers(1000, size=rows + 2000)
    X = centres[y] + 1.5 * rng.standard_normal((len(y), 100), np.float32)
    return (X[:rows], y[:rows]), (X[rows:], y[rows:])


def ours(data: str, passes: int) -> Job:
    from polyak import ASGDClassifier

    # The paper's recipe, independent of the default; the loss and penalty of the peer.
    return _job(
        ASGDClassifier(loss=LOSS, alpha=ALPHA, recipe="paper", max_iter=passes, shuffle=False),
        data,
    )


def sgd(data: str, passes: int, our_steps: bool = False) -> Job:
    from benchmarks.scenarios.in_memory.sgd import classifier, longest_row

    longest = longest_row(_data(data)[0][0]) if our_steps else None
    return _job(classifier(average=True, longest=longest, passes=passes), data)


def _job(model: Any, data: str) -> Job:
    (X, y), (X_test, y_test) = _data(data)
    model.fit(X[:1000], y[:1000])

    def judge() -> Figures:
        return {"test error": 1 - model.score(X_test, y_test)}

    return lambda: model.fit(X, y), judge

"""Dense float32 rows in memory, against the time it takes to read them once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, Target, in_process, speedup

TEST = 5000
SUM = "X.sum()"


def contests(name: str, quick: bool) -> list[Contest]:
    sizes = [(50_000, 500)] if quick else [(200_000, 500), (50_000, 2000)]
    return [_contest(rows, width, quick) for rows, width in sizes]


def _contest(rows: int, width: int, quick: bool) -> Contest:
    size = {"rows": rows, "width": width}
    targets = [
        Target(
            "times as fast as SGDClassifier(average=True)",
            speedup("ours, K = 1", "SGDClassifier, average"),
            at_least=9,
        ),
        Target(
            "share of the speed of a plain sum of the matrix",
            lambda results: results[SUM].best / results["ours, K = 1"].best,
            at_least=0.75,
        ),
    ]

    def bandwidth(result: Result) -> Figures:
        return {"GB/s": rows * width * 4 / result.best / 1e9}

    return Contest(
        title=f"dense in memory, {rows:,} × {width:,} float32, one core",
        contestants=[
            in_process("ours, K = 1", "dense:ours", **size, models=1),
            in_process("ours, K = 8", "dense:ours", **size, models=8),
            in_process("SGDClassifier, average", "dense:sgd", **size, average=True),
            in_process("SGDClassifier, last", "dense:sgd", **size, average=False),
            in_process(
                "SGDClassifier, average, our steps",
                "dense:sgd",
                **size,
                average=True,
                our_steps=True,
            ),
            in_process(SUM, "dense:total", **size),
        ],
        reference="ours, K = 1",
        repeats=3 if quick else 5,
        derive=bandwidth,
        targets=targets if width == 500 else [],
    )


def _data(rows: int, width: int) -> tuple[Any, Any]:
    """Correlated columns and a noisy linear truth."""
    import numpy as np

    from benchmarks.cache import cached

    def make(path: Path) -> None:
        X = np.random.default_rng(0).standard_normal((rows + TEST, width), np.float32)
        X[:, 1:] += X[:, :-1]
        np.save(path, X)

    X = np.load(cached(f"dense-{rows + TEST}x{width}.npy", make))
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(rows + TEST)
    scores = X @ (rng.standard_normal(width) / width**0.5).astype(np.float32)
    return X, np.where(scores + noise > 0, 1.0, -1.0)


def ours(rows: int, width: int, models: int) -> Job:
    from benchmarks.scenarios.in_memory.ours import bank

    X, y = _data(rows, width)
    bank(X, models).learn(X[:1000], y[:1000])
    learner = bank(X, models)

    def judge() -> Figures:
        wrong = learner.decision_function(X[rows:])[:, 0] * y[rows:] <= 0
        return {"test error": wrong.mean()}

    return lambda: learner.learn(X[:rows], y[:rows]), judge


def sgd(rows: int, width: int, average: bool, our_steps: bool = False) -> Job:
    from benchmarks.scenarios.in_memory.sgd import classifier, longest_row

    X, y = _data(rows, width)
    model = classifier(average, longest_row(X) if our_steps else None)
    model.fit(X[:1000], y[:1000])
    return (
        lambda: model.fit(X[:rows], y[:rows]),
        lambda: {"test error": 1 - model.score(X[rows:], y[rows:])},
    )


def total(rows: int, width: int) -> Job:
    X = _data(rows, width)[0][:rows]
    return X.sum, dict

"""The cost of a row depends on its nonzeros, not on the number of features."""

from __future__ import annotations

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, in_process

NARROW = "10⁴ features"
SPREAD = "10⁷ features, the same words"
WIDE = "10⁷ features, a larger vocabulary"


def contests(name: str, quick: bool) -> list[Contest]:
    rows = 50_000 if quick else 200_000

    def per_row(result: Result) -> Figures:
        return {"µs/row": result.best / rows * 1e6}

    return [
        Contest(
            title=f"cost against the number of features, {rows:,} rows of 70 nonzeros, one core",
            contestants=[
                in_process(NARROW, "features:ours", rows=rows),
                # Each index multiplied by 1000: the same number of weights is touched, in a bank
                # that is a thousand times as long.
                in_process(SPREAD, "features:ours", rows=rows, stride=1000),
                # Many more distinct words: here the cache misses are inherent in the data.
                in_process(WIDE, "features:ours", rows=rows, vocabulary=10_000_000),
            ],
            reference=NARROW,
            repeats=3 if quick else 5,
            derive=per_row,
        )
    ]


def ours(rows: int, vocabulary: int = 10_000, stride: int = 1) -> Job:
    from dataclasses import replace

    from benchmarks.cache import documents
    from benchmarks.scenarios.in_memory.ours import bank

    X, y = documents(rows, vocabulary)
    X = replace(X, indices=X.indices * stride, n_features=vocabulary * stride)
    learner = bank(X)
    # A pass before the clock: the pages of a large bank come from the system once in its life,
    # and are not the cost of a row.
    learner.learn(X, y)
    return lambda: learner.learn(X, y), dict

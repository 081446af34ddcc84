"""The gain of a second core: the models of a bank and the lanes of a race on two threads."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Target, in_process, speedup

ONE, TWO = "one thread", "two threads"
RECIPES = {"sgd": 1.7, "auto": None}  # times as fast, where it is promised


def contests(name: str, quick: bool) -> list[Contest]:
    if "POLYAK_DATA" not in os.environ:
        print("cores: skipped, because POLYAK_DATA does not name the folder of the sets")
        return []
    rows = 6_000 if quick else 60_000
    return [
        Contest(
            title=f"ten classes of mnist, {rows:,} rows, recipe={recipe!r}, two cores",
            contestants=[
                in_process(label, "cores:learn", rows=rows, recipe=recipe, threads=threads)
                for label, threads in ((ONE, 1), (TWO, 2))
            ],
            reference=ONE,
            cores=2,
            repeats=3,
            targets=[]
            if least is None
            else [Target("times as fast with two threads", speedup(TWO, ONE), at_least=least)],
        )
        for recipe, least in RECIPES.items()
    ]


def learn(rows: int, recipe: str, threads: int) -> Job:
    from polyak import ASGDClassifier
    from reproduction.datasets import load

    (X, y), (X_test, y_test) = load("mnist10")

    def model() -> Any:
        return ASGDClassifier(loss="log_loss", recipe=recipe, n_jobs=threads)

    model().fit(X[:1000], y[:1000])
    fitted = model()
    return lambda: fitted.fit(X[:rows], y[:rows]), lambda: {
        "test error": 1 - fitted.score(X_test, y_test)
    }

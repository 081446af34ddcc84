"""The test loss after one pass over each real set, relative to the batch optimum.

Every repeat shuffles the rows anew; figures are means over the shuffles. The loss is the logistic
one for all, because every contestant has it. "Batch" is the best penalty of a decade grid, chosen
on the test set: nobody could do better honestly, which is what a yardstick is for. The peers run
with their own defaults, since one pass leaves no room to tune them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cache import cached
from benchmarks.contestant import Job
from benchmarks.runner import REPEAT, Contest, Contestant, Figures, Result, in_process

SETS = ("a9a", "w8a", "ijcnn1", "rcv1", "covtype", "mnist")
QUICK_SETS = ("a9a", "w8a")
BATCH = "batch (LogisticRegression)"
GRID = (1e-3, 1e-4, 1e-5, 1e-6)
ALPHA = 1e-5  # of the paper's recipe, the same for all sets


def contests(name: str, quick: bool) -> list[Contest]:
    if "POLYAK_DATA" not in os.environ:
        print("accuracy: skipped, because POLYAK_DATA does not name the folder of the real sets")
        return []
    return [_contest(data, quick) for data in (QUICK_SETS if quick else SETS)]


def _contest(data: str, quick: bool) -> Contest:
    def entry(label: str, function: str, **options: Any) -> Contestant:
        return in_process(label, f"accuracy:{function}", data=data, seed=REPEAT, **options)

    optimum: list[float] = []

    def against_batch(result: Result) -> Figures:
        # Batch comes first, since the others are evaluated relative to its loss.
        if result.label == BATCH:
            optimum.append(result.figures["test loss"])
        return {"loss / batch": result.figures["test loss"] / optimum[0]} if optimum else {}

    return Contest(
        title=f"accuracy after one pass, {data}, logistic loss, one core",
        contestants=[
            replace(in_process(BATCH, "accuracy:batch", data=data), once=True),
            entry("ours, paper's recipe", "ours", recipe="paper"),
            entry("ours, auto", "ours", recipe="auto"),
            entry("Vowpal Wabbit", "vw"),
            entry("SGDClassifier, average", "sgd", average=True),
            entry("SGDClassifier, last", "sgd", average=False),
        ],
        reference=BATCH,
        repeats=1 if quick else 5,
        derive=against_batch,
    )


# -- jobs ------------------------------------------------------------------------------------------


def _shuffled(data: str, seed: str) -> tuple[Any, Any, Any, Any]:
    import numpy as np

    from reproduction.datasets import load

    (X, y), (X_test, y_test) = load(data)
    order = np.random.default_rng(int(seed)).permutation(len(y))
    return X[order], y[order], X_test, y_test


def _figures(scores: Any, y: Any) -> Figures:
    import numpy as np

    margins = np.asarray(scores, float) * y
    return {
        "test loss": float(np.logaddexp(0, -margins).mean()),
        "test error": float((margins <= 0).mean()),
    }


def _estimator(model: Any, data: str, seed: str) -> Job:
    X, y, X_test, y_test = _shuffled(data, seed)
    return lambda: model.fit(X, y), lambda: _figures(model.decision_function(X_test), y_test)


def ours(data: str, seed: str, recipe: str) -> Job:
    from polyak import ASGDClassifier

    alpha = ALPHA if recipe == "paper" else "auto"
    model = ASGDClassifier(loss="log_loss", alpha=alpha, recipe=recipe, shuffle=False, max_iter=1)
    return _estimator(model, data, seed)


def sgd(data: str, seed: str, average: bool) -> Job:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", average=average, max_iter=1, tol=None, shuffle=False)
    return _estimator(model, data, seed)


def batch(data: str) -> Job:
    """Fit the whole grid; the best on the test set is the optimum, with the mean time."""
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = _shuffled(data, "0")
    models = [LogisticRegression(C=1 / (alpha * len(y)), max_iter=500) for alpha in GRID]

    def judge() -> Figures:
        tried = [_figures(model.decision_function(X_test), y_test) for model in models]
        best = min(tried, key=lambda figures: figures["test loss"])
        return best | {"scale": 1 / len(models)}

    return lambda: [model.fit(X, y) for model in models], judge


def vw(data: str, seed: str) -> Job:
    """Learn from a file in VW's text format, as its users do."""
    import numpy as np

    from reproduction.datasets import load

    train, (X_test, y_test) = load(data)
    lines = cached(f"{data}.train.vw", lambda path: _write(path, *train)).read_bytes()
    test = cached(f"{data}.test.vw", lambda path: _write(path, X_test, y_test))
    rows = lines.splitlines(keepends=True)
    folder = tempfile.TemporaryDirectory()  # removed when this process ends
    shuffled, model, scores = (Path(folder.name) / name for name in ("train.vw", "model", "scores"))
    order = np.random.default_rng(int(seed)).permutation(len(rows))
    shuffled.write_bytes(b"".join(rows[i] for i in order))

    def run(options: str) -> None:
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *options.split()]
        subprocess.run(command, check=True, capture_output=True)

    def judge() -> Figures:
        run(f"--testonly -d {test} -i {model} -p {scores}")
        with folder, open(scores) as file:
            return _figures([float(line) for line in file], y_test)

    return lambda: run(f"-d {shuffled} --loss_function logistic -f {model}"), judge


def _write(path: Path, X: Any, y: Any) -> None:
    """Print rows of any values for VW."""
    from scipy.sparse import csr_matrix

    X = csr_matrix(X)
    indices, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    with open(path, "w") as file:
        for label, start, stop in zip(y.tolist(), ends, ends[1:], strict=False):
            pairs = zip(indices[start:stop], values[start:stop], strict=True)
            file.write(f"{label:.0f} | {' '.join(f'{j}:{v:.7g}' for j, v in pairs)}\n")

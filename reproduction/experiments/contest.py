"""One set, one loss, every algorithm: how good each is as it goes through the rows, and how fast.

All learn from the same rows in the same orders, twice over, with the same λ, and are measured on
the test rows at the same places. Only learning is timed, not measuring. No model has an intercept:
the paper's Algorithm 1 has none, and its M of 1 for rows of unit length, 200 for dna's, leaves no
room for a constant feature.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DivergenceError
from polyak.free_memory import free_memory
from polyak.losses import get_loss
from reproduction.datasets import BenchmarkSet
from reproduction.pieces import Result

PAPERS = ("ASGD", "SGD2", "Pegasos", "SGD-QN", "oLBFGS", "LIBLINEAR")
"""The six algorithms that the paper compares."""

NEAR = "ASGD, a ≈ λ₀"
"""ASGD whose ``a`` is not λ but near the smallest eigenvalue that counts, from the first rows."""

ALGORITHMS = (*PAPERS, NEAR, "auto")
"""These, and the default of `polyak`: a race of candidates."""

RARE = 0.01
"""Where fewer rows are positive, a constant errs next to never: average precision judges."""

LOSS_TITLES = {"squared_hinge": "squared hinge", "log_loss": "logistic", "hinge": "hinge"}
LOSSES = tuple(LOSS_TITLES)

MARKS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 5 / 4, 3 / 2, 7 / 4, 2.0)
"""Where to measure, in passes."""

WARM_UP = 1000

_RIVALS = {"SGD2": "sgd2", "Pegasos": "pegasos", "SGD-QN": "sgd_qn", "oLBFGS": "olbfgs"}

Point = tuple[float, float, float]
"""The error and the cost on the test rows, and the processor's seconds spent on learning so far."""


def compete(
    data: BenchmarkSet, loss: str, algorithms: tuple[str, ...] = ALGORITHMS, orders: int = 1
) -> Result:
    """Let every algorithm learn a set in two passes, with the rows in several orders.

    What the last iterate is depends much on the last rows: one order says little about it.

    Returns
    -------
    dict
        ``orders`` holds for each order, and in it for each algorithm, ``passes``, ``error`` and
        ``cost``, the last two None where the weights had overflowed; ``curves`` the medians over
        the orders, with ``error_spread`` and ``cost_spread``, the middle half; ``seconds`` the
        median time spent up to each of the points; ``start`` the row after which ASGD began to
        average in the first order; ``skipped`` why an algorithm did not run, ``lambda0`` the
        eigenvalue that counts.

    Examples
    --------
    >>> from reproduction.datasets import load_benchmark
    >>> data = load_benchmark("covtype", data="/nowhere", scale=0.01)
    >>> found = compete(data, "squared_hinge", ("ASGD",))
    >>> found["curves"]["ASGD"]["passes"][-1], 0.2 < found["curves"]["ASGD"]["error"][-1] < 0.3
    (2.0, True)
    """
    found = [_compete_once(_ordered(data, order), loss, algorithms) for order in range(orders)]
    seconds = {
        name: np.median([one["seconds"][name] for one in found], axis=0).tolist()
        for name in found[0]["seconds"]
    }
    runs = [one["curves"] for one in found]
    curves = {name: _median([run[name] for run in runs]) for name in runs[0]}
    kept = {what: found[0][what] for what in ("start", "skipped", "lambda0")}
    return {"curves": curves, "orders": runs, "seconds": seconds, **kept}


def _ordered(data: BenchmarkSet, order: int) -> BenchmarkSet:
    """Return the rows in their own order, or in a random one."""
    if order == 0:
        return data
    rows = np.random.default_rng(order).permutation(len(data.y))
    return replace(data, X=data.X[rows], y=data.y[rows])


def _median(runs: list[Any]) -> Result:
    """Return the median of several curves and their middle half; overflows rank highest."""
    found: Result = {"passes": runs[0]["passes"]}
    for what in ("error", "cost"):
        values = [[np.inf if value is None else value for value in run[what]] for run in runs]
        # Of the values themselves: between two of them there may be infinity.
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0, method="nearest")
        found[what] = [_finite(value) for value in middle.tolist()]
        found[f"{what}_spread"] = [
            [_finite(value) for value in bound.tolist()] for bound in (low, high)
        ]
    return found


def _compete_once(data: BenchmarkSet, loss: str, algorithms: tuple[str, ...]) -> Result:
    curves: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    start, lambda0 = None, eigenvalue_that_counts(data, loss)
    for name in algorithms:
        if name == "LIBLINEAR":
            why = no_liblinear(data, loss)
            if why:
                skipped[name] = why
                continue
            passes, points = _liblinear(data, loss)
        else:
            _warm_up(_streaming(name, loss, data.paper.alpha, lambda0), data)
            model = _streaming(name, loss, data.paper.alpha, lambda0)
            passes, points = _stream(model, data, loss)
            if name == "ASGD":
                start = _start(model)
        errors, costs, times = zip(*points, strict=True)
        curves[name] = {
            "passes": passes,
            "error": [_finite(error) for error in errors],
            "cost": [_finite(cost) for cost in costs],
        }
        seconds[name] = list(times)
    found = {"curves": curves, "seconds": seconds, "start": start}
    return found | {"skipped": skipped, "lambda0": lambda0}


def time_a_pass(data: BenchmarkSet, loss: str, repeats: int = 3) -> dict[str, float]:
    """Measure the processor's seconds of a pass, the best of a few."""
    lambda0, n = eigenvalue_that_counts(data, loss), len(data.y)
    best: dict[str, float] = {}
    for _ in range(repeats):
        for name in ALGORITHMS:
            if name == "LIBLINEAR":
                seconds = 0.0 if no_liblinear(data, loss) else _liblinear(data, loss)[1][0][2]
            else:
                model = _streaming(name, loss, data.paper.alpha, lambda0)
                with suppress(DivergenceError):
                    seconds = _timed(lambda m=model: m.partial_fit(data.X[:n], data.y, [-1.0, 1.0]))  # type: ignore[misc]
            best[name] = min(seconds, best.get(name, seconds))
    return {name: seconds for name, seconds in best.items() if seconds}


def no_liblinear(data: BenchmarkSet, loss: str, free: int | None = None) -> str:
    """Return why LIBLINEAR cannot run; empty if it can.

    It makes float64 of the rows and then pairs of index and value, which together take seven times
    the memory of dense rows of float32; the copies of other pieces need room too.

    Examples
    --------
    >>> from reproduction.datasets import load_benchmark
    >>> data = load_benchmark("alpha", data="/nowhere", scale=0.001)
    >>> no_liblinear(data, "hinge", free=1_000_000)
    'needs 6 MB of memory, but only 1 MB are free'
    """
    if loss == "log_loss":
        return "its dual coordinate descent knows the hinges only, as in the paper"
    needed = 7 * (data.X.nbytes if isinstance(data.X, np.ndarray) else data.X.data.nbytes)
    free = free_memory() if free is None else free
    if free is None or 2 * needed <= free:
        return ""
    return f"needs {needed / 1e6:,.0f} MB of memory, but only {free / 1e6:,.0f} MB are free"


def eigenvalue_that_counts(data: BenchmarkSet, loss: str) -> float:
    """Estimate λ₀ from the first thousand rows, as `reproduction.theory.rows_needed` does.

    Not the smallest eigenvalue of all, which belongs to directions that no prediction depends on,
    but the one down to which the directions carry 99% of the rows' squared length.
    """
    from reproduction.theory import rows_needed

    return rows_needed(data.X[:1000], loss, data.paper.alpha, fit_intercept=False).lambda0


def _streaming(name: str, loss: str, alpha: float, lambda0: float) -> Any:
    from polyak import ASGDClassifier
    from reproduction.rivals import RIVALS

    if name == "auto":
        return ASGDClassifier(loss=loss, alpha=alpha, fit_intercept=False)
    if name in ("ASGD", NEAR):
        decay = alpha if name == "ASGD" else lambda0
        return ASGDClassifier(
            loss=loss, alpha=alpha, recipe="paper", decay=decay, fit_intercept=False
        )
    return RIVALS[_RIVALS[name]](loss=loss, alpha=alpha, fit_intercept=False)


def _warm_up(model: Any, data: BenchmarkSet) -> None:
    """Learn a few rows untimed, so that no time includes the loading of libraries."""
    with suppress(DivergenceError):
        model.partial_fit(data.X[:WARM_UP], data.y[:WARM_UP], classes=[-1.0, 1.0])


def _stream(model: Any, data: BenchmarkSet, loss: str) -> tuple[list[float], list[Point]]:
    n = len(data.y)
    rows = sorted({min(2 * n, max(1, round(mark * n))) for mark in MARKS} | {n})
    passes = [mark / n for mark in rows]
    points: list[Point] = []
    spent, at = 0.0, 0
    for mark in rows:
        spans = [(at, mark)] if mark <= n or at >= n else [(at, n), (n, mark)]
        try:
            for begin, end in spans:
                X, y = data.X[begin % n : (end - 1) % n + 1], data.y[begin % n : (end - 1) % n + 1]
                spent += _timed(lambda X=X, y=y: model.partial_fit(X, y, classes=[-1.0, 1.0]))  # type: ignore[misc]
        except DivergenceError:
            points += [(np.nan, np.nan, spent)] * (len(rows) - len(points))
            break
        at = mark
        # Some only begin once they have seen a sample: until then reading the model is learning.
        until_read = spent + _timed(lambda: model.coef_)
        points.append((*measure(model, data, loss), until_read))
    return passes, points


def _liblinear(data: BenchmarkSet, loss: str) -> tuple[list[float], list[Point]]:
    """Fit anew with one and with two outer iterations: the library cannot be asked in between."""
    from reproduction.rivals import RIVALS

    points: list[Point] = []
    for iterations in (1, 2):
        model: Any = RIVALS["liblinear"](
            loss=loss, alpha=data.paper.alpha, max_iter=iterations, fit_intercept=False
        )
        spent = _timed(lambda model=model: model.fit(data.X, data.y))  # type: ignore[misc]
        points.append((*measure(model, data, loss), spent))
    return [1.0, 2.0], points


def measure(model: Any, data: BenchmarkSet, loss: str) -> tuple[float, float]:
    """Return the error of a model on the test rows, and its mean cost.

    The cost is what is minimised, on other rows: the loss and the penalty. Where positive rows are
    rare, the first is what average precision leaves to one.
    """
    coef = np.asarray(model.coef_, np.float64).ravel()
    with np.errstate(over="ignore", invalid="ignore"):  # which the next line notices
        scores = np.asarray(data.X_test @ coef.astype(np.float32), np.float64).ravel()
    if not np.isfinite(scores).all():
        return np.nan, np.nan
    if judged_by_precision(data):
        from sklearn.metrics import average_precision_score

        error = 1.0 - float(average_precision_score(data.y_test > 0, scores))
    else:
        error = float(np.mean((scores > 0) != (data.y_test > 0)))
    mean_loss = float(np.mean(get_loss(loss).value(scores, data.y_test)))
    return error, mean_loss + data.paper.alpha / 2 * float(coef @ coef)


def judged_by_precision(data: BenchmarkSet) -> bool:
    """Whether positive rows are too rare for errors to be informative."""
    return 0.0 < float(np.mean(data.y_test > 0)) < RARE


def describe(data: BenchmarkSet) -> Result:
    """Return the figures of the paper's tables, measured on these rows."""
    return {
        "rows": len(data.y),
        "test_rows": len(data.y_test),
        "features": int(data.X.shape[1]),
        "longest": float(squared_norms(data.X[:1000]).max()),
        "positive": float(np.mean(data.y > 0)),
        "precision": judged_by_precision(data),
    }


def squared_norms(X: Any) -> NDArray[np.float64]:
    """Return ‖x‖² of each row.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X, dtype=np.float64)
    return np.asarray(squares.sum(axis=1), np.float64).ravel()


def _start(model: Any) -> int | None:
    start = float(np.ravel(model.average_start_)[0])
    return int(start) if np.isfinite(start) else None


def _timed(work: Callable[[], Any]) -> float:
    """Measure the processor's time: with one thread, the time that an idle machine would take."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None

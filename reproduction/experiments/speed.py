"""Time: one learning loop against another, and how the work of a row grows.

Only loops are timed, on rows that are in memory, and calibration is not: of LIBLINEAR, whose loop
cannot be called alone, two outer iterations less one. These pieces run alone, one thread each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from reproduction.datasets import PAPER_SETS, load_benchmark
from reproduction.datasets.benchmark import form_here
from reproduction.experiments.benchmarks import NEWER, TIMED, learner
from reproduction.figures import Figure, Table
from reproduction.pieces import Piece, Result
from reproduction.rivals import ASGD, Liblinear

NONZEROS, WIDTHS = (35, 70, 140), (10_000, 100_000, 1_000_000)
DENSE = (100, 400, 1600)
SIMILAR, WARM = 2.0, 1000


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """Time passes over the paper's sets, sparse rows, and batch."""
    names = [name for name in PAPER_SETS if form_here(name, data) in ("real", "sample")]
    share = 0.05 if quick else 1.0
    return [
        Piece("speed-loops", loops, {"names": names, "data": data, "share": share}, True, 2),
        Piece("speed-sparse", sparse_rows, {"rows": 50_000}, alone=True, version=2),
        Piece("speed-batch", batch, {"numbers": 2_000_000 if quick else 20_000_000}, alone=True),
    ]


def best_of(
    work: Callable[[], Any], prepare: Callable[[], Any] = lambda: None, times: int = 3
) -> float:
    """Return the processor's seconds, the least of a few; with one thread that is elapsed time."""
    seconds = []
    for _ in range(times):
        prepare()
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def loops(names: list[str], data: str | None, share: float) -> Result:
    """Return the seconds of one pass over each set, squared hinge."""
    timings: dict[str, dict[str, float]] = {}
    for name in names:
        rows = load_benchmark(name, data, share)
        X, y = rows.X[:TIMED], rows.y[:TIMED]
        timings[name] = {
            algorithm: one_pass(learner(algorithm, "squared_hinge", rows), X, y)
            for algorithm in ("ASGD", *NEWER)
        }
    return {"timings": timings}


def one_pass(model: Any, X: Any, y: Any) -> float:
    """Return the seconds of a model's learning loop over rows.

    A thousand rows are learned before: the first ones write all weights once, which takes time that
    grows with the features.
    """

    def prepare() -> None:
        model.calibrate(X[: model.sample], y[: model.sample])
        model.learn(X[:WARM], y[:WARM])

    def work() -> None:
        model.learn(X, y)

    if not isinstance(model, Liblinear):
        return best_of(work, prepare)
    seconds = []
    for iterations in (1, 3):
        model.iterations = iterations
        seconds.append(best_of(work, times=2))
    return max((seconds[1] - seconds[0]) / 2, 1e-9)


def sparse_rows(rows: int) -> Result:
    """Return nanoseconds a row of ASGD, by nonzeros Z and features."""
    random, found = np.random.default_rng(20111120), []
    y = np.where(random.random(rows) < 0.5, 1.0, -1.0)
    for width in WIDTHS:
        line = []
        for Z in NONZEROS:
            indices = np.sort(random.integers(0, width, (rows, Z)).astype(np.int32), axis=1)
            indices += np.arange(Z, dtype=np.int32)  # strictly ascending
            values = random.standard_normal((rows, Z)).astype(np.float32)
            offsets = np.arange(rows + 1, dtype=np.int32) * Z
            parts = values.ravel(), indices.ravel(), offsets
            X = csr_matrix(parts, shape=(rows, width + Z))
            line.append(1e9 * one_pass(ASGD("squared_hinge", 1e-5, 0), X, y) / rows)
        found.append(line)
    return {"timings": {"nanoseconds": found}}


def batch(numbers: int) -> Result:
    """Return the seconds of ASGD and of batch on the same dense rows, by features N."""
    from scipy.linalg.blas import dsyr

    random, found = np.random.default_rng(20111109), {}
    for width in DENSE:
        rows = numbers // width
        X, y = random.standard_normal((rows, width)), random.standard_normal(rows)
        few = min(rows, 2000)

        def row_by_row(X: Any = X[:few], y: Any = y[:few], width: int = width) -> None:
            products, sums = np.eye(width, order="F"), np.zeros(width)
            for x, target in zip(X, y, strict=True):
                products = dsyr(1.0, x, a=products, overwrite_a=True)
                sums += target * x

        def one_product(X: Any = X, y: Any = y, width: int = width) -> None:
            np.linalg.solve(X.T @ X + np.eye(width), X.T @ y)

        found[str(width)] = {
            "ASGD": one_pass(ASGD("squared_error", 0.0, 0), X.astype(np.float32), y) / rows,
            "batch, row by row": best_of(row_by_row) / few,
            "batch, one product": best_of(one_product) / rows,
        }
    return {"timings": found}


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return ratios of times."""
    grid = np.array(results["speed-sparse"]["timings"]["nanoseconds"])
    times = results["speed-batch"]["timings"]
    over = {
        name: {w: t[f"batch, {name}"] / t["ASGD"] for w, t in times.items()}
        for name in ("row by row", "one product")
    }
    found: dict[str, Any] = {
        "speed features": float(np.max(grid[-1] / grid[0])),
        "speed nonzeros": float(np.max(grid[:, 2] / grid[:, 0])),
        **{f"speed {name} {w}": ratio for name, r in over.items() for w, ratio in r.items()},
    }
    similar, oLBFGS, words = 0, 0, []
    loops = results["speed-loops"]["timings"]
    for name, seconds in loops.items():
        ratio = {n: seconds[n] / seconds["ASGD"] for n in NEWER}
        words.append(f"{name}: " + ", ".join(f"{n} {r:.2g}" for n, r in ratio.items()))
        oLBFGS += ratio.pop("oLBFGS") > SIMILAR
        similar += sum(1 / SIMILAR <= r <= SIMILAR for r in ratio.values())
    found["speed similar"] = float(similar) if loops else None
    found["speed others"] = float(4 * len(loops))
    found["speed half of others"] = 2.0 * len(loops)
    found["speed sets"] = float(len(loops))
    found["speed oLBFGS"] = float(oLBFGS)
    found["speed loops"] = "; ".join(words)
    return found


def figures(results: dict[str, Result]) -> list[Figure]:
    """Return no figures: the tables have the numbers."""
    return []


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the times."""
    loops = results["speed-loops"]["timings"]
    grid = results["speed-sparse"]["timings"]["nanoseconds"]
    times = results["speed-batch"]["timings"]
    return [
        Table(
            "loops",
            f"Seconds of a learning loop, one pass over up to {TIMED:,} rows",
            "Squared hinge, one thread, nothing else running, the best of three. Times differ "
            "from run to run and from machine to machine.",
            ["set", "ASGD", *NEWER],
            [[name, *(f"{s[n]:.3g}" for n in ("ASGD", *NEWER))] for name, s in loops.items()],
        ),
        Table(
            "sparse",
            "Nanoseconds a row of ASGD, by features and nonzeros",
            "Random sparse rows; with more features more of the weights are out of the caches.",
            ["features", *(f"Z = {Z}" for Z in NONZEROS)],
            [[f"{w:,}", *(f"{t:.0f}" for t in line)] for w, line in zip(WIDTHS, grid, strict=True)],
        ),
        Table(
            "batch",
            "Nanoseconds a row of ASGD and of batch",
            "Batch keeps its sums row by row, as its formula reads, or multiplies all rows at "
            "once.",
            ["features", *next(iter(times.values()))],
            [[w, *(f"{1e9 * s:.0f}" for s in t.values())] for w, t in times.items()],
        ),
    ]

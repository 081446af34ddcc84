"""The cost of block Newton steps beside averaged SGD, and one pass against batch.

``newton-cost`` times the same `fit` with `recipe="auto"` and `recipe="sgd"`, on two cores, and
``polyak train`` on text. ``newton-quality`` learns real sets in several orders with both losses,
plainly and with every feature in another unit and from another origin; the yardstick is the table
of tests/learn/quality/batch_optimum.py.
"""

from __future__ import annotations

import math
import os
import runpy
from pathlib import Path
from typing import Any

from benchmarks.cache import cached
from benchmarks.contestant import Job
from benchmarks.runner import REPEAT, ROOT, Contest, Contestant, Figures, Target, in_process
from benchmarks.scenarios.files.commands import POLYAK

ALONE, NEWTON = "averaged SGD alone", "with Newton steps"
SHAPES = {  # rows, features: how many times the time is promised
    (1_000_000, 30): 1.5,
    (500_000, 100): 2.5,
    (60_000, 784): 2.5,
}
PROMISED = {
    **{"a9a": 1.001, "ijcnn1": 1.001, "w8a": 1.005, "covtype": 1.001, "mnist": 1.003},
    "rcv1": 0.97,
}
SLACK = {"log_loss": 0.0, "squared_hinge": 0.002}
PLAIN, MOVED = "as they are", "in other units"


def contests(name: str, quick: bool) -> list[Contest]:
    if name == "newton-cost":
        in_memory = [
            _in_memory(rows // (10 if quick else 1), width, loss, most)
            for (rows, width), most in SHAPES.items()
            for loss in ("log_loss", "squared_hinge", "squared_error")
        ]
        return [*in_memory, *(_text(kind, quick) for kind in ("csv", "svm"))]
    if "POLYAK_DATA" not in os.environ:
        print("newton-quality: skipped, because POLYAK_DATA does not name the folder of the sets")
        return []
    sets = ("a9a", "ijcnn1") if quick else PROMISED
    tables = [_table("housing", "squared_error", 1.003)]
    tables += [_table("flights", loss, 1.005) for loss in ("squared_error", "log_loss")]
    return [_quality(data, loss) for data in sets for loss in SLACK] + tables + [_years()]


def _times(results: Any) -> float:
    return float(results[NEWTON].best / results[ALONE].best)


def _in_memory(rows: int, width: int, loss: str, most: float) -> Contest:
    size = {"rows": rows, "width": width, "loss": loss}
    return Contest(
        title=f"Newton steps, {rows:,} × {width}, {loss}, two cores",
        contestants=[
            in_process(label, "newton:fit", **size, recipe=recipe)
            for label, recipe in ((ALONE, "sgd"), (NEWTON, "auto"))
        ],
        reference=ALONE,
        cores=2,
        targets=[Target("times averaged SGD alone", _times, at_most=most)],
    )


def _text(kind: str, quick: bool) -> Contest:
    rows = 50_000 if quick else 500_000
    path = cached(f"newton-{rows}.{kind}", lambda draft: _write(draft, kind, rows))

    def command(recipe: str) -> tuple[str, ...]:
        named = ("--target", "y") if kind == "csv" else ()
        model = str(path.with_suffix(f".{recipe}.polyak"))
        options = ("--loss", "log_loss", "--recipe", recipe, "--no-progress", "--model", model)
        return (POLYAK, "train", str(path), *named, *options)

    return Contest(
        title=f"Newton steps, {rows:,} × 30 from .{kind}, two cores",
        contestants=[Contestant(ALONE, command("sgd")), Contestant(NEWTON, command("auto"))],
        reference=ALONE,
        cores=2,
        targets=[Target("times averaged SGD alone", _times, at_most=1.2)],
    )


def _quality(data: str, loss: str) -> Contest:
    def ratio(label: str) -> Any:
        return lambda results: results[label].figures.get("loss / batch", math.nan)

    moved = [MOVED] if data in ("a9a", "ijcnn1", "covtype") else []
    targets = [Target("loss over batch", ratio(PLAIN), at_most=PROMISED[data] + SLACK[loss])]
    if moved:
        away = Target(
            "loss in other units over that as they are",
            lambda results: ratio(MOVED)(results) / ratio(PLAIN)(results),
            at_most=1.01,
        )
        targets.append(away)
    return Contest(
        title=f"one pass over {data}, {loss}, means of three orders",
        contestants=[
            in_process(label, "newton:learn", data=data, loss=loss, seed=REPEAT, units=label)
            for label in (PLAIN, *moved)
        ],
        reference=PLAIN,
        repeats=3,
        targets=targets,
    )


def _table(data: str, loss: str, most: float) -> Contest:
    def ratio(label: str) -> Any:
        return lambda results: results[label].figures.get("loss / batch", math.nan)

    targets = [Target("loss over batch", ratio(PLAIN), at_most=most)]
    if data == "housing":
        more = Target("loss in other units over batch", ratio(MOVED), at_most=1.01 * most)
        targets.append(more)
    return Contest(
        title=f"one pass over {data}, {loss}, means of three splits",
        contestants=[
            in_process(label, "newton:table", data=data, loss=loss, seed=REPEAT, units=label)
            for label in ((PLAIN, MOVED) if data == "housing" else (PLAIN,))
        ],
        reference=PLAIN,
        repeats=3,
        targets=targets,
    )


def _years() -> Contest:
    sizes = (2_000, 20_000, 200_000)
    return Contest(
        title="a target that follows a column of years 1990 to 2024",
        contestants=[in_process(f"{rows:,} rows", "newton:years", rows=rows) for rows in sizes],
        reference=f"{sizes[0]:,} rows",
        repeats=1,
        targets=[
            Target(
                f"R² after {rows:,} rows",
                lambda results, label=f"{rows:,} rows": results[label].figures.get("R²", math.nan),  # type: ignore[misc]
                at_least=0.99,
            )
            for rows in sizes
        ],
    )


# -- jobs ------------------------------------------------------------------------------------------


def _simulated(rows: int, width: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, width), dtype=np.float32)
    return X, X @ rng.normal(size=width) * 2 / np.sqrt(width)


def _model(loss: str, **settings: Any) -> Any:
    from polyak import ASGDClassifier, ASGDRegressor

    return (ASGDRegressor if loss == "squared_error" else ASGDClassifier)(loss=loss, **settings)


def fit(rows: int, width: int, loss: str, recipe: str) -> Job:
    import numpy as np

    X, scores = _simulated(rows, width)
    noise = np.random.default_rng(1).logistic(size=rows)
    y = scores + noise if loss == "squared_error" else (scores + noise > 0).astype(int)
    model = _model(loss, recipe=recipe)
    _model(loss, recipe=recipe).fit(X[:1000], y[:1000])
    return lambda: model.fit(X, y), dict


def _write(path: Path, kind: str, rows: int) -> None:
    import numpy as np

    X, scores = _simulated(rows, 30)
    y = (scores + np.random.default_rng(1).logistic(size=rows) > 0).astype(int)
    with open(path, "w") as file:
        if kind == "csv":
            file.write(",".join(["y", *(f"x{j}" for j in range(30))]) + "\n")
        for label, row in zip(y.tolist(), X.tolist(), strict=True):
            if kind == "csv":
                file.write(f"{label}," + ",".join(f"{value:.5g}" for value in row) + "\n")
            else:
                pairs = " ".join(f"{j}:{value:.5g}" for j, value in enumerate(row, start=1))
                file.write(f"{label} {pairs}\n")


def learn(data: str, loss: str, seed: str, units: str) -> Job:
    import numpy as np

    from polyak.losses import get_loss
    from reproduction.datasets import load

    (X, y), (X_test, y_test) = load(data)
    rng = np.random.default_rng(int(seed))
    if units == MOVED:
        X, X_test = _moved(*(_dense(part) for part in (X, X_test)), rng)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    model = _model(loss, shuffle=False)
    optimum = runpy.run_path(str(ROOT / "tests/learn/quality/batch_optimum.py"))["OPTIMUM"][
        data, loss
    ]

    def judge() -> Figures:
        losses = get_loss(loss).value(model.decision_function(X_test), y_test.astype(float))
        return {"loss / batch": losses.mean() / optimum}

    return lambda: model.fit(X, y), judge


def _dense(rows: Any) -> Any:
    return (rows.toarray() if hasattr(rows, "toarray") else rows).astype(float)


def _moved(X: Any, X_test: Any, rng: Any) -> tuple[Any, Any]:
    """Replace every x by 10^u (x + 10^v times its spread)."""
    u, v = rng.uniform(-3, 3, size=(2, X.shape[1]))
    origin = 10**v * X.std(axis=0)
    return 10**u * (X + origin), 10**u * (X_test + origin)


def _read(data: str) -> tuple[Any, Any]:
    """Read a table as numbers, with medians for missing values and dummies for words."""
    import pandas as pd

    folder = Path(os.environ["POLYAK_DATA"])
    if data == "housing":
        table = pd.read_csv(folder / "california_housing.csv.gz")
        y = table.pop("median_house_value") / 1e5
    else:
        table = pd.read_csv(folder / "nycflights13.csv.gz").dropna(subset=["arr_delay"])
        known = ["month", "day", "dep_delay", "sched_dep_time", "sched_arr_time", "distance"]
        y, table = table["arr_delay"], table[[*known, "hour", "minute", "carrier", "origin"]]
    X = pd.get_dummies(table.fillna(table.median(numeric_only=True)))
    return X.to_numpy(float), y.to_numpy(float)


def table(data: str, loss: str, seed: str, units: str) -> Job:
    import numpy as np
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from polyak.losses import get_loss

    X, y = _read(data)
    if loss == "log_loss":
        y = np.where(y > 15, 1.0, -1.0)
    rng = np.random.default_rng(int(seed))
    train, test = np.split(rng.permutation(len(y)), [len(y) * 4 // 5])
    batch = (
        RidgeCV(np.logspace(-4, 4, 17)) if loss == "squared_error" else LogisticRegression(C=100)
    )
    standard = make_pipeline(StandardScaler(), batch).fit(X[train], y[train])
    model, value = _model(loss, shuffle=False), get_loss(loss).value

    def mean(fitted: Any, rows: Any) -> float:
        scores = fitted.predict if loss == "squared_error" else fitted.decision_function
        return float(value(scores(rows), y[test]).mean())

    optimum = mean(standard, X[test])
    known, new = _moved(X[train], X[test], rng) if units == MOVED else (X[train], X[test])
    return lambda: model.fit(known, y[train]), lambda: {"loss / batch": mean(model, new) / optimum}


def years(rows: int) -> Job:
    import numpy as np

    rng = np.random.default_rng(0)
    year = rng.integers(1990, 2025, rows + 10_000)
    X = np.column_stack([year, rng.normal(size=len(year))])
    y = 3.0 * (year - 2000) + X[:, 1] + 3.0 * rng.normal(size=len(year))
    model = _model("squared_error")
    return lambda: model.fit(X[:rows], y[:rows]), lambda: {"R²": model.score(X[rows:], y[rows:])}

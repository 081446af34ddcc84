"""Real tables in any units, counted from anywhere, and with a column of names: as good as batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.real_sets import REAL, load, real_file

from polyak import ASGDClassifier, ASGDRegressor
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss
from polyak.training.job import Job
from polyak.training.loop import train

pytestmark = REAL


def in_other_units(X, seed):
    """Return the map ``10^u (x + 10^v std)`` of every feature, with random u and v."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-3, 3, size=(2, X.shape[1]))
    return lambda Z: 10.0**u * (Z + 10.0**v * X.std(axis=0))


def houses():
    """The numbers of california_housing, without the rows that lack one."""
    frame = pd.read_csv(real_file("california_housing.csv.gz")).dropna()
    frame = frame.select_dtypes("number").sample(frac=1.0, random_state=0)
    y = frame.pop("median_house_value").to_numpy() / 1e5
    held = np.arange(len(frame)) % 4 == 0
    X = frame.to_numpy(dtype=float)
    return (X[~held], y[~held]), (X[held], y[held])


@pytest.mark.parametrize("name", ["a9a", "ijcnn1", "covtype", "california_housing"])
def test_any_units_counted_from_anywhere(name):
    regression = name == "california_housing"
    (X, y), (X_test, y_test) = houses() if regression else load(name)
    dense = [Z.toarray() if hasattr(Z, "toarray") else Z for Z in (X, X_test)]
    X, X_test = (np.asarray(Z, dtype=float) for Z in dense)
    loss = "squared_error" if regression else "log_loss"

    def test_loss(seed, other=lambda Z: Z):
        order = np.random.default_rng(seed).permutation(len(y))
        one = ASGDRegressor if regression else ASGDClassifier
        fitted = one(loss=loss, shuffle=False, max_iter=1).fit(other(X[order]), y[order])
        scores = fitted.predict if regression else fitted.decision_function
        return get_loss(loss).value(scores(other(X_test)), y_test).mean()

    plain = np.mean([test_loss(seed) for seed in range(3)])
    moved = np.mean([test_loss(seed, in_other_units(X, seed)) for seed in range(3)])
    assert moved == pytest.approx(plain, rel=0.01)


def test_houses_as_ridge_has_them():
    (X, y), test = houses()
    best = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))).fit(X, y).score(*test)
    runs = [ASGDRegressor(random_state=seed).fit(X, y).score(*test) for seed in range(3)]
    assert np.mean(runs) > best - 0.003


@pytest.mark.parametrize("target", ["arr_delay", "late"])
def test_flights_by_all_their_columns(target, tmp_path):
    """There are thousands of planes, each a word; batch learns from the same features."""
    frame = pd.read_csv(real_file("nycflights13.csv.gz"))
    frame = frame[frame["arr_delay"].notna()]
    if target == "late":
        late = np.where(frame.pop("arr_delay") > 15, "yes", "no")
        frame = frame.drop(columns="arr_time").assign(late=late)
    held = np.random.default_rng(0).random(len(frame)) < 0.25
    paths = [tmp_path / "learned.csv", tmp_path / "held.csv"]
    for path, part in zip(paths, (frame[~held], frame[held]), strict=True):
        part.to_csv(path, index=False)
    loss = get_loss("squared_error" if target == "arr_delay" else "log_loss")
    wanted = ReadOptions(columns=Columns(target=target))
    recipe = Recipe(loss=loss.name, recipe="auto")
    job = Job(source=paths[0], recipe=recipe, order="auto", reading=wanted)
    model = train(job).model

    def rows_of(path):
        rows, targets = [], []
        with open_stream(path, ReadOptions(schema=model.features.schema)) as stream:
            for batch in stream:
                each = batch.rows
                shape = len(each), each.n_features
                rows.append(csr_matrix((each.values, each.indices, each.indptr), shape))
                targets.append(batch.targets)
        return vstack(rows).tocsr(), np.concatenate(targets)

    (X, y), (X_test, y_test) = map(rows_of, paths)
    if loss.classifies:
        y, y_test = (np.where(labels == model.classes[1], 1.0, -1.0) for labels in (y, y_test))
    there = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))
    scale = StandardScaler(with_mean=False).fit(X[:, there])
    Z, Z_test = (scale.transform(part[:, there]) for part in (X, X_test))
    if loss.classifies:
        batch = LogisticRegression(max_iter=2000).fit(Z, y).decision_function(Z_test)
    else:
        batch = Ridge(solver="sparse_cg", tol=1e-8).fit(Z, y).predict(Z_test)
    mine = np.ravel(model.scores(X_test))
    assert loss.value(mine, y_test).mean() <= 1.005 * loss.value(batch, y_test).mean()

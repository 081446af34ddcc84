"""Files that find room in memory are learned as ``fit`` learns an array, whatever their order."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.data.options import Columns, ReadOptions
from polyak.errors import DataError
from polyak.learn.recipes import Recipe
from polyak.training import in_memory, load_in_memory
from polyak.training.job import Job
from polyak.training.loop import train


def job(path, loss, target="target", **more) -> Job:
    return Job(
        source=str(path),
        recipe=Recipe(loss=loss, recipe="auto"),
        order="auto",
        reading=ReadOptions(columns=Columns(target=target)),
        **more,
    )


def trained(path, loss, **more) -> LinearModel:
    model = train(job(path, loss, **more)).model
    assert model is not None
    return model


def table(name: str) -> pd.DataFrame:
    load = {"diabetes": load_diabetes, "cancer": load_breast_cancer, "iris": load_iris}[name]
    return load(as_frame=True).frame


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("diabetes", "squared_error"),
        ("cancer", "log_loss"),
        ("iris", "log_loss"),
        ("iris", "hinge"),
    ],
)
def test_a_table_of_numbers_is_learned_as_the_frame_of_it(name, loss, tmp_path):
    frame = table(name)
    frame.to_csv(tmp_path / "t.csv", index=False)
    X, y = frame.drop(columns="target"), frame["target"]
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    fitted = kind(loss=loss, random_state=0).fit(X, y)
    model = trained(tmp_path / "t.csv", loss)
    np.testing.assert_array_equal(model.weights[::2].T, np.atleast_2d(fitted.coef_))
    np.testing.assert_array_equal(model.intercept, fitted.intercept_)
    assert model.report.passes == fitted.n_iter_


def test_a_table_with_words_and_missing_values_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Lima"], 700),
            "size": np.where(rng.random(700) < 0.1, np.nan, rng.normal(50, 9, 700).round(3)),
            "day": pd.date_range("2020-01-01", periods=700).strftime("%Y-%m-%d"),
        }
    )
    frame["target"] = (frame["size"].fillna(50) + 3 * (frame["city"] == "Rome")).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    fitted = ASGDRegressor(random_state=0).fit(frame.drop(columns="target"), frame["target"])
    model = trained(tmp_path / "t.csv", "squared_error")
    seen = model.n_features  # the estimator has a weight for every slot there could be
    np.testing.assert_array_equal(model.weights[:, 0], np.ravel(fitted.coef_)[:seen])
    assert not np.ravel(fitted.coef_)[seen:].any()


@pytest.mark.parametrize("name", ["diabetes", "cancer"])
def test_the_order_of_the_rows_does_not_matter(name, tmp_path):
    frame = table(name)
    loss = "squared_error" if name == "diabetes" else "log_loss"
    X = frame.drop(columns="target").to_numpy()
    scores = []
    for k, rows in enumerate([frame, frame.sort_values("target")]):
        rows.to_csv(tmp_path / f"{k}.csv", index=False)
        model = trained(tmp_path / f"{k}.csv", loss)
        scores.append(X @ model.weights[::2, 0] + model.intercept)
    assert np.corrcoef(scores)[0, 1] > 0.999


def test_a_monthly_series_sorted_by_time(tmp_path):
    months = np.arange(400)
    rng = np.random.default_rng(0)
    level = 315 + 0.1 * months + 3 * np.sin(2 * np.pi * months / 12) + rng.normal(0, 0.3, 400)
    frame = pd.DataFrame({"year": 1960 + months // 12, "month": months % 12, "target": level})
    held = rng.random(400) < 0.25
    frame[~held].to_csv(tmp_path / "t.csv", index=False)
    model = trained(tmp_path / "t.csv", "squared_error")
    errors = model.predict(frame[held]) - frame.loc[held, "target"]
    assert 1 - np.mean(errors**2) / frame.loc[held, "target"].var() > 0.95


def test_a_value_missing_later_is_the_columns_mean(tmp_path):
    table("diabetes").to_csv(tmp_path / "t.csv", index=False)
    model = trained(tmp_path / "t.csv", "squared_error")
    X = table("diabetes").drop(columns="target").to_numpy()
    np.testing.assert_allclose(
        model.predict(np.full((1, 10), np.nan)),
        np.atleast_1d(X.mean(axis=0) @ model.weights[::2, 0]) + model.intercept,
    )


def test_rows_larger_than_memory_are_not_loaded(tmp_path):
    table("cancer").to_csv(tmp_path / "t.csv", index=False)
    small, large = (train(job(tmp_path / "t.csv", "log_loss", memory=m)) for m in (1000, 1 << 20))
    assert small.progress.rows == large.progress.rows == 569
    assert not np.array_equal(small.model.weights, large.model.weights)


def test_a_row_that_cannot_be_learned_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,target\n1,2\n3,4\n1e250,1\n5,3\n")
    with pytest.raises(DataError, match=r"t\.csv, line 4"):
        trained(tmp_path / "t.csv", "squared_error")


@pytest.mark.parametrize("name", ["_bytes", "learn_in_memory"])
def test_ctrl_c_ends_it_at_once(name, monkeypatch, tmp_path):
    """While rows are read or learned; a model of only some of the rows is of no use."""
    table("iris").to_csv(tmp_path / "t.csv", index=False)
    work = job(tmp_path / "t.csv", "log_loss", checkpoint=str(tmp_path / "checkpoints"))
    whole = train(work).model
    behind = []
    function = getattr(load_in_memory, name)

    def pressed(*words, **more):
        signal.raise_signal(signal.SIGINT)
        behind.append(name)
        return function(*words, **more)

    monkeypatch.setattr(load_in_memory, name, pressed)
    outcome = train(work)
    assert outcome.interrupted
    assert outcome.model is None
    assert not behind
    monkeypatch.undo()
    again = train(work).model
    assert again.weights.tobytes() == whole.weights.tobytes()


def test_intervals_of_a_table_with_few_features_need_no_replicas(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["u", "v", "w"], 3000), "b": rng.normal(size=3000)})
    frame["target"] = frame["b"] + (frame["a"] == "v") + rng.normal(size=3000)
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = job(tmp_path / "t.csv", "squared_error")
    model = train(replace(asked, recipe=Recipe(loss="squared_error", intervals=True))).model
    assert model.sandwich is not None
    assert model.n_features > 1000  # hashed
    assert {one.method for one in model.report.candidates} == {"newton", "constant"}


def test_the_time_of_all_folds_counts(monkeypatch, tmp_path):
    clock = [0.0]

    def folds(*given):
        clock[0] += 100.0
        return 1

    monkeypatch.setattr(load_in_memory.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(in_memory, "_passes_by_folds", folds)
    monkeypatch.setattr(in_memory, "_is_at_its_optimum", lambda learner: False)
    table("diabetes").to_csv(tmp_path / "t.csv", index=False)
    by_averaging = Recipe(loss="huber", recipe="sgd")
    found = train(replace(job(tmp_path / "t.csv", "huber"), recipe=by_averaging))
    assert found.progress.seconds == 100.0

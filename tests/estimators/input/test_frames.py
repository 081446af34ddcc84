"""Frames with words, times and holes: pandas, polars and Arrow, encoded as tables in files are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.made_tables import flights, write
from tests.extras import pandas as pd
from tests.extras import polars as pl
from tests.extras import pyarrow as pa

from polyak import ASGDClassifier, ASGDRegressor, LinearModel, Recipe
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.training.job import Job
from polyak.training.loop import train

TABLE = flights(2500).filter(pa.compute.is_valid(flights(2500).column("delay")))
Y = TABLE.column("delay").to_numpy()
X = TABLE.drop_columns(["delay"])
FRAMES = {
    "pandas": X.to_pandas(),
    "pandas with categories": X.to_pandas().astype({"carrier": "category"}),
    "polars": pl.from_arrow(X),
    "arrow": X,
}


@pytest.fixture(scope="module")
def fitted() -> ASGDRegressor:
    return ASGDRegressor(random_state=0, max_iter=1, shuffle=False).fit(X, Y)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_library_gives_the_same_model(kind: str, fitted: ASGDRegressor) -> None:
    frame = FRAMES[kind]
    model = ASGDRegressor(random_state=0, max_iter=1, shuffle=False).fit(frame, Y)
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == X.column_names
    assert model.score(frame, Y) > 0.5


def test_it_is_the_model_of_the_same_table_as_a_stream(fitted: ASGDRegressor) -> None:
    with open_stream(TABLE, target="delay") as stream:
        schema = stream.schema
    assert schema is not None
    features = fitted.to_model().features
    assert features.schema.columns == schema.columns
    plain = len(schema.feature_names)
    called = list(features.all_names().values())
    assert called[:plain] == schema.feature_names
    assert "tail=N38" in called[plain:]  # words have their names too


def test_a_model_file_remembers_the_columns(fitted: ASGDRegressor, tmp_path: Path) -> None:
    fitted.to_model().save(tmp_path / "m")
    again = ASGDRegressor.from_model(LinearModel.load(tmp_path / "m"))
    turned = X.to_pandas()[X.column_names[::-1]]  # columns are found by their names
    np.testing.assert_array_equal(again.predict(turned), fitted.predict(X))


def test_a_classifier_of_words() -> None:
    late = np.where(np.median(Y) < Y, "late", "on time")
    model = ASGDClassifier(loss="log_loss", random_state=0).fit(FRAMES["pandas"], late)
    assert model.score(FRAMES["pandas"], late) > 0.8
    assert model.predict_proba(FRAMES["polars"]).shape == (len(Y), 2)


def test_a_word_it_never_met_says_nothing(fitted: ASGDRegressor, recwarn: Any) -> None:
    frame = X.to_pandas().iloc[:1].assign(carrier="Nobody ever")
    assert np.isfinite(fitted.predict(frame)).all()
    assert len(recwarn) == 0


def test_a_column_that_is_not_there(fitted: ASGDRegressor) -> None:
    with pytest.warns(UserWarning, match="the frame does not have wind, which the model was"):
        fitted.predict(X.to_pandas().rename(columns={"wind": "winds"}))


def test_frames_of_numbers_are_what_they_were() -> None:
    numbers = pd.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0) ** 2})
    y = numbers["a"] * 2
    model = ASGDRegressor(random_state=0).fit(numbers, y)
    plain = ASGDRegressor(random_state=0).fit(numbers.to_numpy(), y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.coef_.shape == (2,)


@pytest.mark.parametrize("library", ["pandas", "arrow"])
def test_the_index_that_pandas_writes_is_left_out(library: str) -> None:
    words = pd.DataFrame({"Unnamed: 0": np.arange(1, 201), "word": ["a", "b"] * 100})
    frame = words if library == "pandas" else pa.Table.from_pandas(words, preserve_index=False)
    with pytest.warns(UserWarning, match="numbers the rows; it is left out"):
        model = ASGDRegressor(random_state=0).fit(frame, np.tile([1.0, 2.0], 100))
    np.testing.assert_allclose(model.predict(frame), np.tile([1.0, 2.0], 100), atol=1e-3)


def test_words_beside_many_classes_share_fewer_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyak.model.schema.MOST_WEIGHTS", 1 << 14)
    rng, width = np.random.default_rng(0), (1 << 10) + 3
    words = pa.array([f"w{code}" for code in rng.integers(0, 9, 240)])
    frame = pa.table({"word": words, "number": rng.normal(size=240)})
    y = np.array([f"class {code}" for code in rng.permutation(np.arange(240) % 12)])
    how = {"recipe": "sgd", "random_state": 0}
    fitted = ASGDClassifier(**how).fit(frame, y)
    part = ASGDClassifier(**how).partial_fit(frame, y, classes=np.unique(y))
    assert fitted.coef_.shape == part.coef_.shape == (12, width)
    assert ASGDRegressor(**how).fit(frame, np.arange(240.0)).coef_.shape == ((1 << 14) + 3,)

    path = write(frame.append_column("class", pa.array(y)), tmp_path / "t.csv")
    recipe, reading = Recipe(recipe="sgd"), ReadOptions(columns=Columns(target="class"))
    job = Job(source=str(path), recipe=recipe, reading=reading)
    by_hand = ReadOptions(columns=Columns(target="class", bits=12))
    jobs = (job, replace(job, order="as-is"), replace(job, reading=by_hand))
    shell, streamed, asked = (train(one).model for one in jobs)
    seen = len(shell.weights)  # up to the last bucket with a word
    np.testing.assert_array_equal(shell.weights, fitted.to_model().weights[:seen])
    assert seen <= width
    assert len(streamed.weights) <= width < len(asked.weights)

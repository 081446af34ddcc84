"""A model of a table reads frames by its schema, and refuses arrays that are not its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from tests.in_process import polyak

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.model.intervals import proba_interval


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    balance = random.normal(800.0, 300.0, size=1500)
    town = np.where(random.random(1500) < 0.3, "Ulm", "Rom")
    frame = pd.DataFrame({"town": town, "balance": balance})
    return frame, balance + 100.0 * random.normal(size=1500) > 900.0


@pytest.fixture(scope="module")
def fitted(table: tuple[pd.DataFrame, np.ndarray]) -> ASGDClassifier:
    return ASGDClassifier(intervals=True, random_state=0).fit(*table)


def loaded(fitted: ASGDClassifier, folder: Path) -> LinearModel:
    fitted.to_model().save(folder / "m.polyak")
    return LinearModel.load(folder / "m.polyak")


def test_a_loaded_model_reads_a_frame_by_its_schema(table, fitted, tmp_path: Path) -> None:
    model, frame = loaded(fitted, tmp_path), table[0]
    shuffled = frame[["balance", "town"]]
    for rows in (frame, shuffled):
        np.testing.assert_array_equal(model.predict_proba(rows), fitted.predict_proba(frame))
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))
    np.testing.assert_array_equal(model.decision_function(frame), fitted.decision_function(frame))
    assert model.predict_proba(frame)[:, 1].min() > 0.0
    assert model.scores(frame.iloc[:0]).shape == (0, 1)


def test_intervals_of_a_loaded_model_read_frames_too(table, fitted, tmp_path: Path) -> None:
    model, frame = loaded(fitted, tmp_path), table[0][:50]
    for one, own in zip(
        proba_interval(model, frame), fitted.predict_interval(frame, kind="proba"), strict=True
    ):
        np.testing.assert_array_equal(one, own)


def test_an_array_is_read_as_the_columns_in_their_order(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"year": random.normal(2000, 9, size=900), "size": random.random(900)})
    frame.loc[::7, "size"] = np.nan
    fitted = ASGDRegressor(random_state=0).fit(frame, frame["year"])
    model = loaded(fitted, tmp_path)
    for reader in (model, fitted, ASGDRegressor.from_model(model)):
        np.testing.assert_array_equal(reader.predict(frame.to_numpy()), fitted.predict(frame))


@pytest.mark.parametrize("width", [1, 3, 5])
def test_arrays_of_another_width_are_refused(fitted, width: int, tmp_path: Path) -> None:
    model, rows = loaded(fitted, tmp_path), np.ones((4, width))
    for reader in (model, fitted, ASGDClassifier.from_model(model)):
        with pytest.raises(ValueError, match=f"{width} (columns|features).* 2"):
            reader.predict_proba(rows)


def test_numbers_are_not_words(fitted, tmp_path: Path) -> None:
    model = loaded(fitted, tmp_path)
    for reader in (model, fitted, ASGDClassifier.from_model(model)):
        with pytest.raises(ValueError, match="town"):
            reader.predict(np.ones((4, 2)))


def test_an_absent_column_of_a_frame_is_missing(table, fitted, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="does not have .*balance.*: read as missing"):
        loaded(fitted, tmp_path).predict(table[0][["town"]])


def test_a_model_of_the_command_line_reads_frames_and_arrays(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"a": random.normal(50.0, 5.0, size=400), "b": random.random(400)})
    frame.assign(y=3.0 * frame["a"] - frame["b"]).to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.polyak"
    polyak("train", tmp_path / "t.csv", "--target", "y", "-m", model, "-q")
    target = 3.0 * frame["a"] - frame["b"]
    read = LinearModel.load(model)
    for rows in (frame, frame[["b", "a"]], frame.to_numpy()):
        np.testing.assert_allclose(read.predict(rows), target, rtol=1e-3)
    np.testing.assert_allclose(
        ASGDRegressor.from_model(read).predict(frame.to_numpy()), target, rtol=1e-3
    )


def test_a_sparse_matrix_has_features_instead_of_columns(table, fitted, tmp_path: Path) -> None:
    model, frame = loaded(fitted, tmp_path), table[0][:50]
    rows = model.features.rows(frame)
    encoded = csr_matrix((rows.values, rows.indices, rows.indptr), (50, rows.n_features))
    np.testing.assert_array_equal(model.scores(encoded), model.scores(frame))
    with pytest.raises(ValueError, match="features, not 2; pass the 2 columns"):
        model.scores(csr_matrix(np.ones((3, 2))))

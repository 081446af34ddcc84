"""Missing values in arrays and frames of numbers: as in frames of mixed columns, and in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from tests.extras import pandas as pd
from tests.extras import polars as pl
from tests.extras import pyarrow as pa
from tests.in_process import polyak

from polyak import ASGDClassifier, ASGDRegressor
from polyak.model.linear import LinearModel

NAMES = [f"x{place}" for place in range(5)]
ROWS = 3000


def numbers(missing: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Make columns of very different sizes, of which some share is missing."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(ROWS, 5))
    y = plain @ [1.0, 2.0, -1.0, 0.0, 0.5] + rng.normal(size=ROWS)
    X = plain * [1, 10, 1000, 0.01, 1] + [0, 50, 20_000, 0, 3]
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def as_kind(X: np.ndarray, kind: str) -> Any:
    table = pd.DataFrame(X, columns=NAMES)
    return {
        "array": X,
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table),
        "words": table.assign(word=np.where(np.arange(len(X)) % 700 < 650, "u", None)),
    }[kind]


def in_parts(estimator: Any, X: Any, y: Any, sizes: list[int], **more: Any) -> Any:
    for begin, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        part = X[begin : begin + size] if not hasattr(X, "slice") else X.slice(begin, size)
        estimator.partial_fit(part, y[begin : begin + size], **more)
    return estimator


def test_a_list_of_lists_may_have_them() -> None:
    X, y = numbers()
    fitted = [ASGDRegressor(random_state=0).fit(rows, y) for rows in (X, X.tolist())]
    np.testing.assert_array_equal(fitted[0].coef_, fitted[1].coef_)


def test_an_array_gives_the_model_of_every_frame() -> None:
    X, y = numbers()
    fitted = ASGDRegressor(random_state=0).fit(X, y)
    assert fitted.n_features_in_ == 5
    assert not hasattr(fitted, "feature_names_in_")
    for kind in ("pandas", "polars", "arrow"):
        frame = as_kind(X, kind)
        other = ASGDRegressor(random_state=0).fit(frame, y)
        np.testing.assert_array_equal(other.coef_, fitted.coef_)
        np.testing.assert_array_equal(other.predict(frame), fitted.predict(X))


def test_it_is_as_good_as_imputed_ridge() -> None:
    X, y = numbers()
    half = ROWS // 2
    ridge = make_pipeline(SimpleImputer(add_indicator=True), RidgeCV(np.logspace(-3, 3, 13)))
    least = ridge.fit(X[:half], y[:half]).score(X[half:], y[half:])
    fitted = ASGDRegressor(random_state=0).fit(X[:half], y[:half])
    assert fitted.score(X[half:], y[half:]) > least - 0.01


def test_that_a_value_is_missing_may_be_what_tells() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 2))
    y = rng.random(ROWS) < 0.5
    X[y & (rng.random(ROWS) < 0.9), 1] = np.nan
    assert ASGDClassifier(random_state=0).fit(X, y).score(X, y) > 0.9


def test_other_rows_may_have_none_missing() -> None:
    X, y = numbers()
    fitted = ASGDRegressor(random_state=0).fit(X, y)
    whole = np.nan_to_num(X)
    assert np.isfinite(fitted.predict(whole)).all()
    np.testing.assert_array_equal(fitted.predict(whole[:3].tolist()), fitted.predict(whole)[:3])
    with pytest.raises(ValueError, match="contains infinity"):
        fitted.predict(np.full((1, 5), np.inf))
    with pytest.raises(ValueError, match="4 features, but ASGDRegressor is expecting 5"):
        fitted.predict(X[:, :4])
    again = clone(fitted).fit(whole, y)  # nothing is left of the run before
    assert again.coef_.shape == (5,)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "arrow"])
def test_where_none_was_missing_one_is_taken_for_the_mean(kind: str) -> None:
    X, y = numbers(missing=0.0)
    holes = X[:3].copy()
    holes[0, 1] = holes[1, 2] = np.nan

    def given(rows: np.ndarray) -> Any:
        return as_kind(rows, kind)

    def expected(rows: int) -> Any:
        means = np.tile(X[:rows].mean(axis=0), (3, 1))
        return given(np.where(np.isnan(holes), means, holes))

    model = ASGDRegressor(random_state=0).fit(given(X), y)
    np.testing.assert_allclose(model.predict(given(holes)), model.predict(expected(ROWS)))
    parts = in_parts(ASGDRegressor(random_state=0), given(X), y, [500] * 6)
    np.testing.assert_allclose(parts.predict(given(holes)), parts.predict(expected(1000)))
    classifier = ASGDClassifier(random_state=0).fit(given(X), y > 0)
    assert np.isfinite(classifier.predict_proba(given(holes))).all()


def test_where_nothing_is_known_of_columns_a_sentence_says_so() -> None:
    X, y = numbers(missing=0.0)
    model = ASGDRegressor(random_state=0).fit(sparse.csr_matrix(X), y)
    with pytest.raises(
        ValueError, match="this ASGDRegressor has learned from rows without missing"
    ):
        model.predict([[np.nan] * 5])
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict([[np.inf] * 5])


def test_an_array_is_read_by_the_columns_of_a_frame() -> None:
    X, y = numbers()
    frame = pd.DataFrame(X, columns=NAMES)
    model = ASGDRegressor(random_state=0).fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(X), model.predict(frame))


@pytest.mark.parametrize("compressed", [False, True])
def test_the_command_line_takes_nan_in_numpy_files_for_missing(
    tmp_path: Path, compressed: bool
) -> None:
    X, y = numbers()
    (np.savez_compressed if compressed else np.savez)(tmp_path / "a.npz", X=X, y=y)
    model, predicted = str(tmp_path / "a.model"), tmp_path / "predicted.csv"
    polyak("train", tmp_path / "a.npz", "--loss", "squared_error", "-m", model)
    fitted = ASGDRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(LinearModel.load(model).weights[:, 0], fitted.coef_)
    polyak("predict", model, tmp_path / "a.npz", "-o", predicted)
    scores = pd.read_csv(predicted, header=None).iloc[-ROWS:, -1].to_numpy(dtype=float)
    np.testing.assert_allclose(scores, fitted.predict(X), rtol=1e-5)


def test_a_value_missing_after_the_first_rows_of_a_numpy_file_is_explained(
    tmp_path: Path,
) -> None:
    X, y = numbers(missing=0.0)
    X[2000, 3] = np.nan
    np.savez(tmp_path / "a.npz", X=X, y=y)
    model = str(tmp_path / "a.model")
    said = polyak("train", tmp_path / "a.npz", "--loss", "squared_error", "-m", model, code=1)
    message = "row 2000: a value is missing (NaN), but none of the first 1000 rows has one missing"
    assert message in said.stderr


@pytest.mark.parametrize("offset", [None, np.linspace(-1.0, 1.0, ROWS)])
def test_numbers_need_no_arrow(offset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = numbers()
    expected = ASGDRegressor(random_state=0).fit(X, y, offset=offset)
    known = expected.predict(X, offset=offset)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    model = ASGDRegressor(random_state=0).fit(X, y, offset=offset)
    np.testing.assert_array_equal(model.predict(X, offset=offset), known)
    if offset is None:
        np.testing.assert_array_equal(model.to_model().predict(X), known)
    parts = ASGDRegressor(random_state=0)
    for part in np.array_split(np.arange(ROWS), 3):
        parts.partial_fit(X[part], y[part], offset=None if offset is None else offset[part])
    assert np.isfinite(parts.predict(X, offset=offset)).all()

"""Estimators of scikit-learn's own, through the real skops."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from exported_models import MODELS, X, model_of
from scipy.sparse import csr_matrix

from polyak.exports import export
from polyak.exports.sklearn_estimator import to_sklearn


@pytest.mark.parametrize("name", MODELS)
def test_predicts_what_the_model_predicts(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    said = export(model, tmp_path / "m.skops")
    estimator = skops.io.load(tmp_path / "m.skops")  # no type needs anyone's trust
    assert type(estimator).__module__.startswith("sklearn.")
    for rows in (X, csr_matrix(X)):
        if model.classes is None:
            ours = model.predict(rows)
            np.testing.assert_allclose(estimator.predict(rows), ours, rtol=1e-5, atol=1e-5)
            assert estimator.predict(rows).shape == model.predict(rows).shape
            continue
        np.testing.assert_array_equal(estimator.predict(rows), model.predict(rows))
        scores = model.decision_function(rows)
        np.testing.assert_allclose(estimator.decision_function(rows), scores, rtol=1e-5, atol=1e-5)
        if model.loss == "log_loss":
            ours = model.predict_proba(rows)
            np.testing.assert_allclose(estimator.predict_proba(rows), ours, rtol=1e-5, atol=1e-9)
    margin = model.classes is not None and model.loss != "log_loss"
    assert bool(said) == (margin and model.sigmoids is not None)


def test_needs_no_polyak_to_load(tmp_path: Path) -> None:
    export(model_of("log_loss, 2 words"), tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        assert b"sklearn" in archive.read("schema.json")
        assert b"polyak" not in archive.read("schema.json")


def test_goes_on_in_a_pipeline() -> None:
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model = model_of("hinge, 3 integers")
    pipeline = make_pipeline(FunctionTransformer(), to_sklearn(model))
    np.testing.assert_array_equal(pipeline.predict(X), model.predict(X))
    assert clone(pipeline[-1]).get_params()["loss"] == "hinge"

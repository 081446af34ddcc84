"""Models with links and parameters, in other programs' files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
from exported_models import X
from test_onnx import run

from polyak import LinearModel
from polyak.exports import export
from polyak.exports.sklearn_estimator import to_sklearn
from polyak.model.in_use import sparsified

rng = np.random.default_rng(0)
WIDTH = X.shape[1]
ONE = {
    loss: LinearModel(0.1 * rng.normal(size=(WIDTH, 1)), np.array([0.3]), loss)
    for loss in (
        "huber(1.5)",
        "quantile(0.9)",
        "epsilon_insensitive(0.1)",
        "poisson",
        "gamma",
    )
}
SEVERAL = LinearModel(
    0.1 * rng.normal(size=(WIDTH, 3)), np.array([0.1, 0.2, 0.3]), "quantile(0.1,0.5,0.9)"
)


@pytest.mark.parametrize("model", [*ONE.values(), SEVERAL], ids=[*ONE, "several"])
def test_an_onnx_graph_predicts_the_same_through_the_link(model: LinearModel, tmp_path: Path):
    assert export(model, tmp_path / "m.onnx") == []
    found = run(tmp_path / "m.onnx", X)["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6)
    if model is SEVERAL:
        assert (np.diff(model.scores(X), axis=1) < 0).any()  # they would have crossed
        assert (np.diff(found, axis=1) >= 0).all()


@pytest.mark.parametrize("loss", ONE)
def test_a_skops_file_predicts_the_same(loss: str, tmp_path: Path):
    export(ONE[loss], tmp_path / "m.skops")
    estimator = skops.io.load(tmp_path / "m.skops")
    np.testing.assert_allclose(estimator.predict(X), ONE[loss].predict(X), rtol=1e-12)


def test_scikit_learn_has_no_several_quantiles():
    with pytest.raises(ValueError, match="no model of several quantiles that do not cross"):
        to_sklearn(SEVERAL)


FAR = np.vstack([X, 1e3 * X, -1e3 * X])


@pytest.mark.parametrize("offset", [None, 0, WIDTH - 1])
def test_an_onnx_graph_limits_means_as_the_model_does(offset: int | None, tmp_path: Path):
    weights, rows = ONE["poisson"].weights.copy(), FAR.copy()
    weights[1] = 0.0  # not in use
    if offset is not None:
        weights[offset], rows[:, offset] = 1.0, 0.7
    model = replace(ONE["poisson"], weights=weights, offset=offset, reach=np.array([[-1.0], [1.5]]))
    means = model.predict(rows)
    moved = 1.0 if offset is None else np.exp(0.7)
    assert means.min() == pytest.approx(moved * np.exp(-1.0))
    assert means.max() == pytest.approx(moved * np.exp(1.5))
    used = np.flatnonzero(weights[:, 0])
    for one, some in ((model, rows), (sparsified(model), rows[:, used])):
        export(one, tmp_path / "m.onnx")
        found = run(tmp_path / "m.onnx", some)["prediction"]
        np.testing.assert_allclose(found, means, rtol=1e-6)
    (remark,) = export(model, tmp_path / "m.skops")
    assert "do not limit predictions" in remark

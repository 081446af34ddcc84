"""The model of an estimator knows what one of the command line does: names, columns, passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import pandas as pd
from tests.in_process import polyak as run_command

import polyak
from polyak import ASGDClassifier, ASGDRegressor, LinearModel


def frame(rows: int = 1500) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({"age": random.normal(size=rows), "size": random.normal(size=rows)})


def test_a_saved_model_names_the_columns_it_was_fitted_on(tmp_path: Path) -> None:
    X = frame()
    fitted = ASGDRegressor().fit(X, X["age"] - 5 * X["size"])
    fitted.to_model().save(tmp_path / "m.polyak")
    told = run_command("inspect", tmp_path / "m.polyak").stdout
    lines = [line.split() for line in told.splitlines()[-2:]]
    assert [name for name, *_ in lines] == ["size", "age"]
    assert "size" in polyak.report(tmp_path / "m.polyak")


def test_a_report_calls_encoded_columns_by_their_own_names() -> None:
    X = frame().assign(town=np.where(frame()["age"] > 0, "Ulm", "Rom"))
    page = polyak.report(ASGDRegressor().fit(X, X["age"] - 5 * X["size"]))
    assert ">size</text>" in page
    assert ">town</text>" not in page  # the third feature is not that of the third column


@pytest.mark.parametrize("times", [1, 2])
def test_passes_are_counted(times: int) -> None:
    X = frame()
    fitted = ASGDClassifier(max_iter=3, recipe="sgd", warm_start=True)
    for _ in range(times):
        fitted.fit(X, X["age"] > 0)
    assert fitted.to_model().report.passes == 3 * times
    assert f"in {3 * times} passes" in polyak.report(fitted)


def test_a_model_without_a_report_says_so() -> None:
    model = LinearModel(np.ones((2, 1)), np.zeros(1), "squared_error")
    with pytest.raises(AttributeError, match="has no training report"):
        ASGDRegressor.from_model(model).progressive_loss_  # noqa: B018

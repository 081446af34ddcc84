"""Eight partitions on two workers learn what one pass does, to half a percent of the test loss."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_rows import rows

from distributed import Client
from polyak import __version__
from polyak.distributed.dask.run import run
from polyak.distributed.tasks import How
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

pytestmark = pytest.mark.slow


def ratio(client: Client, folder: Path, recipe: Recipe, train: Any, test: Any) -> float:
    """Return the test loss of eight files on two workers relative to one pass over the rows."""
    X, y = train
    paths = []
    for n, some in enumerate(np.array_split(np.arange(len(y)), 8)):
        paths.append(str(folder / f"{n}.npz"))
        np.savez(paths[-1], X=X[some], y=y[some])
    result = run(paths, How(version=__version__, recipe=recipe), client=client)
    assert result.learner.rows_seen == len(y)
    assert result.chains == 2
    whole = Learner(recipe)
    whole.learn(X, y)
    ours, theirs = (
        get_loss(recipe.loss).value(one.model().scores(test[0])[:, 0], test[1]).mean()
        for one in (result.learner, whole)
    )
    print(f"{recipe.loss}, {recipe.recipe}: {ours:.6f} over {theirs:.6f} is {ours / theirs:.5f}")
    return float(ours / theirs)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["auto", "paper"])
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
class TestWithinHalfAPercent:
    @pytest.mark.skipif("POLYAK_DATA" not in os.environ, reason="needs the real sets")
    def test_covtype(self, client: Client, tmp_path: Path, loss: str, recipe: str) -> None:
        from reproduction.datasets.real import load

        train, test = load("covtype")
        assert ratio(client, tmp_path, Recipe(loss=loss, recipe=recipe), train, test) < 1.005

    def test_made_rows(self, client: Client, tmp_path: Path, loss: str, recipe: str) -> None:
        X, y = rows(600_000, 0)
        X = X.astype(np.float32)
        train, test = (X[:400_000], y[:400_000]), (X[400_000:], y[400_000:])
        assert ratio(client, tmp_path, Recipe(loss=loss, recipe=recipe), train, test) < 1.005

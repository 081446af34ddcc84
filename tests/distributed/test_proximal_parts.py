"""Weights that are zero, learned by two workers from wide rows: what they know adds up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from distributed import Client
from polyak import __version__
from polyak.distributed.dask.run import run
from polyak.distributed.tasks import How
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

ALPHA, FEATURES = 0.003, 3000


@pytest.mark.slow
def test_two_workers_find_nearly_what_one_pass_does(client: Client, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(12_000, FEATURES, 0.01, "csr", random_state=0)
    often = sparse.random(12_000, 20, 0.3, "csr", random_state=1)
    X = sparse.hstack([often, X]).tocsr()
    y = np.where(
        X[:, :20] @ np.where(np.arange(20) % 2, 2.0, -2.0) + rng.normal(size=12_000) > 0, 1, -1
    )
    paths = []
    for n, some in enumerate(np.array_split(np.arange(len(y)), 4)):
        paths.append(str(tmp_path / f"{n}.npz"))
        own = X[some]
        np.savez(
            paths[-1],
            data=own.data,
            indices=own.indices,
            indptr=own.indptr,
            shape=own.shape,
            y=y[some],
        )
    recipe = Recipe(loss="log_loss", recipe="auto", penalty="l1", alpha=ALPHA)
    parts = run(paths, How(version=__version__, recipe=recipe), client=client).learner
    whole = Learner(recipe)
    whole.learn(X, y)
    found = []
    for one in (parts, whole):
        assert one.rows_seen == len(y)
        model = one.model()
        w = np.ravel(model.weights)
        assert model.report is not None
        assert model.report.winner.method == "proximal"
        assert 0 < np.count_nonzero(w) < 200
        lost = np.logaddexp(0.0, -y * model.scores(X)[:, 0]).mean()
        found.append(lost + ALPHA * np.abs(w).sum())
    assert found[0] < 1.02 * found[1]

"""Tensors of torch are learned and scored where they are, as arrays are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, ASGDRegressor

torch = pytest.importorskip("torch")

ROWS, WIDTH, CLASSES = 1500, 300, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS + 500, WIDTH)).astype(np.float32)
Y = (X[:, :CLASSES] + 0.5 * RNG.normal(size=(ROWS + 500, CLASSES))).argmax(axis=1)


def probe(**settings: Any) -> ASGDClassifier:
    """Return a classifier of the dense lane."""
    return ASGDClassifier(loss="log_loss", random_state=0, **settings)


def loss_on(model: ASGDClassifier, rows: Any) -> float:
    """Return the loss on rows that were not learned."""
    return float(log_loss(Y[ROWS:], model.predict_proba(rows[ROWS:])))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_they_lead_to_the_model_of_the_array(dtype: str) -> None:
    rows = torch.tensor(X).to(getattr(torch, dtype))
    ours = probe().fit(rows[:ROWS], torch.tensor(Y[:ROWS]))
    theirs = probe().fit(X[:ROWS], Y[:ROWS])
    assert ours.method_ == theirs.method_ == "dense"
    rounding = 1e-4 if dtype == "float32" else 1e-2
    assert loss_on(ours, rows) == pytest.approx(loss_on(theirs, X), rel=rounding)


def test_they_come_in_batches() -> None:
    rows = torch.tensor(X)
    streamed, whole = probe(), probe()
    for begin in range(0, ROWS, 400):
        some = slice(begin, min(begin + 400, ROWS))
        streamed.partial_fit(rows[some], torch.tensor(Y[some]), classes=np.arange(CLASSES))
        whole.partial_fit(X[some], Y[some], classes=np.arange(CLASSES))
    assert loss_on(streamed, rows) == pytest.approx(loss_on(whole, X), rel=1e-4)


def test_labels_and_targets() -> None:
    labels = (np.arange(CLASSES) == Y[:, None]).astype(np.int64)
    wide = np.hstack([X, X, X, X])  # too wide for Newton steps
    many = probe().fit(torch.tensor(wide[:ROWS]), torch.tensor(labels[:ROWS]))
    assert many.method_ == "dense"
    assert (many.predict(torch.tensor(wide[ROWS:])) == labels[ROWS:]).mean() > 0.8
    goals = torch.tensor(labels[:ROWS].astype(np.float32))
    numbers = ASGDRegressor(random_state=0).fit(torch.tensor(wide[:ROWS]), goals)
    assert numbers.method_ == "dense"
    assert numbers.score(torch.tensor(wide[ROWS:]), labels[ROWS:]) > 0.2


def test_narrow_rows_are_learned_by_other_lanes() -> None:
    model = ASGDClassifier(random_state=0).fit(torch.tensor(X[:, :20]), torch.tensor(Y))
    assert model.method_ == "newton"


def test_a_value_that_is_not_finite_is_named() -> None:
    rows = torch.tensor(X)
    rows[17, 5] = float("nan")
    with pytest.raises(ValueError, match="row 17 has the value nan for feature 5"):
        probe().fit(rows, Y)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_devices_agree() -> None:
    there = probe().fit(torch.tensor(X[:ROWS]).cuda(), torch.tensor(Y[:ROWS]).cuda())
    here = probe().fit(X[:ROWS], Y[:ROWS])
    assert loss_on(there, torch.tensor(X).cuda()) == pytest.approx(loss_on(here, X), rel=1e-4)

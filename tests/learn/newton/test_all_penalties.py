"""Penalties beside the leading one share its Hessian: what they leave undone is next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.newton.block.algebra import forms, grams
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.step import NEIGHBOURS, QuadraticSummary, learn_block
from polyak.learn.newton.softmax import blocks_of
from polyak.losses import get_loss

PENALTIES = np.array([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0])
LEAD = 2


def rows_of(loss, n=600, columns=8, classes=4):
    """Make rows with a constant first, and targets with a column for each class there is."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, columns))
    Z[:, 0] = 1.0
    scores = 0.5 * Z @ rng.normal(size=(columns, classes))
    own = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    if loss == "softmax":
        return Z, np.where(own[:, None] == np.arange(classes), 1.0, -1.0)
    if loss == "log_loss":
        return Z, np.where(own < 2, 1.0, -1.0)[:, None]
    return Z, rng.poisson(np.exp(0.3 * scores[:, :1])).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["log_loss", "softmax", "poisson"])
def test_neither_the_leading_one_nor_a_heavier_one_has_much_to_gain(loss, weighted):
    Z, targets = rows_of(loss)
    weights = np.random.default_rng(1).integers(1, 4, len(Z)).astype(float) if weighted else None
    own = get_loss("log_loss" if loss == "softmax" else loss)
    (block,) = blocks_of(Z, targets, weights, None, 1, together=loss == "softmax")
    outputs = targets.shape[1] - 1 if loss == "softmax" else 1
    shrink = np.tile(np.r_[1e-8, np.ones(Z.shape[1] - 1)], outputs)[:, None] * PENALTIES
    nothing = np.zeros_like(shrink)
    past = QuadraticSummary(None, nothing, nothing)
    found = learn_block(own, block, past, Ridge(shrink), LEAD, len(Z), tolerance=1e-7)
    for place in range(LEAD, len(PENALTIES)):
        w = found.W[:, [place]]
        scores, values, gradient = block.look_at(own, w)
        np.testing.assert_allclose(found.P[:, [place]], gradient, atol=1e-6)
        hessian = block.hessian(own, scores[..., 0], safe=False) + np.diag(shrink[:, place])
        slope = (gradient + shrink[:, [place]] * w)[:, 0]
        gain = 0.5 * slope @ np.linalg.solve(hessian, slope)
        assert gain <= 2.0 * (NEIGHBOURS if place > LEAD else 1e-7) * values[0]


@pytest.mark.parametrize("outputs", [1, 3, 40])  # few of them one by one, many together
def test_matrices_of_many_outputs_are_those_of_each(outputs):
    rng = np.random.default_rng(0)
    Z, H = rng.normal(size=(300, 12)), rng.random((300, outputs))
    each = np.stack([((Z.T * h) @ Z).ravel() for h in H.T])
    np.testing.assert_allclose(grams(Z, H), each, atol=1e-11)
    matrices = rng.normal(size=(outputs, 12, 12))  # not symmetric
    np.testing.assert_allclose(
        forms(Z, matrices), np.einsum("ni,kij,nj->nk", Z, matrices, Z), atol=1e-11
    )

"""What is known of classes that are learned together, once there is one more."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.newton.information import Information
from polyak.learn.newton.softmax import ClassesBlock, basis, of_classes
from polyak.learn.race.lanes.newton_output import with_one_class_more
from polyak.losses.softmax import softmax

COLUMNS, ROWS, CHANCE = 4, 500, 1e-3


def known_of(classes: int) -> tuple[Information, np.ndarray]:
    """Know what rows tell at some weights, a single penalty's."""
    rng = np.random.default_rng(classes)
    Z = np.column_stack([np.ones(ROWS), rng.normal(size=(ROWS, COLUMNS - 1))])
    V = rng.normal(size=(COLUMNS, 1, classes - 1))
    own = rng.integers(classes, size=ROWS)
    block = ClassesBlock(Z, np.where(own[:, None] == np.arange(classes), 1.0, -1.0), None)
    scores = Z @ of_classes(V)[:, 0]
    _, slopes = block.losses("log_loss", scores[..., None])
    P = block.gradient(slopes).reshape(classes - 1, COLUMNS, 1).transpose(1, 2, 0)
    G = block.hessian("log_loss", scores, safe=False)
    return Information(False, V, P, [G], [], True), Z


@pytest.mark.parametrize(("classes", "place"), [(2, 0), (3, 1), (4, 4)])
def test_the_others_keep_their_odds(classes: int, place: int) -> None:
    known, Z = known_of(classes)
    more = with_one_class_more(known, place, CHANCE, ROWS, fit_intercept=True)
    before, after = (softmax(Z @ of_classes(one.W)[:, 0]) for one in (known, more))
    others = np.delete(after, place, axis=1)
    np.testing.assert_allclose(others / others.sum(axis=1, keepdims=True), before, rtol=1e-9)
    assert (after[:, place] < 0.05).all()


@pytest.mark.parametrize(("classes", "place"), [(2, 0), (3, 1), (4, 4)])
def test_what_is_known_of_the_others_stays(classes: int, place: int) -> None:
    known, _ = known_of(classes)
    more = with_one_class_more(known, place, CHANCE, ROWS, fit_intercept=True)
    np.testing.assert_array_equal(more.G[0].shape, 2 * (classes * COLUMNS,))
    assert np.linalg.eigvalsh(more.G[0]).min() > 0  # the new class counts a little, too
    # A move of the others' weights alone, in either's coordinates, costs and pulls the same.
    move = np.random.default_rng(0).normal(size=(COLUMNS, classes - 1))
    full = np.insert(of_classes(move), place, 0.0, axis=1) @ basis(classes + 1)
    small, large = (array.T.reshape(-1) for array in (move, full))
    cost, more_cost = small @ known.G[0] @ small, large @ more.G[0] @ large
    pull, more_pull = (known.P[:, 0] * move).sum(), (more.P[:, 0] * full).sum()
    gram = ROWS * CHANCE * 10
    assert cost <= more_cost <= cost + gram * (small @ small)
    assert abs(more_pull - pull) < gram * np.abs(full).sum()

"""The learner: states are copies, rows learned again are not scored, and labels of any type."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.errors import DataError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.rows.label_text import label_text

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3))
Y = np.where(X[:, 0] + RNG.logistic(size=3000) > 0, 1.0, -1.0)


def test_a_state_is_a_copy() -> None:
    learner = Learner(Recipe(loss="squared_hinge", recipe="paper"))
    learner.learn(X[:2000], Y[:2000])
    _, arrays = learner.state()
    before = {name: array.copy() for name, array in arrays.items()}
    learner.learn(X[2000:], Y[2000:])
    assert all(np.array_equal(before[name], arrays[name], equal_nan=True) for name in before)


@pytest.mark.parametrize("recipe", ["paper", "auto"])
def test_rows_learned_again_are_not_scored(recipe: str) -> None:
    learner = Learner(Recipe(recipe=recipe, loss="squared_hinge"))
    learner.learn(X, Y)
    before = learner.report()
    for _ in range(3):
        learner.learn(X, Y, again=True)
    after = learner.report()
    assert after.rows == 4 * before.rows
    for name in ("progressive_loss", "progressive_error", "recent", "candidates"):
        assert getattr(after, name) == getattr(before, name)


@pytest.mark.parametrize("classes", [[-1.0, 1.0], [1.0, -1.0], [0, 1], [2, 7]])
@pytest.mark.parametrize("dtype", [float, int, np.float32])
def test_two_classes_are_told_apart_in_any_order_and_type(classes, dtype):
    which = (X[:, 0] > 0).astype(int)
    labels = np.array(classes, dtype=dtype)[which]
    learner = Learner(Recipe(loss="squared_hinge", recipe="paper"), classes=np.array(classes))
    learner.learn(X, labels)
    as_words = Learner(
        Recipe(loss="squared_hinge", recipe="paper"), classes=np.array(["first", "second"])
    )
    as_words.learn(X, np.array(["first", "second"])[which])
    np.testing.assert_array_equal(learner.model().weights, as_words.model().weights)
    for stranger in (3, np.nan) if dtype is not int else (3,):
        labels[5] = stranger
        known = ", ".join(label_text(label) for label in np.array(classes))
        named = label_text(labels[5])
        with pytest.raises(DataError, match=rf"^row 5 has the label {named}, .* among {known}$"):
            learner.learn(X, labels)

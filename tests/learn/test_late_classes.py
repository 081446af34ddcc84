"""Classes that first come up after the first thousand rows join as if they had been known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from polyak.errors import DataError, RowError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.model.evaluation import Evaluation
from polyak.rows.sparse import SparseRows, as_rows

pytestmark = pytest.mark.filterwarnings("ignore:the class")

ROWS, TEST = 12_000, 4000


def problem(seed: int, classes: int, late: int, since: int = 4000) -> tuple[Any, Any, Any, Any]:
    """Make rows of several classes, one of which comes up only since some row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS + TEST, 8))
    scores = X @ rng.normal(size=(8, classes)) + rng.gumbel(size=(ROWS + TEST, classes))
    y = np.argmax(scores, axis=1)
    kept = (np.arange(len(y)) >= since) | (y != late)
    X, y = X[kept], y[kept]
    return X[:-TEST], y[:-TEST], X[-TEST:], y[-TEST:]


def learned(X: Any, y: NDArray[Any], batch: int, **options: Any) -> Learner:
    recipe = options.pop("recipe", Recipe(loss="log_loss", recipe="auto"))
    learner = Learner(recipe, **options)
    for begin in range(0, len(y), batch):
        learner.learn(X[begin : begin + batch], y[begin : begin + batch])
    return learner


def measured(learner: Learner, X: Any, y: NDArray[Any]) -> tuple[float, float]:
    evaluation = Evaluation(learner.model())
    evaluation.add(X, y, None)
    report = evaluation.report()
    return report["loss"], report["accuracy"]


def same_bits(some: Learner, other: Learner) -> None:
    page, arrays = some.state()
    other_page, other_arrays = other.state()
    assert page == other_page
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


@pytest.mark.parametrize(
    ("classes", "late", "how", "loss"),
    [
        (3, 0, "auto", "log_loss"),
        (4, 3, "auto", "squared_hinge"),
        (3, 1, "sgd", "hinge"),
        (3, 2, "sgd", "log_loss"),
        (4, 3, "paper", "log_loss"),
    ],
)
def test_a_late_class_does_as_well_as_one_that_was_known(
    classes: int, how: str, loss: str, late: int
) -> None:
    X, y, X_test, y_test = problem(late, classes, late)
    recipe = Recipe(loss=loss, recipe=how)
    joined = learned(X, y, 3000, recipe=recipe)
    known = learned(X, y, 3000, recipe=recipe, classes=np.arange(classes))
    np.testing.assert_array_equal(joined.model().classes, np.arange(classes))
    (lost, right), (least, best) = (measured(one, X_test, y_test) for one in (joined, known))
    # Who dropped out of the race while classes were fewer does not come back: where averaged SGD
    # learns them together, with another rate.
    most = 1.01 if how == "paper" else 1.006 if loss == "log_loss" else 1.003
    assert lost < most * least
    assert right > best - 0.006
    if how != "paper":  # whose rate is too low to forget soon what a class does at first
        for name in ("loss", "constant_loss"):
            assert joined.recent()[name] == pytest.approx(known.recent()[name], rel=0.01)


def test_what_is_said_of_it_counts_rows_whatever_the_batches() -> None:
    X, y, *_ = problem(5, 3, 2, since=2000)
    row = int(np.argmax(y == 2)) + 1
    for batch in (777, 5000):
        with pytest.warns(UserWarning, match=rf"the class 2 first comes up in row {row:,}: "):
            learned(X[:5000], y[:5000], batch)


def test_after_an_error_it_is_as_before_the_batch() -> None:
    X, y, *_ = problem(7, 3, 2, since=2000)
    learner = learned(X[:2000], y[:2000], 500)
    before = Learner.from_state(*learner.state())
    bad = X[2000:4000].copy()
    bad[-1, 3] = np.nan
    with pytest.raises(ValueError, match="row 1999 has the value nan for feature 3"):
        learner.learn(bad, y[2000:4000])
    same_bits(learner, before)
    with pytest.raises(RowError, match="row 1 has the label nan, which is not among 0, 1"):
        learner.learn(X[:2], np.array([0.0, np.nan]))
    with pytest.raises(RowError, match="row 0 has the label two, which is not among 0, 1"):
        learner.learn(X[:1], np.array(["two"]))
    same_bits(learner, before)


def test_classes_that_were_given_stay_as_they_are() -> None:
    X, y, *_ = problem(8, 3, 2, since=2000)
    learner = Learner(Recipe(loss="log_loss", recipe="paper"), classes=np.array([0, 1]))
    with pytest.raises(RowError, match="has the label 2, which is not among 0, 1"):
        learner.learn(X, y)


@pytest.mark.slow
def test_newton_steps_leave_where_their_matrices_find_no_more_room() -> None:
    rng = np.random.default_rng(9)
    X = (rng.random(size=(4000, 800)) < 0.01).astype(float)
    y = (X[:, :50].sum(axis=1) > 0.5).astype(int)
    y[3000::5] = 2
    learner = learned(_sparse(X[:3000]), y[:3000], 1000)
    assert learner.race is not None
    assert learner.race.running != learner.race.running_sgd
    learner.learn(_sparse(X[3000:]), y[3000:])
    assert set(learner.race.running) <= {*learner.race.running_sgd, learner.race.constant}
    assert learner.model().weights.shape[1] == 3


def test_learners_that_know_different_classes_are_not_merged() -> None:
    X, y, *_ = problem(10, 3, 2, since=3500)
    some, others = learned(X[:2000], y[:2000], 2000), learned(X[:5000], y[:5000], 2000)
    with pytest.raises(DataError, match="the learners know different classes; give them all"):
        some.merge([others])


def _sparse(X: NDArray[Any]) -> SparseRows:
    from scipy.sparse import csr_matrix

    rows = as_rows(csr_matrix(X))
    assert isinstance(rows, SparseRows)
    return rows


@pytest.mark.parametrize("how", ["auto", "sgd"])
@pytest.mark.parametrize("far", [0.0, 2000.0])
def test_declared_classes_without_a_row_share_the_chance_of_one(how: str, far: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 4)), rng.integers(0, 2, 1500)
    X[:, 0] += y
    names = np.array(["no", "yes"])[y]
    recipe, declared = (
        Recipe(loss="log_loss", recipe=how),
        np.array(["later", "never", "no", "yes"]),
    )
    learner = learned(X + far, names, 500, recipe=recipe, classes=declared)
    chances = learner.model().predict_proba(X + far)
    np.testing.assert_allclose(chances[:, :2].mean(axis=0), 0.5 / 1500, rtol=0.3)
    alone = learned(X + far, names, 500, recipe=recipe).model().predict_proba(X + far)
    assert abs(np.log(chances[:, 3] / alone[:, 1])).mean() < 0.05

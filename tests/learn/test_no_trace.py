"""Batches, checkpoints, threads and orders leave no trace in a learner, to the last bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

ROWS = 9000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 8)) * (RNG.random((ROWS, 8)) < 0.5)
X[:, 0] += 3.0  # which averaged SGD centres
SCORES = X @ RNG.normal(size=(8, 10)) + RNG.logistic(size=(ROWS, 10))
SIGNS = np.where(SCORES[:, 0] > 0, 1.0, -1.0)
CLASSES = SCORES[:, :3].argmax(axis=1)
EARLY = np.where((np.arange(ROWS) < 2500) & (CLASSES == 2), 1, CLASSES)
NOISE = RNG.permutation(SIGNS)
SEVERAL = np.array(["no", "perhaps", "yes"])[CLASSES]


def numbers(loss: str) -> Any:
    """Draw targets such as the loss is for."""
    rng = np.random.default_rng(1)
    means = X @ np.linspace(-0.3, 0.3, 8) + 1.0
    if get_loss(loss).log_link:
        return rng.poisson(np.exp(means)) + float(loss == "gamma")
    return means + 0.3 * rng.standard_t(3, size=ROWS)


LOSSES = ["huber", "huber(0.5)", "quantile(0.1,0.9)", "epsilon_insensitive", "poisson", "gamma"]
KINDS: dict[str, tuple[Recipe, Any]] = {
    "paper": (Recipe("squared_hinge", "paper"), SIGNS),
    "several outputs": (Recipe("squared_error", "paper", average=100), SCORES[:, :2]),
    "preconditioned": (Recipe("hinge", "paper", precondition=0.5, step="implicit"), SIGNS),
    "averaged SGD": (Recipe("squared_hinge", "sgd"), SIGNS),
    "softmax by averaged SGD": (Recipe("log_loss", "sgd"), SCORES.argmax(axis=1)),
    "replicas": (Recipe("log_loss", "sgd", intervals=True), SIGNS),
    "odds": (Recipe("log_loss", "auto"), SIGNS),
    "softmax": (Recipe("log_loss", "auto"), SEVERAL),
    "margins": (Recipe("squared_hinge", "auto"), SEVERAL),
    "hinge": (Recipe("hinge", "auto"), CLASSES),
    "intervals": (Recipe("log_loss", "auto", intervals=True), SIGNS),
    "L1": (Recipe("log_loss", "auto", penalty="l1", positive=True), SIGNS),
    "noise": (Recipe("log_loss", "sgd"), NOISE),
    "a late class": (Recipe("log_loss", "auto"), EARLY),
    "a late class of hinge": (Recipe("hinge", "auto", intervals=True), EARLY),
    **{loss: (Recipe(loss, "auto"), numbers(loss)) for loss in ["squared_error", *LOSSES]},
}


def resumed(learner: Learner) -> Learner:
    """Return the learner of a checkpoint, whose page is JSON."""
    page, arrays = learner.state()
    return Learner.from_state(json.loads(json.dumps(page, allow_nan=False)), arrays)


def assert_same(one: Learner, other: Learner) -> None:
    (page, arrays), (other_page, other_arrays) = one.state(), other.state()
    assert json.dumps(page) == json.dumps(other_page)
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)
    first, second = one.model(), other.model()
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.intercept, second.intercept)
    np.testing.assert_array_equal(first.sigmoids, second.sigmoids)
    assert first.report == second.report


@pytest.mark.filterwarnings("ignore:the class", "ignore:the model loses")
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=1)
def test_no_trace_is_left(kind: str, data: Any) -> None:
    recipe, y = KINDS[kind]
    size = data.draw(st.sampled_from([ROWS, 4500, 1001, 1000, 400]), label="rows")
    form = data.draw(st.sampled_from(["dense", "float32", "sparse"]), label="form")
    rows: Any = {"dense": X, "float32": X.astype(np.float32), "sparse": sparse.csr_array(X)}[form]
    weighted = data.draw(st.booleans(), label="weighted")
    weights = np.random.default_rng(2).integers(0, 3, ROWS) + 0.1 if weighted else None
    order = np.arange(size)
    if data.draw(st.booleans(), label="in an order") and "late" not in kind:
        order = np.random.default_rng(3).permutation(ROWS)[:size]
    whole, parts = (Learner(recipe, outputs=y[0].size) for _ in range(2))
    whole.learn(rows[order], y[order], None if weights is None else weights[order])
    parts.threads = data.draw(st.sampled_from([1, 2]), label="threads")
    # The simplest example, which is always tried, is cut in the midst of the rows.
    place = st.integers(0, size - 1).map(lambda n: (n + 2 * size // 3) % size)
    cuts = data.draw(st.lists(place, min_size=2, max_size=5, unique=True), label="cuts")
    for part in np.split(order, sorted(cuts)):
        parts.learn(rows, y, weights, order=part)
        if data.draw(st.sampled_from([True, False]), label="stored"):
            parts = resumed(parts)
    assert_same(whole, parts)

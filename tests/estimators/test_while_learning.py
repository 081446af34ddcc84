"""Serving while learning: what one thread reads is as of the end of some batch of another's."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from polyak import ASGDClassifier, ASGDRegressor

FEATURES, ROWS, BATCHES = 20, 300, 6
READERS = 2


@pytest.fixture(autouse=True)
def many_turns() -> Iterator[None]:
    """Let threads take turns often, so that they meet in the middle of things."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(interval)


def problem(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS * BATCHES, FEATURES)).astype(np.float32)
    score = X @ rng.normal(size=FEATURES)
    return X, score if kind == "regressor" else (score > 0).astype(int) + (score > 5)


def batches(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    yield from ((X[i : i + ROWS], y[i : i + ROWS]) for i in range(0, len(X), ROWS))


def make(kind: str) -> Any:
    if kind == "regressor":
        return ASGDRegressor(random_state=0)
    return ASGDClassifier(random_state=0, loss="squared_hinge")


def learned(estimator: Any, X: Any, y: Any) -> Any:
    more = {"classes": np.unique(y)} if isinstance(estimator, ASGDClassifier) else {}
    return estimator.partial_fit(X, y, **more)


@contextmanager
def reading(read: Callable[[], None]) -> Iterator[None]:
    """Let several threads read, at least once each, for as long as the block runs."""
    errors: list[BaseException] = []
    over = threading.Event()

    def go_on() -> None:
        try:
            read()
            while not over.is_set():
                read()
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=go_on) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        over.set()
        for reader in readers:
            reader.join()
    if errors:
        raise errors[0]


READ: dict[str, Callable[[Any, Any, Any], Any]] = {
    "predict": lambda estimator, X, y: estimator.predict(X[:20]),
    "score": lambda estimator, X, y: estimator.score(X[:200], y[:200]),
    "coef_": lambda estimator, X, y: estimator.coef_,
    "last_coef_": lambda estimator, X, y: estimator.last_coef_,
    "progressive_loss_": lambda estimator, X, y: estimator.progressive_loss_,
    "progressive_score_": lambda estimator, X, y: estimator.progressive_score_,
    "best_candidate_": lambda estimator, X, y: estimator.best_candidate_["progressive_loss"],
    "pickle": lambda estimator, X, y: pickle.loads(pickle.dumps(estimator)).coef_,
    "deepcopy": lambda estimator, X, y: copy.deepcopy(estimator).coef_,
}


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_reading_an_estimator_while_it_learns(kind: str) -> None:
    X, y = problem(kind)
    alone, after_each = make(kind), {what: [] for what in READ}
    for batch in batches(X, y):
        learned(alone, *batch)
        for what, read in READ.items():
            after_each[what].append(np.asarray(read(alone, X, y)))
    estimator = make(kind)
    first, *rest = batches(X, y)
    learned(estimator, *first)

    def check() -> None:
        for what, read in READ.items():
            seen = np.asarray(read(estimator, X, y))
            assert any(np.array_equal(seen, one) for one in after_each[what]), (
                f"{what} is not that of the end of a batch"
            )

    with reading(check):
        for batch in rest:
            learned(estimator, *batch)
    # And no outdated model has been cached.
    for what, read in READ.items():
        np.testing.assert_array_equal(read(estimator, X, y), after_each[what][-1])


def test_several_threads_learn() -> None:
    """In an unknown order, but each batch as a whole."""
    X, y = problem("classifier")
    estimator = make("classifier")
    first, *rest = batches(X, y)
    learned(estimator, *first)

    def learn(mine: list[Any]) -> None:
        for batch in mine:
            learned(estimator, *batch)

    threads = [threading.Thread(target=learn, args=(rest[n::4],)) for n in range(4)]
    with reading(lambda: estimator.predict_proba(X[:20])):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert estimator.t_ == len(X) + 1
    assert estimator.score(X, y) > 0.8


def test_weights_are_as_many_as_features_before_any_row_has_the_last_ones():
    X = csr_array(np.eye(60)[:5])  # so few that the constant leads
    model = ASGDClassifier(recipe="sgd").partial_fit(X, [0, 1, 0, 1, 1], classes=[0, 1])
    assert model.method_ == "constant"
    assert model.coef_.shape == (1, 60)

"""Stops: what the models' numbers were on the way, from one call."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial

STOPS = np.array([0, 1, 2, 7, 40, 40, 100])


def make_bank(**more):
    return Bank(loss="log_loss", alpha=[1e-3, 1e-2], schedule=Polynomial(0.1, 0.01, 0.75), **more)


def problem(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 6)) * (rng.random((100, 6)) < 0.5)
    y = np.where(rng.random(100) < 0.5, 1.0, -1.0)
    if kind == "narrow":
        X = scipy.sparse.csr_matrix(X)
    if kind == "wide":
        X = scipy.sparse.csr_matrix(X)
        X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return X, y, rng.random(100), rng.permutation(100)


@pytest.mark.parametrize("kind", ["dense", "narrow", "wide"])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("precondition", [0.0, 0.5])
def test_notes_are_what_shorter_calls_would_have_left(kind, ordered, precondition):
    X, y, weights, order = problem(kind)
    whole, parts = make_bank(precondition=precondition), make_bank(precondition=precondition)
    scores, part_scores = np.empty((100, 2)), np.empty((100, 2))
    turns = order if ordered else np.arange(100)
    notes = whole.learn(
        X, y, weights, order=order if ordered else None, scores=scores, stops=STOPS[:-1]
    )
    done = 0
    for stop, note in zip(STOPS, [*notes, None], strict=True):
        if stop > done:
            some = slice(done, int(stop))
            parts.learn(X, y, weights, order=turns[some], scores=part_scores[some])
            done = int(stop)
        if note is not None:
            np.testing.assert_array_equal(note, parts.fields())
            parts.reset_progressive_sums()
    np.testing.assert_array_equal(whole.fields(), parts.fields())
    np.testing.assert_array_equal(whole.coef, parts.coef)
    np.testing.assert_array_equal(scores, part_scores)


@pytest.mark.parametrize("stops", [[-1], [3, 2], [101]])
def test_stops_that_are_no_places_are_refused(stops):
    X, y, *_ = problem("dense")
    bank = make_bank()
    with pytest.raises(ValueError, match=r"cannot stop at row -?\d+ of 100"):
        bank.learn(X, y, stops=np.array(stops))
    assert bank.clock == 0


@pytest.mark.parametrize("kind", ["dense", "narrow"])
def test_a_bad_row_behind_a_stop_leaves_the_bank_as_it_was(kind):
    X, y, *_ = problem(kind)
    bank = make_bank()
    bank.learn(X, y)
    before = bank.state()
    if kind == "dense":
        X[60, 2] = np.nan
    else:
        X.data[X.indptr[60]] = np.nan
    with pytest.raises(ValueError, match=r"row 60 has the value nan for feature \d"):
        bank.learn(X, y, stops=STOPS)
    after = bank.state()
    for name in ("lines", "models", "clock"):
        np.testing.assert_array_equal(after[name], before[name])


def test_overflow_names_the_row_of_the_call():
    X = np.full((50, 1), 1.0)
    X[30] = 1e200
    bank = Bank(
        loss="squared_error",
        alpha=0.0,
        schedule=Polynomial(1e200, 0.0, 0.0),
        capped=False,
        fit_intercept=False,
    )
    y = np.zeros(50)
    y[29] = 1.0
    with pytest.raises(ArithmeticError, match="at row 30"):
        bank.learn(X, y, stops=np.array([5, 20]))

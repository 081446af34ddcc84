"""How rows are cut into batches changes nothing, to the last bit."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import LOSSES, Polynomial, make_bank, same_bits, same_number_bits, stored, targets_for

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank

ALPHAS = [1e-2, 0.3, 0.0, 1e-3]
RATES = [Polynomial(g, 0.01, 0.75) for g in (0.05, 0.2, 0.5, 1.0)]


@st.composite
def problems(draw):
    """Rows of any shape, empty ones among them, and a bank to learn them with."""
    n_rows, n_features = draw(st.integers(1, 300)), draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    X[rng.random(n_rows) < 0.2] = 0.0
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    storage = draw(st.sampled_from(["sparse", "dense"]))
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=n_rows) if draw(st.booleans()) else None
    loss = draw(st.sampled_from(LOSSES))
    models = draw(st.integers(1, 4))
    options = {
        "loss": loss,
        "alpha": ALPHAS[:models],
        "schedule": RATES[:models],
        "step": draw(st.sampled_from(["explicit", "implicit"])),
        "precondition": draw(st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0])),
        "averaging": Averaging(
            draw(st.sampled_from(["auto", 0, 20])), draw(st.sampled_from([0, 3]))
        ),
        "replicas": draw(st.sampled_from([-1, 0, 70])),
        "n_features": n_features,
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }
    y = targets_for(loss, rng.normal(size=n_rows))
    return stored(X.astype(dtype), storage), y, weights, options


def learned(options, X, y, weights=None, cuts=(), **more) -> Bank:
    bank = make_bank(**options)
    ends = [0, *sorted(cuts), len(y)]
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            w = None if weights is None else weights[begin:end]
            bank.learn(X[begin:end], y[begin:end], w, **more)
    return bank


@settings(max_examples=150, deadline=None)
@given(problems(), st.data())
def test_any_split_into_batches_gives_the_same_bits(problem, data):
    X, y, weights, options = problem
    cuts = data.draw(st.lists(st.integers(0, len(y)), max_size=12))
    whole = learned(options, X, y, weights)
    split = learned(options, X, y, weights, cuts)
    assert same_bits(whole, split)
    assert same_number_bits(whole.coef, split.coef)
    assert same_number_bits(whole.last_coef, split.last_coef)
    assert same_number_bits(whole.progressive_loss, split.progressive_loss)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_row_by_row_gives_the_same_bits(problem):
    X, y, weights, options = problem
    assert same_bits(
        learned(options, X, y, weights), learned(options, X, y, weights, range(len(y)))
    )


@settings(max_examples=60, deadline=None)
@given(problems())
def test_a_row_of_weight_zero_is_a_row_that_was_not_there(problem):
    X, y, weights, options = problem
    weights = np.ones(len(y)) if weights is None else weights
    there = np.flatnonzero(weights)
    bank = learned(options, X, y, weights)
    assert bank.clock == len(there)
    if len(there):
        assert same_bits(bank, learned(options, X[there], y[there], weights[there]))


@settings(max_examples=60, deadline=None)
@given(problems(), st.data())
def test_an_order_is_a_permutation_of_the_rows(problem, data):
    X, y, weights, options = problem
    picks = data.draw(st.lists(st.integers(0, len(y) - 1), min_size=1, max_size=400))
    w = None if weights is None else weights[picks]
    bank = make_bank(**options)
    bank.learn(X, y, weights, order=picks)
    assert same_bits(bank, learned(options, X[picks], y[picks], w))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_scores_are_those_of_the_average_before_each_row(problem):
    X, y, weights, options = problem
    scores = np.full((len(y), len(options["alpha"])), np.nan)
    learned(options, X, y, weights, scores=scores)
    bank = make_bank(**options)
    rounding = 1e-3 if options["dtype"] == np.float32 else 1e-9
    for i in range(0, len(y), 1):
        if weights is not None and weights[i] == 0:
            # Rows of weight zero are not scored.
            assert np.isnan(scores[i]).all()
            continue
        before = bank.decision_function(X[i : i + 1])[0]
        np.testing.assert_allclose(scores[i], before, rtol=rounding, atol=rounding)
        bank.learn(X[i : i + 1], y[i : i + 1], None if weights is None else weights[i : i + 1])

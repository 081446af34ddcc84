"""Too many features: those that most rows have are learned, if they are most of what they have."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, hstack
from simulated import assert_same, solver_of
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.newton.frequent import MOST
from polyak.learn.stored_state import StoredState
from polyak.rows.sparse import as_rows

ROWS, NUMBERS, NAMES = 9000, 12, 6000


def numbers_and_names(loss="squared_error", first_names=NAMES, seed=0):
    """Rows with a few numbers and two of many names each, which say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, NUMBERS))
    name = rng.integers(0, NAMES // 2, (ROWS, 2))
    name[:1000] %= first_names
    name[:, 1] += NAMES // 2
    row = np.repeat(np.arange(ROWS), 2)
    own = csr_matrix((np.ones(2 * ROWS), (row, name.ravel())), shape=(ROWS, NAMES))
    scores = X @ np.linspace(-1, 1, NUMBERS) + 0.5
    noise = rng.normal(size=ROWS)
    y = scores + noise if loss == "squared_error" else np.where(scores + 2 * noise > 0, 1.0, -1.0)
    return hstack([csr_matrix(X), own]).tocsr(), y


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("first_names", [NAMES, 300], ids=["from the first", "from later on"])
def test_neither_batches_nor_stops_leave_a_trace(loss, first_names):
    X, y = numbers_and_names(loss, first_names)
    rows, rng = as_rows(X), np.random.default_rng(1)
    whole, parts, resumed = (solver_of(loss, rows[:1000]) for _ in range(3))
    assert whole.closed == (first_names == NAMES)
    whole.learn(rows, y)
    cuts = [0, *np.sort(rng.integers(0, ROWS, 30)).tolist(), ROWS]
    for begin, end in itertools.pairwise(cuts):
        parts.learn(rows[begin:end], y[begin:end])
        page, arrays = resumed.state()
        resumed = solver_of(loss, rows[:1000])
        resumed.set_state(StoredState(page, arrays))
        resumed.learn(rows[begin:end], y[begin:end])
    assert whole.closed
    assert whole.left is None
    assert len(whole._learned.standard) <= MOST
    assert set(range(NUMBERS)) <= set(whole._learned.standard.features.tolist())
    assert_same(whole, parts)
    assert_same(whole, resumed)


@pytest.mark.parametrize("first_names", [NAMES, 300], ids=["from the first", "from later on"])
def test_squared_error_is_that_of_the_features_alone(first_names):
    X, y = numbers_and_names(first_names=first_names)
    lane = solver_of("squared_error", as_rows(X)[:1000])
    lane.learn(as_rows(X), y)
    features = np.sort(lane._learned.standard.features)
    alone = solver_of("squared_error", as_rows(X[:, features])[:1000])
    alone.learn(as_rows(X[:, features]), y)
    coef, intercept = lane.weights(X.shape[1])
    assert np.count_nonzero(coef[0]) <= len(features)
    # The sizes of columns, by which weights are penalised, are those of other rows.
    np.testing.assert_allclose(coef[:, features], alone.weights()[0], rtol=5e-3, atol=2e-3)
    np.testing.assert_allclose(intercept, alone.weights()[1], rtol=5e-3, atol=2e-3)


def test_parts_add_up_with_the_features_that_all_know():
    X, y = numbers_and_names(first_names=300)
    rows = as_rows(X)
    whole = solver_of("squared_error", rows[:1000])
    whole.learn(rows, y)
    parts = []
    for begin in range(0, ROWS, 3000):
        part = solver_of("squared_error", rows[begin : begin + 1000])
        part.learn(rows[begin : begin + 3000], y[begin : begin + 3000])
        parts.append(part)
    parts[0].merge(parts[1:])
    assert parts[0].closed
    assert parts[0].clock == ROWS
    coef = [lane.weights(X.shape[1])[0][:, :NUMBERS] for lane in (parts[0], whole)]
    np.testing.assert_allclose(*coef, atol=0.02)


def test_words_of_text_are_too_many():
    rng = np.random.default_rng(0)
    chances = 1.0 / np.arange(1, 5001)
    words = rng.choice(5000, size=(2000, 30), p=chances / chances.sum())
    X = csr_matrix((np.ones(words.size), (np.repeat(np.arange(2000), 30), words.ravel())))
    assert solver_of("log_loss", as_rows(X)[:1000]).left == "there are too many features"


def test_two_numbers_beside_a_name():
    """A year and a number say nearly all; each row has a name of its own."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "year": 1990 + np.arange(3000) // 90,
            "x": rng.normal(size=3000),
            "name": [f"person {number}" for number in range(3000)],
        }
    )
    y = 3.0 * (frame["year"] - 2000) + 5.0 * frame["x"] + rng.normal(size=3000)
    held = rng.random(3000) < 0.25
    found = ASGDRegressor(random_state=0).fit(frame[~held], y[~held])
    assert found.score(frame[held], y[held]) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("rows", [600, 2000])
def test_a_column_of_names_does_no_harm(rows):
    """One that is new in every row, and one of a few hundred; as good as the usual pipeline."""
    rng = np.random.default_rng(rows)
    X = rng.normal(50.0, 10.0, size=(2 * rows, 5))
    kinds = rng.choice(["a", "b", "c"], 2 * rows)
    y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 20.0 * (kinds == "b") + rng.normal(0, 20.0, 2 * rows)
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(
        kind=kinds,
        name=[f"person {number}" for number in range(2 * rows)],
        town=[f"town {number}" for number in rng.integers(0, 900, 2 * rows)],
    )
    large = y > np.median(y)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind", "name", "town"]),
        remainder=StandardScaler(),
    )
    peers = RidgeCV(np.logspace(-3, 4, 15)), LogisticRegression(C=0.1, max_iter=500)
    mine = ASGDRegressor(random_state=0), ASGDClassifier(loss="log_loss", random_state=0)
    for target, peer, own in zip((y, large), peers, mine, strict=True):
        best = make_pipeline(encoder, peer).fit(frame[:rows], target[:rows])
        found = own.fit(frame[:rows], target[:rows]).score(frame[rows:], target[rows:])
        assert found > best.score(frame[rows:], target[rows:]) - 0.02


@pytest.mark.parametrize("names", [500, 1500])
def test_names_that_go_on_coming_are_left_out_from_the_first(names):
    """The first rows have few enough features for a matrix; soon they would have too many, or not.

    Intervals are of all weights, so there they are never left out.
    """
    rng = np.random.default_rng(0)
    name = csr_matrix((np.ones(8000), rng.integers(0, names, 8000), np.arange(8001)))
    rows = as_rows(hstack([csr_matrix(rng.normal(size=(8000, NUMBERS))), name]).tocsr())
    lane = solver_of("squared_error", rows[:1000])
    assert lane.closed == (names > 1024)
    assert lane.closed == (len(lane._learned.standard) <= MOST)
    lane.learn(rows, rng.normal(size=8000))
    assert lane.closed == (names > 1024)
    assert set(range(NUMBERS)) <= set(lane._learned.standard.features.tolist())
    assert not solver_of("squared_error", rows[:1000], intervals=True).closed

"""Rows that a parser of ours vouches for, and who may rely on it."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.sparse

from polyak.bank import Bank
from polyak.learner import Learner
from polyak.recipes import Recipe
from polyak.rows import SparseRows
from polyak.schedules import Polynomial
from polyak.streams import open_stream
from polyak.training import Job, train

RECIPE = Recipe(recipe="paper")


def svmlight_lines(rows=3000, features=40):
    """Write rows whose features stand in any order, some empty, some with large ids."""
    rng = np.random.default_rng(5)
    lines = []
    for i in range(rows):
        ids = rng.choice(features, size=rng.integers(0, 8), replace=False) + 1
        if i % 500 == 400:
            ids = np.append(ids, features + i)
        pairs = " ".join(f"{j}:{rng.normal():.4g}" for j in ids)
        lines.append(f"{1 if rng.random() < 0.5 else -1} {pairs}")
    return "\n".join(lines) + "\n"


def vw_lines(rows=3000):
    rng = np.random.default_rng(6)
    words = [f"w{j}" for j in range(300)]
    return "".join(
        f"{1 if rng.random() < 0.5 else -1} |a {' '.join(rng.choice(words, 6))} x:{i % 7}\n"
        for i in range(rows)
    )


@pytest.fixture(params=["svmlight", "vw"])
def text(request):
    return request.param, (svmlight_lines() if request.param == "svmlight" else vw_lines())


def batches(text, **more):
    name, lines = text
    more = {"block_bytes": 1 << 14, "warn_if_sorted": False} | more
    return list(open_stream(io.BytesIO(lines.encode()), format=name, **more))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_parsers_vouch_for_is_true(text, dtype):
    for batch in batches(text, dtype=dtype):
        assert batch.in_order
        rows = batch.rows
        assert np.isfinite(rows.values).all()
        inside = np.ones(len(rows.indices), dtype=bool)
        begins = rows.indptr[:-1]
        inside[begins[begins < len(inside)]] = False  # where a row begins it may fall
        assert (np.diff(rows.indices, prepend=-1)[inside] > 0).all()
        assert rows.indices.min() >= 0
        assert rows.indices.max() < rows.n_features


def test_nobody_else_vouches(text):
    X = scipy.sparse.random(50, 5, 0.5, format="csr")
    y = np.arange(50) % 2
    sources = [(X, y), (X.toarray(), y), (SparseRows(X.indptr, X.indices, X.data, 5), y)]
    for source in sources:
        assert not any(batch.in_order for batch in open_stream(source, warn_if_sorted=False))
    assert not any(batch.in_order for batch in batches(text, shuffle_buffer=100))


def test_relying_on_it_changes_nothing(text, tmp_path):
    name, lines = text
    path = tmp_path / f"rows.{name}"
    path.write_text(lines)
    job = Job(source=str(path), format=name, recipe=RECIPE, block_bytes=1 << 14)
    trained = train(job).model
    learner = Learner(RECIPE)
    for batch in batches(text):
        learner.learn(batch.rows, batch.targets, batch.weights)
    model = learner.model()
    np.testing.assert_array_equal(trained.weights, model.weights)
    np.testing.assert_array_equal(trained.intercept, model.intercept)
    np.testing.assert_array_equal(trained.sigmoids, model.sigmoids)
    assert trained.about["candidates"] == model.about["candidates"]


CHANGES = {
    r"row \d+ has the value nan for feature \d+": lambda rows: rows.values.__setitem__(-1, np.nan),
    r"row \d+ has the negative feature index -5": lambda rows: rows.indices.__setitem__(-1, -5),
    r"row \d+ has the feature index \d+ twice": lambda rows: rows.indices.__setitem__(
        -1, rows.indices[-2]
    ),
}


@pytest.mark.parametrize("message", CHANGES)
def test_a_batch_that_was_changed_is_looked_through_as_ever(message):
    first, *_, last = batches(("vw", vw_lines()), block_bytes=1 << 16)
    learner = Learner(RECIPE)
    learner.learn(first.rows, first.targets)
    before = learner.model().weights
    CHANGES[message](last.rows)
    with pytest.raises(ValueError, match=message):
        learner.learn(last.rows, last.targets, last.weights)
    np.testing.assert_array_equal(learner.model().weights, before)


def test_arrays_are_looked_through_in_training_too():
    X = scipy.sparse.random(3000, 5, 0.5, format="csr", random_state=0)
    y = np.where(np.random.default_rng(0).random(3000) < 0.5, 1, -1)
    X.data[-1] = np.inf
    with pytest.raises(ValueError, match="row 2999: a value is not finite"):
        train(Job(source=(X, y), recipe=RECIPE))


def test_targets_weights_and_offsets_are_checked_even_of_rows_in_order():
    bank = Bank(loss="log_loss", alpha=0.0, schedule=Polynomial(0.1, 0.0, 0.5))
    rows = SparseRows(np.array([0, 1, 2]), np.array([0, 3]), np.ones(2), 4)
    with pytest.raises(ValueError, match=r"row 1 has the target nan"):
        bank.check(rows, [1.0, np.nan], in_order=True)
    with pytest.raises(ValueError, match=r"row 0 has the weight -1"):
        bank.check(rows, [1.0, 1.0], [-1.0, 1.0], in_order=True)
    outside = SparseRows(np.array([0, 1, 9]), rows.indices, rows.values, 4)
    with pytest.raises(ValueError, match="indptr goes from 1 to 9"):
        bank.check(outside, [1.0, 1.0], in_order=True)
    bank.check(rows, [1.0, 1.0], in_order=True)
    assert bank.n_features == 4
    narrow = Bank(loss="log_loss", alpha=0.0, schedule=Polynomial(0.1, 0.0, 0.5), n_features=3)
    with pytest.raises(ValueError, match="cannot hold 4"):
        narrow.check(rows, [1.0, 1.0], in_order=True)


def test_dense_rows_have_no_such_privilege():
    bank = Bank(loss="log_loss", alpha=0.0, schedule=Polynomial(0.1, 0.0, 0.5))
    with pytest.raises(ValueError, match="row 0 has the value nan for feature 1"):
        bank.check(np.array([[1.0, np.nan]]), [1.0], in_order=True)

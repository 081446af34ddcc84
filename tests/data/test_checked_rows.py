"""Rows that a parser of ours vouches for, and who may rely on it."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import scipy.sparse

from polyak._core import CheckedRows
from polyak.data.open import open_stream
from polyak.data.options import ReadOptions
from polyak.learn.bank import Bank
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.schedules import Polynomial
from polyak.rows.sparse import SparseRows
from polyak.training.job import Job
from polyak.training.loop import train

RECIPE = Recipe(recipe="paper", loss="squared_hinge")


def make_bank(**more):
    return Bank(loss="log_loss", alpha=0.0, schedule=Polynomial(0.1, 0.0, 0.5), **more)


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
        rows = batch.rows
        assert isinstance(rows.checked, CheckedRows)
        assert len(rows.checked) == len(rows)
        assert rows.checked.features == rows.indices.max() + 1
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
        for batch in open_stream(source, warn_if_sorted=False):
            assert getattr(batch.rows, "checked", None) is None
    assert all(batch.rows.checked is None for batch in batches(text, shuffle_buffer=100))


def test_relying_on_it_changes_nothing(text, tmp_path):
    name, lines = text
    path = tmp_path / f"rows.{name}"
    path.write_text(lines)
    reading = ReadOptions(format=name, block_bytes=1 << 14)
    job = Job(source=str(path), recipe=RECIPE, reading=reading, order="as-is")
    trained = train(job).model
    learner = Learner(RECIPE)
    for batch in batches(text):
        learner.learn(batch.rows, batch.targets, batch.weights)
    model = learner.model()
    np.testing.assert_array_equal(trained.weights, model.weights)
    np.testing.assert_array_equal(trained.intercept, model.intercept)
    np.testing.assert_array_equal(trained.sigmoids, model.sigmoids)
    assert trained.report.candidates == model.report.candidates


CHANGES = {
    r"row \d+ has the value nan for feature \d+": ("values", lambda rows: np.nan),
    r"row \d+ has the negative feature index -5": ("indices", lambda rows: -5),
    r"row \d+ has the feature index \d+ twice": ("indices", lambda rows: rows.indices[-2]),
}


def changed(rows, message):
    """Copy rows that a parser made, and spoil the last of them."""
    name, value = CHANGES[message]
    arrays = {each: getattr(rows, each).copy() for each in ("indptr", "indices", "values")}
    arrays[name][-1] = value(rows)
    return SparseRows(**arrays, n_features=rows.n_features)


@pytest.mark.parametrize("message", CHANGES)
def test_a_batch_that_was_changed_is_looked_through_as_ever(message):
    first, *_, last = batches(("vw", vw_lines()), block_bytes=1 << 16)
    learner = Learner(RECIPE)
    learner.learn(first.rows, first.targets)
    before = learner.model().weights
    with pytest.raises(ValueError, match=message):
        learner.learn(changed(last.rows, message), last.targets, last.weights)
    np.testing.assert_array_equal(learner.model().weights, before)


def test_nobody_writes_to_what_is_believed(text):
    batch = batches(text)[0]
    for array in (batch.rows.indptr, batch.rows.indices, batch.rows.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            array.view(np.uint8)[0] = 0


def test_what_is_believed_is_what_the_core_holds(text):
    """Arrays passed beside checked rows, and a changed dtype of their views, are ignored."""
    batch = batches(text)[0]
    rows, n = batch.rows, len(batch)
    rows.indices.dtype = np.int16  # of this view of them, and of no other
    wild = np.full(len(rows.values), 2**40)
    claimed = SparseRows(rows.indptr, wild, rows.values, rows.n_features, rows.checked)
    learned = [make_bank(), make_bank()]
    learned[0].learn(claimed, batch.targets)
    learned[1].learn(batches(text)[0].rows, batch.targets)
    np.testing.assert_array_equal(learned[0].coef, learned[1].coef)
    learned[0].learn(claimed[n // 2 :], batch.targets[n // 2 :])
    learned[1].learn(batches(text)[0].rows[n // 2 :], batch.targets[n // 2 :])
    np.testing.assert_array_equal(learned[0].coef, learned[1].coef)


def test_nobody_but_the_core_makes_them(text):
    with pytest.raises(TypeError):
        CheckedRows()
    with pytest.raises(TypeError, match="only the core"):
        CheckedRows(None, None, np.eye(2))
    with pytest.raises(TypeError), pytest.warns(RuntimeWarning, match="uninitialized"):
        make_bank().learn(CheckedRows.__new__(CheckedRows), [1.0])
    rows = batches(text)[0].rows
    for copied in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert copied.checked is None
        np.testing.assert_array_equal(copied.values, rows.values)
    for claim in ({"in_order": True}, {"checked": True}):
        with pytest.raises(TypeError, match="unexpected keyword"):
            Learner(RECIPE).learn(rows, np.ones(len(rows)), **claim)
        with pytest.raises(TypeError, match="unexpected keyword"):
            make_bank().learn(rows, np.ones(len(rows)), **claim)
        with pytest.raises(TypeError, match="unexpected keyword"):
            make_bank().check(rows, np.ones(len(rows)), **claim)


@pytest.mark.parametrize("rising", [True, False])
def test_arrays_that_were_checked_and_then_changed(rising):
    """The indices of arrays that the caller can still change are validated again before use."""
    n = 1000
    indices = np.tile(np.array([0, 1, 2] if rising else [2, 0, 1], np.int32), n)
    indptr, values = np.arange(0, 3 * n + 1, 3), np.ones(3 * n)
    bank, y = make_bank(), np.ones(n)
    rows = bank.check(SparseRows(indptr, indices, values, 3), y)
    assert bank.n_features == 3
    whole = bank.check(rows, y)
    indices[-2] = 2**30
    if not rising:  # the core has taken a copy: what learns from it cannot tell when to look
        bank.learn(whole, y)
        assert bank.clock == n
        return
    with pytest.raises(ValueError, match="row 999 has the feature index"):
        bank.learn(whole, y)
    indices[-2] = 1
    indptr[-1] = 2**50
    with pytest.raises(ValueError, match="indptr goes from"):
        bank.learn(whole, y)


def test_targets_and_weights_are_checked_even_of_rows_that_are_believed():
    rows = next(iter(open_stream(io.BytesIO(b"1 1:1\n1 4:1\n"), format="svmlight"))).rows
    bank = make_bank()
    for learn in (bank.check, bank.learn):
        with pytest.raises(ValueError, match=r"row 1 has the target nan"):
            learn(rows, [1.0, np.nan])
        with pytest.raises(ValueError, match=r"row 0 has the weight -1"):
            learn(rows, [1.0, 1.0], [-1.0, 1.0])
        with pytest.raises(ValueError, match=r"there are 2 rows but 1 targets"):
            learn(rows, [1.0])
        with pytest.raises(ValueError, match="cannot hold 4"):
            getattr(make_bank(n_features=3), learn.__name__)(rows, [1.0, 1.0])
    assert bank.n_features == bank.clock == 0
    bank.check(rows, [1.0, 1.0])
    assert bank.n_features == 4


def test_dense_rows_have_no_such_privilege():
    with pytest.raises(ValueError, match="row 0 has the value nan for feature 1"):
        make_bank().check(np.array([[1.0, np.nan]]), [1.0])
    X = np.ones((10, 3))
    bank = make_bank()
    part = bank.check(X, np.ones(10))[2:8]
    assert len(part) == 6
    X[5] = np.nan
    with pytest.raises(ValueError, match="row 3 has the value nan"):
        bank.learn(part, np.ones(6))

"""The generated documents keep their promises; the real sets have the published shapes."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from reproduction.datasets import load, rcv1_like
from reproduction.datasets.real import _integers


def as_csr(rows):
    return csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def test_generated_rows_are_well_formed():
    rows, y = rcv1_like(6000, 10_000, 50, seed=3)
    X = as_csr(rows)
    assert rows.shape == (6000, 10_000)
    assert (rows.values.dtype, rows.indices.dtype) == (np.float32, np.int32)
    assert X.has_canonical_format  # ascending and distinct within each row
    assert X.getnnz(axis=1).min() >= 1
    assert abs(X.nnz / 6000 - 50) < 2.5
    assert (rows.values > 0).all()
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    assert set(y) == {-1.0, 1.0}
    assert abs(y.mean()) < 0.1


def test_generated_words_follow_zipf():
    rows, _ = rcv1_like(20_000)
    frequency = np.sort(as_csr(rows).getnnz(axis=0))[::-1] / 20_000
    assert 0.2 < frequency[0] < 0.6
    # Far from the head, a word ten times further down is ten times as rare.
    assert 7 < frequency[500:600].mean() / frequency[5000:6000].mean() < 13


def test_a_longer_set_begins_with_a_shorter_one():
    short, y_short = rcv1_like(100, 3000, 20)
    long, y_long = rcv1_like(9000, 3000, 20)
    assert (as_csr(long)[:100] != as_csr(short)).nnz == 0
    np.testing.assert_array_equal(y_long[:100], y_short)


def test_seeds_differ():
    _, y0 = rcv1_like(100, 3000, 20, seed=0)
    _, y1 = rcv1_like(100, 3000, 20, seed=1)
    assert (y0 != y1).any()


def test_there_is_a_linear_truth_to_find():
    rows, y = rcv1_like(60_000, 2000, 70)
    X = as_csr(rows)
    model = SGDClassifier(loss="squared_hinge", alpha=1e-5, average=True, max_iter=1, tol=None)
    error = np.mean(model.fit(X[:50_000], y[:50_000]).predict(X[50_000:]) != y[50_000:])
    assert 0.03 < error < 0.08  # the wrong labels alone make 3%


@pytest.mark.parametrize("wrong", [{"n_rows": 0}, {"nnz": 0}, {"n_features": 100, "nnz": 60}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\d"):
        rcv1_like(**{"n_rows": 10, "n_features": 1000, "nnz": 10, **wrong})


def test_a_missing_file_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"a9a\.train\.svm is absent from .*POLYAK_DATA"):
        load("a9a", tmp_path)
    monkeypatch.delenv("POLYAK_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"covtype\.data is absent from the data folder"):
        load("covtype")


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"'iris'.*a9a"):
        load("iris")


def test_svmlight_sets_have_one_width(tmp_path):
    for part, line in ("train", b"-1 1:1 7:0.5\n+1 2:3\n"), ("test", b"+1 300:2\n"):
        (tmp_path / f"w8a.{part}.svm.gz").write_bytes(gzip.compress(line))
    (X, y), (X_test, y_test) = load("w8a", tmp_path)
    assert X.shape == (2, 300)
    assert X_test.shape == (1, 300)
    assert (X[0, 6], X[1, 1], X_test[0, 299]) == (0.5, 3, 2)
    assert (X.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert (y.tolist(), y_test.tolist()) == ([-1, 1], [1])


def test_integers_of_a_table():
    assert _integers(b"1,-20,300\n4,5,6\n").tolist() == [1, -20, 300, 4, 5, 6]


SHAPES = {
    "a9a": (32_560, 16_281, 123),
    "w8a": (39_800, 9_949, 300),
    "ijcnn1": (49_990, 91_701, 22),
    "rcv1": (22_091, 5_522, 47_236),
    "covtype": (500_000, 81_012, 54),
    "mnist": (60_000, 10_000, 784),
    "mnist10": (60_000, 10_000, 784),
}


@pytest.mark.parametrize("name", SHAPES)
def test_real_sets_have_the_published_shapes(name):
    try:
        (X, y), (X_test, y_test) = load(name)
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    rows, test_rows, width = SHAPES[name]
    assert (X.shape, X_test.shape) == ((rows, width), (test_rows, width))
    assert (y.shape, y_test.shape) == ((rows,), (test_rows,))
    assert X.dtype == X_test.dtype == np.float32
    assert set(y) == (set(range(10)) if name == "mnist10" else {-1.0, 1.0})
    if name in ("covtype", "mnist", "mnist10"):
        assert min(X.min(), X_test.min()) == 0
        assert max(X.max(), X_test.max()) == 1


def test_covtype_is_shuffled_and_complete():
    try:
        (_, y), (_, y_test) = load("covtype")
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    assert (y > 0).sum() + (y_test > 0).sum() == 283_301
    assert abs((y > 0).mean() - (y_test > 0).mean()) < 0.01


def test_importing_is_cheap():
    code = "import sys, reproduction.datasets; sys.exit('scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

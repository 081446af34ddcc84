"""The readers of published forms, on small files in those forms."""

import bz2
import gzip

import numpy as np
import pytest

from reproduction.datasets import gaussian_rows, load, load_benchmark
from reproduction.datasets.benchmark import form_here
from reproduction.datasets.digit_features import digit_features


def test_epsilon_from_libsvm(tmp_path):
    for ending, text in ("", b"1 1:0.6 2000:0.8\n-1 2:1\n"), (".t", b"-1 3:1\n"):
        (tmp_path / f"epsilon_normalized{ending}.bz2").write_bytes(bz2.compress(text))
    assert form_here("epsilon", tmp_path) == "real"
    (X, y), (X_test, y_test) = load("epsilon", tmp_path)
    assert (X.shape, X_test.shape) == ((2, 2000), (1, 2000))
    assert (X[0, 1999], X_test[0, 2]) == (np.float32(0.8), 1)
    assert (y.tolist(), y_test.tolist()) == ([1, -1], [-1])


def test_rcv1_from_libsvm_learns_from_the_long_part(tmp_path):
    (tmp_path / "rcv1_train.binary.bz2").write_bytes(bz2.compress(b"1 1:1\n"))
    (tmp_path / "rcv1_test.binary.bz2").write_bytes(bz2.compress(b"-1 2:1\n1 47236:0.5\n"))
    (X, y), (X_test, _) = load("rcv1", tmp_path)
    assert (X.shape, X_test.shape) == ((2, 47_236), (1, 47_236))
    assert y.tolist() == [-1, 1]


def test_rcv1_from_lewis(tmp_path):
    (tmp_path / "rcv1").mkdir()
    for part in range(4):
        text = b"%d  %d:0.5 47236:0.1\n" % (10 + part, part + 1)
        path = tmp_path / "rcv1" / f"lyrl2004_vectors_test_pt{part}.dat.gz"
        path.write_bytes(gzip.compress(text))
    short = tmp_path / "rcv1" / "lyrl2004_vectors_train.dat.gz"
    short.write_bytes(gzip.compress(b"7  9:1\n"))
    topics = tmp_path / "rcv1" / "rcv1-v2.topics.qrels.gz"
    topics.write_bytes(gzip.compress(b"CCAT 11 1\nGCAT 10 1\nCCAT 7 1\nE11 11 1\n"))
    (X, y), (X_test, y_test) = load("rcv1", tmp_path)
    assert (X.shape, X_test.shape) == ((4, 47_236), (1, 47_236))
    assert (y.tolist(), y_test.tolist()) == ([-1, 1, -1, -1], [1])
    assert X[2, 2] == np.float32(0.5)


def test_a_sample_is_called_one(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"rcv1.{part}.svm.gz").write_bytes(gzip.compress(b"1 1:1\n-1 2:1\n"))
    assert form_here("rcv1", tmp_path) == "sample"
    assert load_benchmark("rcv1", tmp_path).title == "rcv1 (sample)"


def test_a_set_that_is_absent_has_a_stand_in_or_nothing(tmp_path):
    (tmp_path / "epsilon_normalized").write_bytes(b"")  # half of a set is none
    assert form_here("epsilon", tmp_path) == form_here("alpha", tmp_path) == "stand-in"
    assert load_benchmark("alpha", tmp_path, 0.01).title == "alpha (stand-in)"
    assert form_here("beta", tmp_path) is None
    with pytest.raises(FileNotFoundError, match="the files of beta are not in the data folder"):
        load_benchmark("beta", tmp_path)


def test_generated_rows_have_the_error_that_was_asked_for():
    X, y = gaussian_rows(20_000, 20, power=0.5, error=0.2)
    np.testing.assert_allclose(np.square(X).sum(axis=1), 1, rtol=1e-4)
    coef = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.mean(np.sign(X @ coef) != y) == pytest.approx(0.2, abs=0.02)


def test_features_of_an_edge():
    """A bright half on each side in turn: the direction and the place are the edge's."""
    image = np.zeros((28, 28), np.uint8)
    image[:, 14:] = 255
    right = digit_features(image[None]).reshape(9, 16, 16)
    down = digit_features(image.T[None]).reshape(9, 16, 16)
    assert right.sum(axis=(1, 2)).argmax() == 0
    # A quarter of the way around nine directions is 2.25: mostly the second, some of the third.
    strength = down.sum(axis=(1, 2))
    assert strength[2] == pytest.approx(3 * strength[3], rel=1e-3)
    assert set(np.flatnonzero(right[0].sum(axis=0) > 0)) <= {6, 7, 8, 9}
    assert not digit_features(np.full((1, 28, 28), 9, np.uint8)).any()


def test_mnist9_has_rows_as_long_as_the_papers():
    try:
        (X, y), (X_test, y_test) = load("mnist9")
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    assert (X.shape, X_test.shape) == ((50_000, 2304), (10_000, 2304))
    assert (y.shape, y_test.shape) == ((50_000,), (10_000,))
    assert 2.0e4 < (X[:1000] ** 2).sum(axis=1).max() < 2.2e4
    assert 0.09 < (y > 0).mean() < 0.11

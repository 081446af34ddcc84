"""The stand-ins are what their documentation says: shape, density, lengths, balance, difficulty."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from reproduction.datasets import PAPER_SETS, stand_in

SIZES = 2000, 500
# The share of positive rows, and what a linear model can reach with far more rows than here.
BALANCE = {"fd": 0.09, "dna": 0.003, "mnist9": 0.1}


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.fixture(scope="module")
def drawn():
    return {name: stand_in(name, *SIZES) for name in PAPER_SETS if name != "mnist9"}


@pytest.mark.parametrize("name", [name for name in PAPER_SETS if name != "mnist9"])
def test_shape_and_form(drawn, name):
    (X, y), (X_test, y_test) = drawn[name]
    width = PAPER_SETS[name].n_features
    assert (X.shape, X_test.shape) == ((2000, width), (500, width))
    assert (y.shape, y_test.shape) == ((2000,), (500,))
    assert X.dtype == X_test.dtype == np.float32
    assert set(y) == {-1.0, 1.0}
    assert hasattr(X, "toarray") == (name in ("rcv1", "dna"))
    assert abs((y > 0).mean() - BALANCE.get(name, 0.5)) < 0.03


@pytest.mark.parametrize("name", ["alpha", "beta", "epsilon", "zeta", "fd", "ocr", "rcv1"])
def test_unit_rows(drawn, name):
    (X, _), (X_test, _) = drawn[name]
    for rows in X, X_test:
        squares = rows.multiply(rows) if name == "rcv1" else rows**2
        np.testing.assert_allclose(squares.sum(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("name", ["gamma", "delta"])
def test_the_longest_row_is_as_long_as_the_papers(drawn, name):
    (X, _), _ = drawn[name]
    longest = (X[:1000].astype(float) ** 2).sum(axis=1).max()
    assert longest == pytest.approx(PAPER_SETS[name].longest, rel=1e-4)


def test_letters(drawn):
    (X, y), _ = drawn["dna"]
    places = dense(X).reshape(2000, 200, 4)
    assert (places.sum(axis=2) == 1).all()  # one letter at each place, so ‖x‖² = 200
    assert 0 < (y > 0).sum() < 20


def test_pictures_are_smooth_and_positive(drawn):
    for name, side in ("fd", 30), ("ocr", 34):
        (X, _), _ = drawn[name]
        images = X.reshape(-1, side, side)
        assert X.min() >= 0
        beside = np.corrcoef(images[:, :, :-1].ravel(), images[:, :, 1:].ravel())[0, 1]
        apart = np.corrcoef(images[:, :, :-20].ravel(), images[:, :, 20:].ravel())[0, 1]
        assert beside > 0.8
        assert abs(apart) < 0.4


def test_covtype_has_one_area_and_one_soil(drawn):
    (X, _), _ = drawn["covtype"]
    assert (X[:, 10:14].sum(axis=1) == 1).all()
    assert (X[:, 14:].sum(axis=1) == 1).all()
    assert 0 <= X.min() <= X.max() <= 1


def error_of(part, test):
    model = LogisticRegression(C=10.0, max_iter=300).fit(*part)
    return 1 - model.score(*test)


@pytest.mark.parametrize(
    ("name", "least", "most"), [("alpha", 0.20, 0.28), ("covtype", 0.19, 0.28)]
)
def test_difficulty(name, least, most):
    assert least < error_of(*stand_in(name, 8000, 4000)) < most


def test_no_plane_separates_beta():
    assert error_of(*stand_in("beta", 4000, 4000)) > 0.45


def test_a_longer_set_begins_with_a_shorter_one_and_tests_the_same(drawn):
    (X, y), (X_test, y_test) = stand_in("delta", 100, 50)
    (longer, y_longer), (test, y_of_test) = drawn["delta"]
    np.testing.assert_array_equal(longer[:100], X)
    np.testing.assert_array_equal(y_longer[:100], y)
    np.testing.assert_array_equal(test[:50], X_test)
    np.testing.assert_array_equal(y_of_test[:50], y_test)


def test_seeds_and_names_differ(drawn):
    (X, _), _ = drawn["alpha"]
    assert (stand_in("alpha", 10, 10, seed=1)[0][0] != X[:10]).any()
    assert (drawn["epsilon"][0][0][:10] != drawn["zeta"][0][0][:10]).any()


def test_another_process_draws_the_same():
    code = (
        "from reproduction.datasets import stand_in; "
        "(X, y), _ = stand_in('gamma', 20, 1); print(X.tobytes().hex()[:400])"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(2)]
    (X, _), _ = stand_in("gamma", 20, 1)
    assert {run.stdout.decode().strip() for run in runs} == {X.tobytes().hex()[:400]}


def test_digits():
    (X, y), (X_test, y_test) = stand_in("mnist9", 1000, 500)
    assert X.shape == (1000, 2304)
    assert abs((y > 0).mean() - 0.1) < 0.03
    assert 1e4 < (X**2).sum(axis=1).max() < 4e4
    assert 1 - LogisticRegression(max_iter=200).fit(X, y).score(X_test, y_test) < 0.08


@pytest.mark.parametrize("wrong", [("iris", 1, 1), ("alpha", 0, 1), ("alpha", 1, 0)])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"iris|positive"):
        stand_in(*wrong)

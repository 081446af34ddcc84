"""What the core works out for blocks of rows, against the same in NumPy, in every build."""

import numpy as np
import pytest

from polyak import _core
from polyak.learn.bank.settings import SUMS
from polyak.learn.newton.block.algebra import times
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.scoring import progressive_sums
from polyak.losses import get_loss


def a_block(rng, rows, columns, models, dtype, scale=1.0):
    room = rng.normal(size=(rows, columns + 3)).astype(dtype)
    Z = room[:, 1 : columns + 1]  # rows that do not follow each other at once
    W = scale * rng.normal(size=(columns, models)) / np.sqrt(columns)
    return Z, np.where(rng.normal(size=rows) > 0, 1.0, -1.0), W


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "models"), [(7, 1, 1), (130, 31, 1), (131, 300, 6)])
def test_scores(kernels, rows, columns, models, dtype):
    Z, _, W = a_block(np.random.default_rng(0), rows, columns, models, dtype)
    scores = times(Z, W)
    close = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(scores, Z.astype(float) @ W, rtol=0, atol=close)
    for begin, end in ((0, 1), (2, 5), (5, rows)):  # whatever rows it is among
        np.testing.assert_array_equal(times(Z[begin:end], W), scores[begin:end])


def test_scores_by_two_threads_are_the_same():
    Z, _, W = a_block(np.random.default_rng(0), 20_001, 60, 4, np.float64)
    np.testing.assert_array_equal(times(Z, W, threads=2), times(Z, W))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
def test_the_logistic_loss_after_a_step(kernels, dtype, scale, weighted):
    rng = np.random.default_rng(1)
    Z, targets, W = a_block(rng, 203, 30, 3, dtype, scale)
    D, S = 0.3 * W, Z.astype(float) @ W
    weights = rng.integers(0, 3, len(Z)).astype(float) if weighted else None
    own = np.ones(len(Z)) if weights is None else weights
    for move, there in ((None, S), (D, S - Z.astype(float) @ D)):
        step = None if move is None else np.ascontiguousarray(move.T)
        scores, values, gradient = _core.logistic_loss(Z, targets, weights, S, step, 1)
        expected, slopes = get_loss("log_loss").value_and_slope(there, targets[:, None])
        slopes *= own[:, None]
        # What sums of 30 and of 64 terms may lose in the rows' own precision, the loss being no
        # steeper than one, and its slope no steeper than a quarter.
        lost = np.finfo(dtype).eps * (0.0 if move is None else 30.0 * np.abs(Z) @ np.abs(D))
        of_slopes = 0.25 * own[:, None] * lost + 64.0 * np.finfo(dtype).eps * np.abs(slopes)
        assert (np.abs(scores - there) <= lost + 1e-12 * (1.0 + np.abs(there))).all()
        assert (np.abs(values - own @ expected) <= own @ (lost + 1e-12 * expected)).all()
        assert (np.abs(gradient - slopes.T @ Z) <= of_slopes.T @ np.abs(Z) + 1e-9).all()


def test_the_logistic_loss_by_two_threads_is_the_same():
    Z, targets, W = a_block(np.random.default_rng(1), 9_001, 30, 1, np.float64)
    given = (Z, targets, None, Z @ W, np.ascontiguousarray(W.T))
    for one, other in zip(
        _core.logistic_loss(*given, 1), _core.logistic_loss(*given, 2), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_the_smallest_losses_keep_their_digits(kernels):
    scores = np.array([[40.0], [200.0], [-3.0], [0.0]])
    for row, target in ((0, 1.0), (1, 1.0), (2, -1.0), (3, 1.0)):
        own, goal = scores[row : row + 1], np.array([target])
        values = _core.logistic_loss(np.ones((1, 1)), goal, None, own, None, 1)[1]
        np.testing.assert_allclose(values, np.log1p(np.exp(-goal * own[0])), rtol=1e-14)
    missing = _core.logistic_loss(np.ones((1, 1)), goal, None, np.full((1, 1), np.nan), None, 1)
    assert np.isnan(missing[1]).all()


def test_curvature_of_the_logistic_loss(kernels):
    scores = np.array(
        [0.0, -0.0, 1.0, -1.0, 40.0, -700.0, 800.0, np.inf, *np.linspace(-30, 30, 77)]
    )
    expected = get_loss("log_loss").curvature_at(scores, np.ones(len(scores)))
    np.testing.assert_allclose(_core.logistic_curvature(scores), expected, rtol=1e-14, atol=1e-300)
    assert np.isnan(_core.logistic_curvature(np.array([np.nan]))).all()


def test_what_scores_add_up_to(kernels):
    rng = np.random.default_rng(2)
    scores, targets = (
        30.0 * rng.normal(size=(150, 4)),
        np.where(rng.normal(size=150) > 0, 1.0, -1.0),
    )
    weights = rng.uniform(size=150)
    cap, share = rng.uniform(1.0, 40.0, size=150), rng.uniform(size=150)
    limits = np.column_stack([cap, share])
    own = (scores[:, :, None], targets[:, None], weights, limits)
    sums = progressive_sums(Objective("log_loss"), *own)
    losses = get_loss("log_loss").value(scores, targets[:, None])
    wrong = (scores > 0) != (targets > 0)[:, None]
    within = np.minimum(losses, cap[:, None])
    expected = {
        "weight": np.full(4, weights.sum()),
        "loss": weights @ losses,
        "loss_squared": weights @ losses**2,
        "error": weights @ wrong,
        "rated": (weights * share) @ within,
        "capped": (losses > cap[:, None]).sum(axis=0),
    }
    for name, sure in expected.items():
        np.testing.assert_allclose(sums[SUMS.index(name)], sure, rtol=1e-12, err_msg=name)


def test_what_does_not_fit_is_refused():
    Z, targets, W = a_block(np.random.default_rng(3), 5, 2, 1, np.float64)
    with pytest.raises(ValueError, match="differ in size"):
        _core.block_scores(Z, np.ones((1, 3)), 1)
    with pytest.raises(TypeError, match="as precise as the rows"):
        _core.block_scores(Z, np.ones((1, 2), np.float32), 1)
    with pytest.raises(ValueError, match="differ in size"):
        _core.logistic_loss(Z, targets[:4], None, Z @ W, None, 1)
    with pytest.raises(ValueError, match="differ in size"):
        _core.logistic_sums(Z @ W, targets, np.ones(5), np.ones((4, 2)))


@pytest.mark.parametrize("columns", [1, 7, 64, 101])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_inverse_of_a_factor(kernels, columns, dtype):
    Z = np.random.default_rng(columns).normal(size=(2 * columns, columns))
    matrix = (Z.T @ Z).astype(dtype)
    inverse = _core.inverse_of_factor(matrix)
    assert inverse.dtype == dtype
    assert np.array_equal(inverse, np.tril(inverse))
    expected = np.linalg.inv(np.linalg.cholesky(matrix.astype(np.float64)))
    small = 1e-12 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=small * abs(expected).max())


def test_a_matrix_without_a_factor_says_so(kernels):
    """Whatever direction it is that the matrix is not positive in, the last row tells."""
    for place in range(5):
        matrix = np.diag(np.where(np.arange(5) == place, -1.0, 1.0)) + 0.1
        assert not np.isfinite(_core.inverse_of_factor(matrix)[-1]).all()
    with pytest.raises(ValueError, match="differ in size"):
        _core.inverse_of_factor(np.eye(3)[:2].copy())


def test_two_threads_give_the_same_sums(kernels):
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(9000, 3)), np.where(rng.normal(size=9000) > 0, 1.0, -1.0)
    given = (scores, targets, np.ones(9000), rng.uniform(size=(9000, 2)))
    np.testing.assert_array_equal(_core.logistic_sums(*given, 2), _core.logistic_sums(*given, 1))
    Z, norms = rng.normal(size=(9000, 70)), np.empty((2, 9000))
    largest = [_core.block_norms(Z, norms[k], k + 1) for k in range(2)]
    assert largest[0] == largest[1] == norms[0].max()
    np.testing.assert_array_equal(norms[0], norms[1])

"""The optimum of several classes that the core finds, against what NumPy says of it."""

import numpy as np
import pytest

from polyak import _core
from polyak.losses.softmax import softmax

PENALTIES = np.array([1e-4, 1e-2, 1.0, 100.0])


def some_rows(rows, columns, classes, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, columns))
    Z[:, 0] = 1.0
    scores = Z @ rng.normal(size=(columns, classes)) + rng.gumbel(size=(rows, classes))
    shrink = np.repeat(PENALTIES[:, None], columns, axis=1)
    shrink[:, 0] = 1e-8  # next to nothing holds the intercept
    return Z, scores.argmax(axis=1), shrink, np.zeros((len(PENALTIES), classes, columns))


def of_losses(Z, own, W, weights=None):
    """Return the sum of the losses, its gradient and its Hessian, from their definitions."""
    weights = np.ones(len(Z)) if weights is None else weights
    chance = softmax(Z @ W.T)
    value = -weights @ np.log(chance[np.arange(len(Z)), own])
    gradient = (weights[:, None] * (chance - np.eye(len(W))[own])).T @ Z
    bend = np.einsum("nc,ck->nck", chance, np.eye(len(W))) - chance[:, :, None] * chance[:, None]
    hessian = np.einsum("n,nck,ni,nj->cikj", weights, bend, Z, Z)
    return value, gradient, hessian.reshape(W.size, W.size)


def to_gain(Z, own, shrink, W, weights=None):
    """Return the predicted decrease of another Newton step, and the current loss."""
    value, gradient, hessian = of_losses(Z, own, W, weights)
    slope = (gradient + shrink * W).ravel()
    whole = hessian + np.diag(np.tile(shrink, len(W)))
    return 0.5 * slope @ np.linalg.lstsq(whole, slope, rcond=None)[0], value


@pytest.mark.parametrize(
    ("rows", "columns", "classes"), [(5, 3, 3), (40, 41, 4), (150, 5, 3), (700, 18, 10)]
)
def test_there_is_nothing_more_to_gain(kernels, rows, columns, classes):
    Z, own, shrink, W = some_rows(rows, columns, classes)
    found, gradient = _core.fit_classes(Z, own, None, shrink, W, 1)
    for place, penalty in enumerate(shrink):
        gain, value = to_gain(Z, own, penalty, found[place])
        assert gain <= 1e-3 * (value + 1e-3 * rows)
        np.testing.assert_allclose(gradient[place], of_losses(Z, own, found[place])[1], atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_it_does_not_matter_where_it_begins(kernels, scale):
    Z, own, shrink, W = some_rows(300, 12, 5)
    start = scale * np.random.default_rng(1).normal(size=W.shape)
    start -= start.mean(axis=1, keepdims=True)
    found, _ = _core.fit_classes(Z, own, None, shrink, start, 1)
    for place, penalty in enumerate(shrink):
        gain, value = to_gain(Z, own, penalty, found[place])
        assert gain <= 1e-3 * (value + 1e-3 * len(Z))


def test_a_weight_is_as_many_rows(kernels):
    Z, own, shrink, W = some_rows(120, 6, 3)
    times = np.random.default_rng(2).integers(0, 4, len(Z))
    by_weight, slope = _core.fit_classes(Z, own, times.astype(float), shrink, W, 1)
    again = np.repeat(Z, times, axis=0), np.repeat(own, times)
    for place, penalty in enumerate(shrink):
        gain, value = to_gain(*again, penalty, by_weight[place])
        assert gain <= 1e-3 * (value + 1e-3 * times.sum())
        np.testing.assert_allclose(slope[place], of_losses(*again, by_weight[place])[1], atol=1e-9)


def test_classes_that_can_be_told_apart_and_columns_that_say_nothing(kernels):
    Z, _, shrink, W = some_rows(200, 8, 4)
    Z[:, 5], Z[:, 6] = 0.0, Z[:, 7]  # nothing at all, and the same twice
    own = (Z @ np.random.default_rng(1).normal(size=(8, 4))).argmax(axis=1)
    found, _ = _core.fit_classes(Z, own, None, shrink, W, 1)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[:, :, 5], 0.0)
    np.testing.assert_allclose(found[:, :, 6], found[:, :, 7], rtol=1e-3, atol=0.01)
    losses = [of_losses(Z, own, own_weights)[0] for own_weights in found]
    assert losses[0] < 0.5 < losses[2] < losses[3]


def test_two_threads_do_the_same():
    Z, own, shrink, W = some_rows(2000, 20, 5)
    given = Z, own, None, shrink, W
    for one, other in zip(_core.fit_classes(*given, 1), _core.fit_classes(*given, 2), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_does_not_fit_is_refused():
    Z, own, shrink, W = some_rows(10, 3, 3)
    with pytest.raises(ValueError, match="no such class"):
        _core.fit_classes(Z, own + 1, None, shrink, W[:, :2], 1)
    for given in (
        (Z, own[:9], None, shrink, W),
        (Z, own, np.ones(9), shrink, W),
        (Z, own, None, shrink[:3], W),
        (Z, own, None, shrink, W[:, :, :2].copy()),
    ):
        with pytest.raises(ValueError, match="differ in size"):
            _core.fit_classes(*given, 1)

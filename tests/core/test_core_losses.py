"""The core's losses against NumPy's, and both against what a loss must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special  # noqa: F401 - or its import would count as the time of some example
from hypothesis import given
from hypothesis import strategies as st
from problems import LOSSES

from polyak import _core
from polyak.losses import LOSSES as ALL_LOSSES
from polyak.losses import get_loss

losses = st.sampled_from(LOSSES)
scores = st.floats(-50, 50)
signs = st.sampled_from([-1.0, 1.0])
sizes = st.floats(0, 1e6)


class Core:
    """The core's functions of a loss, with its parameter."""

    def __init__(self, name):
        loss = get_loss(name)
        self.module, self.parameter = getattr(_core, loss.name), (loss.parameters or (0.0,))[0]

    def __getattr__(self, name):
        function = getattr(self.module, name)
        return lambda *numbers: function(*numbers, self.parameter)


def core(name):
    return Core(name)


def target_of(name, sign):
    if get_loss(name).classifies:
        return sign
    return 0.7 * sign if name not in ("poisson", "gamma") else 0.7 + 2.0 * (sign > 0)


def near_a_corner(name, score, y, h=1e-4):
    corners = {
        "hinge": [1 / y],
        "quantile(0.3)": [y],
        "epsilon_insensitive(0.2)": [y - 0.2, y + 0.2],
    }
    return any(abs(score - corner) < 2 * h for corner in corners.get(name, []))


def test_all_losses_are_in_the_table():
    assert {get_loss(name).name for name in LOSSES} == set(ALL_LOSSES)


def test_they_are_the_same_losses():
    for name in LOSSES:
        module, numpys = getattr(_core, get_loss(name).name), get_loss(name)
        assert (module.classifies, module.log_link) == (numpys.classifies, numpys.log_link)


@given(losses, scores, signs)
def test_they_bound_their_curvature_alike(name, score, sign):
    y = target_of(name, sign)
    bound = float(get_loss(name).largest_curvature(score, y))
    assert core(name).curvature(score, y) == pytest.approx(bound, rel=1e-13)


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("poisson", [0.0, 2.5], [-0.5]), ("gamma", [1e-9], [0.0, -1.0])]
)
def test_they_accept_the_same_targets(name, good, bad):
    for y in good + bad:
        assert getattr(_core, name).accepts(y) == (y in good)
        assert (get_loss(name).unfit(np.array([1.0, y])) is None) == (y in good)


@given(losses, scores, signs, sizes)
def test_the_core_agrees_with_numpy(name, score, sign, q):
    y, mine, numpys = target_of(name, sign), core(name), get_loss(name)
    # What is the difference of two numbers is known as well as they are.
    rounding = 1e-15 if numpys.log_link else 1e-30
    assert mine.value(score, y) == pytest.approx(
        float(numpys.value(score, y)), rel=1e-13, abs=rounding * (1 + abs(score))
    )
    assert mine.slope(score, y) == pytest.approx(
        float(numpys.slope(score, y)), rel=1e-12, abs=rounding
    )
    assert mine.implicit_slope(score, y, q) == pytest.approx(
        float(numpys.implicit_slope(score, y, q)), rel=1e-9, abs=1e-14 if numpys.log_link else 1e-15
    )


@given(losses, scores, signs)
def test_the_slope_is_the_derivative(name, score, sign):
    y, h = target_of(name, sign), 1e-4
    if near_a_corner(name, score, y):
        return
    value = core(name).value
    rise = (value(score + h, y) - value(score - h, y)) / (2 * h)
    rounding = 1e-11 * abs(value(score, y))
    assert core(name).slope(score, y) == pytest.approx(rise, rel=1e-6, abs=1e-4 + rounding)


CURVED = [name for name in LOSSES if get_loss(name).is_smooth and name != "hinge"]


@given(st.sampled_from(CURVED), scores, signs)
def test_the_curvature_is_that_of_the_slope(name, score, sign):
    y, h = target_of(name, sign), 1e-6
    slope, loss = core(name).slope, get_loss(name)
    bend = (slope(score + h, y) - slope(score - h, y)) / (2 * h)
    said = float(loss.curvature_at(np.array(score), np.array(y)))
    around = [float(loss.curvature_at(np.array(score + d), np.array(y))) for d in (-h, h)]
    rounding = 1e-9 * (1 + abs(slope(score, y)))
    assert min(said, *around) * (1 - 1e-5) - rounding <= bend
    assert bend <= max(said, *around) * (1 + 1e-5) + rounding
    assert said <= core(name).curvature(score, y) * (1 + 1e-9)


@given(losses, scores, signs, sizes)
def test_the_implicit_slope_is_the_slope_after_the_step(name, score, sign, q):
    y = target_of(name, sign)
    g = core(name).implicit_slope(score, y, q)
    after = score - q * g
    if near_a_corner(name, after, y, h=1e-9 * (1 + abs(score) + q)):
        return  # it landed in the corner, where the slope is any between
    # A small error of g moves the score by q times as much, and the slope by the curvature.
    bend = core(name).curvature(after, y)
    rounding = 1e-14 * (1 + q) * (1 + abs(score)) * (1 + bend)
    assert g == pytest.approx(core(name).slope(after, y), rel=1e-9, abs=rounding)


@given(losses, scores, signs, st.floats(1e-6, 1e6))
def test_the_implicit_slope_solves_its_equation_by_bisection(name, score, sign, q):
    """``g - L'(s - q g)`` rises with g: halving an interval finds where it changes its sign."""
    y, slope = target_of(name, sign), core(name).slope
    start = slope(score, y)
    low, high = min(0.0, start), max(0.0, start)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle > slope(score - q * middle, y):
            high = middle
        else:
            low = middle
    found = core(name).implicit_slope(score, y, q)
    assert found == pytest.approx(0.5 * (low + high), rel=1e-8, abs=1e-12 * (1 + abs(score) / q))


@given(scores, signs, sizes)
def test_the_hinge_lands_on_the_margin_or_short_of_it(score, sign, q):
    g = _core.hinge.implicit_slope(score, sign, q)
    margin = sign * (score - q * g)
    if sign * score >= 1:
        assert g == 0
    elif g == -sign:
        assert margin <= 1 + 1e-9
    else:
        assert margin == pytest.approx(1)


@given(losses, scores, signs)
def test_no_step_is_the_explicit_slope(name, score, sign):
    y = target_of(name, sign)
    assert core(name).implicit_slope(score, y, 0.0) == core(name).slope(score, y)


@pytest.mark.parametrize("score", [-1e300, -800.0, -40.0, 40.0, 800.0, 1e300])
def test_the_logistic_loss_has_no_overflow(score):
    for y in (-1.0, 1.0):
        numbers = [
            _core.log_loss.value(score, y),
            _core.log_loss.slope(score, y),
            _core.log_loss.implicit_slope(score, y, 10.0),
        ]
        assert np.isfinite(numbers).all()
        assert numbers[0] == pytest.approx(max(0.0, -y * score), abs=1e-15)


@pytest.mark.parametrize("score", [-1e300, -800.0, 800.0, 1e300])
@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_a_log_link_has_no_overflow(name, score):
    mine = getattr(_core, name)
    numbers = [mine.value(score, 2.0), mine.slope(score, 2.0), mine.implicit_slope(score, 2.0, 10)]
    assert np.isfinite(numbers).all()

"""The core's losses against NumPy's, and both against what a loss must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import LOSSES

from polyak import _core
from polyak.losses import get_loss

losses = st.sampled_from(LOSSES)
scores = st.floats(-50, 50)
signs = st.sampled_from([-1.0, 1.0])
sizes = st.floats(0, 1e6)


def core(name):
    return getattr(_core, name)


def target_of(name, sign):
    return 0.7 * sign if name == "squared_error" else sign


def test_they_are_the_same_losses():
    for name in LOSSES:
        assert core(name).curvature == get_loss(name).curvature
        assert core(name).classifies == get_loss(name).classifies


@given(losses, scores, signs, sizes)
def test_the_core_agrees_with_numpy(name, score, sign, q):
    y, mine, numpys = target_of(name, sign), core(name), get_loss(name)
    assert mine.value(score, y) == pytest.approx(
        float(numpys.value(score, y)), rel=1e-13, abs=1e-30
    )
    assert mine.slope(score, y) == pytest.approx(
        float(numpys.slope(score, y)), rel=1e-12, abs=1e-30
    )
    assert mine.implicit_slope(score, y, q) == pytest.approx(
        float(numpys.implicit_slope(score, y, q)), rel=1e-9, abs=1e-15
    )


@given(losses, scores, signs)
def test_the_slope_is_the_derivative(name, score, sign):
    y, h = target_of(name, sign), 1e-4
    if name == "hinge" and abs(1 - y * score) < h:
        return  # the kink
    value = core(name).value
    rise = (value(score + h, y) - value(score - h, y)) / (2 * h)
    assert core(name).slope(score, y) == pytest.approx(rise, rel=1e-6, abs=1e-4)


@given(st.sampled_from(["squared_error", "squared_hinge", "log_loss"]), scores, signs)
def test_the_curvature_is_a_bound(name, score, sign):
    y, h = target_of(name, sign), 1e-4
    slope = core(name).slope
    bend = (slope(score + h, y) - slope(score - h, y)) / (2 * h)
    assert -1e-6 <= bend <= core(name).curvature + 1e-6


@given(st.sampled_from(["squared_error", "squared_hinge", "log_loss"]), scores, signs, sizes)
def test_the_implicit_slope_is_the_slope_after_the_step(name, score, sign, q):
    y = target_of(name, sign)
    g = core(name).implicit_slope(score, y, q)
    after = core(name).slope(score - q * g, y)
    # A small error of g moves the score by q times as much.
    assert g == pytest.approx(after, rel=1e-9, abs=1e-14 * (1 + q) * (1 + abs(score)))


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

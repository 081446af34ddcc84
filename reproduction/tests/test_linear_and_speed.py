"""Sections 2 and 5: what is compared from which start, and what is timed."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.experiments import linear, speed


def test_where_only_noise_is_left_another_a_than_zero_is_better():
    of_noise, far = (linear.against_sgd(0.2, start, 10.0) for start in (linear.AT_OPTIMUM, 1.0))
    later = np.array(far["K"]) >= 1
    assert linear.a_zero(of_noise)[later].max() > 1.9
    assert linear.a_zero(far)[later].max() == 1.0


def test_rows_to_the_region_are_judged_beside_overtaking():
    result = linear.against_sgd(0.02, 3.0, 100.0)
    assert linear.overtakes(result) == pytest.approx(0.04)
    assert 20 < linear.in_region(result) < 24  # far later, which overtaking does not show


def test_weights_are_touched_before_a_loop_is_timed():
    class Model:
        sample, learned = 10, []

        def calibrate(self, X, y):
            self.learned.append("calibrated")

        def learn(self, X, y):
            self.learned.append(len(y))

    speed.one_pass(Model(), np.zeros((3000, 1)), np.zeros(3000))
    assert Model.learned == ["calibrated", speed.WARM, 3000] * 3

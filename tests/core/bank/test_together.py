"""Classes learned together in the bank, against the same written plainly in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses.softmax import odds_of_softmax, softmax

RATE = Polynomial(0.5, 0.05, 0.75)


def problem(rows=400, features=5, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7)
    return X, (X @ rng.normal(size=(features, classes)) + rng.gumbel(size=(rows, classes))).argmax(
        1
    )


def make_bank(classes=4, candidates=1, **settings):
    given = {
        "loss": "log_loss",
        "alpha": 1e-3,
        "schedule": RATE,
        "averaging": Averaging(0, 3.0),
        "step": "implicit",
        "one_vs_rest": True,
        "outputs": np.tile(np.arange(classes), candidates),
        "group": classes,
        "softmax": True,
    }
    return Bank(**given | settings)


def implicit_slopes(scores, own, q):
    """Find where the step leads by a general minimiser: slow, and unlike what the core does."""

    def value(u):
        highest = u.max()
        total = highest + np.log(np.exp(u - highest).sum())
        gradient = u - scores + q * (softmax(u) - own)
        return 0.5 * np.square(u - scores).sum() + q * (total - u @ own), gradient

    found = minimize(value, scores, jac=True, method="BFGS", options={"gtol": 1e-11})
    return softmax(found.x) - own


def reference(X, y, weights, *, implicit, power=3.0, alpha=1e-3, classes=4):
    """Learn row by row; give the average, its progressive loss and its confusion."""
    W = np.zeros((X.shape[1] + 1, classes))
    total, average, loss, wrong = 0.0, np.zeros_like(W), 0.0, 0.0
    for t, (x, label, w) in enumerate(zip(X, y, weights, strict=True), 1):
        row, own = np.append(x, 1.0), np.eye(classes)[label]
        gamma = RATE.gamma0 * (1 + RATE.a * RATE.gamma0 * t) ** -RATE.c
        scores, q = row @ W, gamma * w * (row @ row)
        said = row @ average if total else scores
        odds = odds_of_softmax(said[None])[0]
        loss += w * np.logaddexp(0.0, -odds[label])
        wrong += w * (said.argmax() != label)
        if implicit:
            slopes = implicit_slopes(scores, own, q)
        else:
            slopes = (softmax(scores) - own) / max(1.0, 0.5 * q)
        shrunk = 1 / (1 + alpha * gamma) if implicit else 1 - alpha * gamma
        W[:-1] *= shrunk
        W -= gamma * w * np.outer(row, slopes)
        total += t**power
        average += t**power / total * (W - average)
    return average, loss, wrong


@pytest.mark.parametrize("step", ["implicit", "explicit"])
def test_the_bank_does_what_the_formulas_say(step, kernels):
    X, y = problem()
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=len(y))
    average, loss, wrong = reference(X, y, weights, implicit=step == "implicit")
    bank = make_bank(step=step)
    bank.learn(X, y, weights)
    np.testing.assert_allclose(bank.coef.T, average[:-1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(bank.intercept, average[-1], rtol=1e-6, atol=1e-7)
    assert bank.field("loss").sum() == pytest.approx(loss, rel=1e-7)
    assert bank.field("confusion")[0] == wrong


def test_candidates_do_not_see_each_other(kernels):
    X, y = problem()
    rates = [RATE, Polynomial(4.0, 0.01, 0.75)]
    both = make_bank(candidates=2, schedule=[rate for rate in rates for _ in range(4)])
    both.learn(X, y)
    for number, rate in enumerate(rates):
        alone = make_bank(schedule=rate)
        alone.learn(X, y)
        np.testing.assert_array_equal(alone.coef, both.coef[4 * number : 4 * number + 4])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e3, 1e9])
def test_no_step_overshoots_however_large(size, kernels):
    """From scores that are far off, the class of the row gains and no other goes beyond it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bank = make_bank(alpha=0.0, schedule=Polynomial(size, 0.0, 0.0), fit_intercept=False)
        state = bank.state()
        start = 10.0 * rng.normal(size=4)
        state["lines"] = np.concatenate([start, np.zeros(4)])[None]
        bank.set_state(state)
        bank.learn(np.ones((1, 1)), np.array([2]))
        after = bank.last_coef[:, 0]
        left = after - start + size * (softmax(after) - np.eye(4)[2])  # zero at the solution
        assert np.abs(left).max() <= 1e-6 * (1.0 + size)
        assert after[2] >= start[2]
        assert after.sum() == pytest.approx(start.sum(), abs=1e-6 * (1.0 + np.abs(after).max()))


def test_batches_leave_no_trace(kernels):
    X, y = problem()
    whole, parts = make_bank(precondition=0.5), make_bank(precondition=0.5)
    whole.learn(X, y)
    for some in np.array_split(np.arange(len(y)), 7):
        parts.learn(X[some], y[some])
    np.testing.assert_array_equal(whole.coef, parts.coef)
    np.testing.assert_array_equal(whole.fields(), parts.fields())


def test_what_cannot_be_learned_together_is_refused():
    for settings in ({"loss": "hinge"}, {"one_vs_rest": False}, {"averaging": Averaging("auto")}):
        with pytest.raises(ValueError, match="learned together with log_loss"):
            make_bank(**settings)
    with pytest.raises(ValueError, match="groups of the same size"):
        make_bank(outputs=np.arange(5), group=4)

"""The compiled rivals against their authors' programs, row by row in plain NumPy."""

from __future__ import annotations

import authors_programs as programs
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reproduction.algorithm1 import asgd, proposed_schedule
from reproduction.rivals import ASGD, BATCH, RIVALS

ALPHA, FEATURES = 1e-2, 7
LOSSES = ("squared_hinge", "hinge", "log_loss")


def problem(rows=1300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)) * (rng.random((rows, FEATURES)) < 0.6)
    X = X.astype(np.float32).astype(np.float64)
    return X, np.where(X @ rng.normal(size=FEATURES) + rng.logistic(size=rows) > 0, 1.0, -1.0)


def by_hand(name, model, X, y):
    loss = model.loss
    if name.startswith("sgd2"):
        rate = lambda t: model.gamma0 / (1 + ALPHA * model.gamma0 * t)  # noqa: E731
        return programs.svmsgd(X, y, loss, ALPHA, rate)
    if name == "pegasos":
        return programs.pegasos(X, y, loss, ALPHA)
    if name == "sgd_qn":
        return programs.svmsgdqn(X, y, loss, ALPHA, model.gamma0, model.skip)
    if name == "sgd_qn-2009":
        t0 = 1 / (ALPHA * model.gamma0)
        return programs.pseudo_code_of_2009(X, y, loss, ALPHA, t0, model.skip)
    gain = {"eta0": model.eta0, "tau": model.tau, "damping": model.damping}
    return programs.olbfgs(X, y, loss, ALPHA, gain, BATCH)


@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "name", ["sgd2", "sgd2-2007", "pegasos", "sgd_qn", "sgd_qn-2009", "olbfgs"]
)
def test_it_does_what_the_authors_program_does(name, loss, stored):
    X, y = problem()
    rows = X.astype(np.float32) if stored == "dense" else csr_matrix(X.astype(np.float32))
    model = RIVALS[name](loss, ALPHA)
    model.calibrate(rows, y)
    for begin in range(0, len(y), 5 * BATCH):  # how rows are split changes nothing
        assert model.learn(rows[begin : begin + 5 * BATCH], y[begin : begin + 5 * BATCH])
    wanted = by_hand(name, model, X, y)
    # Two loops of oLBFGS and a whole matrix round differently, the more so at the hinge's corner.
    assert np.linalg.norm(model.coef - wanted) <= 1e-6 * np.linalg.norm(wanted)


@pytest.mark.parametrize("loss", LOSSES)
def test_first_rate_is_that_of_the_program(loss):
    X, y = problem()
    found = RIVALS["sgd2"](loss, ALPHA)
    found.calibrate(X.astype(np.float32), y)
    assert found.gamma0 == programs.svmsgd_eta0(X, y, loss, ALPHA)


@pytest.mark.parametrize("t0", [None, 0, 50, 1299, 5000])
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("loss", [*LOSSES, "squared_error"])
def test_asgd_is_algorithm_1(loss, stored, t0):
    X, y = problem()
    wanted, _ = asgd(X, y, loss, ALPHA, proposed_schedule(X, loss, ALPHA), t0=t0)
    rows = X.astype(np.float32) if stored == "dense" else csr_matrix(X.astype(np.float32))
    found = ASGD(loss, ALPHA, t0=t0).fit(rows, y).coef
    assert np.linalg.norm(found - wanted) <= 1e-12 * np.linalg.norm(wanted)


def test_liblinear_comes_near_the_optimum_in_many_iterations():
    from scipy.optimize import minimize

    X, y = problem()
    model = RIVALS["liblinear"]("squared_hinge", ALPHA)
    model.iterations = 300
    model.fit(X, y)

    def objective(w):
        return np.mean(programs.value("squared_hinge", y * (X @ w))) + ALPHA / 2 * w @ w

    best = minimize(objective, np.zeros(FEATURES), tol=1e-10)
    assert objective(model.coef) <= best.fun * (1 + 1e-6)


def test_rows_far_longer_than_a_program_assumes_overflow():
    X, y = problem()
    model = RIVALS["sgd2-2007"]("squared_hinge", 1e-4)
    model.calibrate(X, y)
    assert not model.learn((200 * X).astype(np.float32), y)


def test_a_wrong_loss_and_wrong_shapes_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match=r"loss must be squared_error, .*, not l1"):
        RIVALS["pegasos"]("l1").fit(X, y)
    model = RIVALS["pegasos"]().fit(X, y)
    with pytest.raises(ValueError, match="shape of targets times weights"):
        model.learn(X[:, :3], y)
    with pytest.raises(ValueError, match="out of range"):
        model.learn(csr_matrix(np.ones((2, 9), np.float32)), y[:2])

"""One interface for all: scikit-learn's contract, any split, any storage, sentences for errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from rival_problems import ALL, STREAMING, extra, learned, problem
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyak.errors import DivergenceError
from reproduction.rivals import (
    LIBLINEAR,
    OLBFGS,
    RIVALS,
    SGD,
    SGD2,
    SGDQN,
    Batch,
    Pegasos,
    _kernels,
)

CHECKED = [
    SGD(max_iter=20),
    SGD(loss="squared_error", max_iter=20),
    SGD2(max_iter=20),
    Pegasos(alpha=1e-2, max_iter=20),
    SGDQN(max_iter=20),
    OLBFGS(max_iter=50, batch_size=20, eta0=0.3),  # "auto" is for more rows than a check has
    LIBLINEAR(max_iter=100),
    Batch(),
    Batch(loss="squared_error"),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_loss_says_what_it_is():
    assert is_classifier(SGD(loss="hinge"))
    assert is_regressor(SGD(loss="squared_error"))
    assert not hasattr(SGD(loss="squared_error"), "decision_function")


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_has_the_same_face(name):
    rival = RIVALS[name]()
    assert {"loss", "alpha", "fit_intercept"} <= set(rival.get_params())
    assert set(rival.losses) >= {"squared_hinge", "hinge"}
    X, y = problem("hinge", 300)
    labels = np.where(y > 0, "yes", "no")
    rival.set_params(loss="hinge", alpha=1e-2).fit(X, labels)
    assert rival.coef_.shape == (1, 6)
    assert rival.intercept_.shape == (1,)
    assert rival.n_features_in_ == 6
    assert rival.classes_.tolist() == ["no", "yes"]
    scores = rival.decision_function(X)
    np.testing.assert_allclose(scores, X @ rival.coef_[0] + rival.intercept_[0], atol=1e-9)
    np.testing.assert_array_equal(rival.predict(X), np.where(scores > 0, "yes", "no"))
    assert rival.score(X, labels) == np.mean(rival.predict(X) == labels)


@pytest.mark.parametrize(
    "cuts", [[1], [999], [1000], [1001], [500, 1000, 1500], range(0, 2500, 83)]
)
@pytest.mark.parametrize("rival", STREAMING, ids=str)
def test_any_split_gives_the_same_bits(rival, cuts):
    X, y = problem(rival.loss)
    whole, parts = clone(rival).fit(X, y), clone(rival)
    ends = [*cuts, len(y)]
    for begin, end in zip([0, *ends], ends, strict=False):
        if begin < end:
            block = X[begin:end].copy()
            parts.partial_fit(block, y[begin:end], **extra(rival, y))
            block[:] = np.nan  # the rows are the caller's again
    np.testing.assert_array_equal(learned(parts), learned(whole))


@pytest.mark.parametrize("rival", STREAMING, ids=str)
def test_asking_and_pickling_in_between_changes_nothing(rival):
    X, y = problem(rival.loss, 2100)
    quiet, asked = clone(rival), clone(rival)
    for begin in range(0, 2100, 350):
        rows = slice(begin, begin + 350)
        quiet.partial_fit(X[rows], y[rows], **extra(rival, y))
        asked.partial_fit(X[rows], y[rows], **extra(rival, y))
        before = learned(asked)
        asked.predict(X)
        asked = pickle.loads(pickle.dumps(asked))
        np.testing.assert_array_equal(learned(asked), before)
    np.testing.assert_array_equal(learned(asked), learned(quiet))


@pytest.mark.parametrize("rival", STREAMING, ids=str)
def test_a_second_pass_is_more_of_the_same(rival):
    X, y = problem(rival.loss, 1500)
    twice = clone(rival).set_params(max_iter=2).fit(X, y)
    again = clone(rival)
    for _ in range(2):
        again.partial_fit(X, y, **extra(rival, y))
    np.testing.assert_array_equal(learned(again), learned(twice))
    assert twice.n_iter_ == 2


@pytest.mark.parametrize("rival", ALL, ids=str)
def test_storage_does_not_matter(rival):
    X, y = problem(rival.loss, 1200)
    dense = learned(clone(rival).fit(X, y))
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (X.astype(np.float32), csr_array(X), csr_array(X.astype(np.float32)), wide):
        found = learned(clone(rival).fit(other, y))
        assert found.dtype == np.float64
        # The exact minimiser of a corner is known to fewer digits.
        loose = 1e-4 if isinstance(rival, Batch) else 1e-9
        np.testing.assert_allclose(found, dense, rtol=loose, atol=loose)


def test_fewer_rows_than_a_sample_or_a_mini_batch():
    X, y = problem("hinge", 20)
    for rival in (SGD(), SGD2(), SGDQN(), OLBFGS(batch_size=50), Pegasos(batch_size=50)):
        assert np.isfinite(learned(rival.fit(X, y))).all()
        one = clone(rival).partial_fit(X[:1], y[:1], classes=[-1.0, 1.0])
        assert np.isfinite(learned(one)).all()


# -- what is wrong is said in a sentence -----------------------------------------------------------


@pytest.mark.parametrize("rival", ALL, ids=str)
def test_values_that_are_not_numbers(rival):
    X, y = problem(rival.loss, 50)
    X[3, 2] = np.nan
    for rows in (X, csr_array(X)):
        with pytest.raises(ValueError, match="NaN"):
            clone(rival).fit(rows, y)


@pytest.mark.parametrize("rival", [SGD2(), Pegasos(), SGDQN(), OLBFGS(), LIBLINEAR()], ids=str)
@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan])
def test_a_penalty_is_needed(rival, alpha):
    X, y = problem("hinge", 50)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        clone(rival).set_params(alpha=alpha).fit(X, y)


def test_where_no_penalty_is_needed():
    X, y = problem("hinge", 50)
    assert np.isfinite(learned(SGD(alpha=0).fit(X, y))).all()
    with pytest.raises(ValueError, match="may have no minimum"):
        Batch(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="alpha times the learning rate must be below one"):
        SGD(alpha=2.0, eta0=1.0, decay=0.0).fit(X, y)


@pytest.mark.parametrize("rival", ALL, ids=str)
def test_an_unknown_loss(rival):
    X, y = problem(rival.loss, 50)
    with pytest.raises(ValueError, match="'loss' parameter"):
        clone(rival).set_params(loss="huber").fit(X, y)


def test_labels():
    X, y = problem("hinge", 50)
    with pytest.raises(ValueError, match="there is only 1 class: 1"):
        SGD().fit(X, np.ones(50))
    with pytest.raises(ValueError, match="Only binary classification"):
        SGD().fit(X, np.arange(50) % 3)
    with pytest.raises(ValueError, match="classes must be passed"):
        SGD().partial_fit(X, y)
    model = SGD().partial_fit(X, y, classes=[-1.0, 1.0])
    y[7] = 3.0
    with pytest.raises(ValueError, match="row 7 has the label"):
        model.partial_fit(X, y)


def test_weights_that_overflow_are_not_kept():
    X, y = problem("squared_error", 2000)
    model = SGD(loss="squared_error", eta0=1e3, decay=0.0, alpha=0.0)
    with pytest.raises(DivergenceError, match="SGD diverged: the weights overflowed at row"):
        model.fit(X, y)
    assert not model.__sklearn_is_fitted__()


def test_the_kernels_refuse_what_it_cannot_hold():
    X, y = problem("hinge", 10)
    state, weights = np.array([0.0, 1.0, 0.0]), np.zeros(6)
    settings = {"alpha": 0.1, "gamma0": 0.1, "decay": 0.1, "intercept_rate": 1.0}

    def sgd(X, y, loss="hinge", weights=weights, state=state):
        parts = (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (None, None, X)
        _kernels.sgd(*parts, y, loss, weights, state, **settings)

    with pytest.raises(ValueError, match="there are 10 rows but 3 targets"):
        sgd(X, y[:3])
    with pytest.raises(ValueError, match="no loss called 'huber'"):
        sgd(X, y, loss="huber")
    with pytest.raises(ValueError, match="the rows have 6 features, but there are only 2"):
        sgd(X, y, weights=np.zeros(2))
    with pytest.raises(ValueError, match="but there are only 2 features"):
        sgd(csr_array(X), y, weights=np.zeros(2))
    with pytest.raises(ValueError, match="the state has 2 numbers, not 3"):
        sgd(X, y, state=np.zeros(2))
    with pytest.raises(ValueError, match="needs -1 or \\+1"):
        sgd(X, y + 1)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4 has the value nan for feature 1"):
        sgd(X, y)

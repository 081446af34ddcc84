"""Many classes beside columns of words: more weights than fit one matrix, and few rows."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.recipes.plan import is_solved
from polyak.rows.sparse import as_rows

ROWS, COLUMNS, LEVELS, CLASSES = 300, 12, 4, 19


def tables(
    seed: int, rows: int = ROWS, levels: int = LEVELS, alike: float = 0.3
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return indicators of words, some missing, and of one that never comes; unequal classes."""
    chances = np.random.default_rng(7).dirichlet(np.full(levels, alike), (CLASSES, COLUMNS))
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(CLASSES), CLASSES * rng.random(rows - CLASSES) ** 2).astype(int)
    words = (rng.random((rows, COLUMNS, 1)) > chances.cumsum(-1)[y]).sum(-1)
    words[rng.random(words.shape) < 0.1] = levels  # missing
    indicators = np.eye(levels + 1)[np.minimum(words, levels)].reshape(rows, -1)
    return sparse.csr_array(np.pad(indicators, ((0, 0), (0, 1)))), y


@pytest.fixture(scope="module")
def fitted() -> ASGDClassifier:
    return ASGDClassifier(random_state=0).fit(*tables(0))


def test_they_are_as_good_as_the_best_penalty_of_a_batch_fit(fitted: ASGDClassifier) -> None:
    rows, (X, y) = tables(0), tables(1, 3000)
    batch = (LogisticRegression(C=C, max_iter=300).fit(*rows) for C in (0.3, 1.0, 3.0, 10.0, 30.0))
    best = min(log_loss(y, one.predict_proba(X)) for one in batch)
    assert log_loss(y, fitted.predict_proba(X)) <= 1.05 * best
    assert fitted.best_candidate_["dense"]
    assert fitted.coef_.shape == (CLASSES, X.shape[1])


def test_columns_of_words_none_of_which_is_common() -> None:
    rows, (X, y) = (tables(seed, n, levels=8, alike=0.6) for seed, n in ((0, ROWS), (1, 3000)))
    learned = ASGDClassifier(random_state=0).fit(*rows)
    batch = (LogisticRegression(C=C, max_iter=300).fit(*rows) for C in (1.0, 3.0, 10.0))
    best = min(log_loss(y, one.predict_proba(X)) for one in batch)
    assert log_loss(y, learned.predict_proba(X)) <= 1.05 * best
    assert learned.best_candidate_["dense"]


def test_they_are_stored_and_go_on_with_words_not_seen_before(fitted: ASGDClassifier) -> None:
    X, y = tables(2, 200)
    X = X.tolil()
    X[:, -1] = 1.0
    learner = fitted._run.learner
    copies = [copy.deepcopy(learner), Learner.from_state(*copy.deepcopy(learner.state()))]
    for one in copies:
        one.learn(X.tocsr(), y)
    first, second = (one.state()[1] for one in copies)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    assert copies[0].rows_seen == ROWS + 200
    weights = copies[1].model().weights
    assert weights.shape == (X.shape[1], CLASSES)
    assert not weights[-1].any()


def test_more_rows_than_a_block_are_fitted_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyak.learn.dense.solver.BLOCK", 128)
    X, y = tables(0)
    learner = Learner(Recipe(loss="log_loss"), classes=np.arange(CLASSES), n_features=X.shape[1])
    assert learner.fit(X, y)
    learner.learn(X, y)
    assert learner.rows_seen == 2 * ROWS


def test_texts_of_rare_words_are_not_expanded() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(260) % 9)
    texts = sparse.csr_array(rng.poisson(20 * rng.dirichlet(np.full(300, 0.1), 9)[y]).astype(float))
    recipe = Recipe(loss="log_loss")
    assert not is_solved(recipe, as_rows(texts), 9, several=True)
    assert is_solved(recipe, as_rows(tables(0)[0]), CLASSES, several=True)

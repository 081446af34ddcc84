"""Several labels a row: as scikit-learn's one-vs-rest classifiers have them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from tests.in_process import polyak

from polyak import ASGDClassifier, LinearModel


def labelled(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Make rows that may have none of three labels, or all; one is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    W = np.random.default_rng(7).normal(size=(8, 3))
    return X, (X @ W + rng.logistic(size=(n, 3)) > [0.0, 1.0, 5.0]).astype(int)


X, Y = labelled(6000)
HELD, TRUE = labelled(3000, seed=1)


@pytest.fixture(scope="module")
def fitted() -> ASGDClassifier:
    return ASGDClassifier(random_state=0).fit(X, Y)


def lost(chance: Any) -> float:
    return float(-np.log(np.where(TRUE == 1, chance, 1.0 - chance)).sum(axis=1).mean())


def test_labels_are_told_as_well_as_by_scikit_learn(fitted: ASGDClassifier) -> None:
    best = OneVsRestClassifier(LogisticRegression(C=10.0)).fit(X, Y)
    assert fitted.predict(HELD).shape == TRUE.shape
    assert (fitted.classes_ == best.classes_).all()
    assert lost(fitted.predict_proba(HELD)) < 1.005 * lost(best.predict_proba(HELD))
    np.testing.assert_allclose(fitted.predict_proba(HELD), best.predict_proba(HELD), atol=0.05)
    assert fitted.score(HELD, TRUE) > best.score(HELD, TRUE) - 0.01
    ours, theirs = (f1_score(TRUE, m.predict(HELD), average="macro") for m in (fitted, best))
    assert ours > theirs - 0.02
    assert not fitted.to_model().softmax


def test_predictions_are_where_scores_are_positive(fitted: ASGDClassifier) -> None:
    scores = fitted.decision_function(HELD)
    np.testing.assert_array_equal(fitted.predict(HELD), (scores > 0).astype(int))
    np.testing.assert_allclose(fitted.predict_proba(HELD), 1 / (1 + np.exp(-scores)), rtol=1e-9)


def test_sparse_labels_come_back_sparse(fitted: ASGDClassifier) -> None:
    other = ASGDClassifier(random_state=0).fit(X, sparse.csr_matrix(Y))
    found = other.predict(HELD)
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), fitted.predict(HELD))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber"])
def test_every_label_has_probabilities_of_its_own(loss: str) -> None:
    model = ASGDClassifier(loss=loss, random_state=0).fit(X, Y)
    chance = model.predict_proba(HELD)
    np.testing.assert_array_equal(chance > 0.5, model.predict(HELD) == 1)
    best = OneVsRestClassifier(LogisticRegression(C=10.0)).fit(X, Y)
    assert lost(chance) < 1.1 * lost(best.predict_proba(HELD))


def test_a_constant_wins_where_features_say_nothing() -> None:
    noise = np.random.default_rng(5).normal(size=(4000, 3))
    model = ASGDClassifier(random_state=0).fit(noise, Y[:4000])
    expected = Y[:4000].mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(noise[:1])[0], expected, atol=0.02)
    assert model.recent_.constant_loss == pytest.approx(
        -(expected * np.log(expected) + (1 - expected) * np.log(1 - expected)).sum(), rel=0.03
    )


def test_files_and_copies_keep_them(fitted: ASGDClassifier, tmp_path: Path) -> None:
    fitted.to_model().save(tmp_path / "m")
    back = LinearModel.load(tmp_path / "m")
    assert back.multilabel
    np.testing.assert_array_equal(back.predict(HELD), fitted.predict(HELD))
    np.testing.assert_array_equal(back.predict_proba(HELD), fitted.predict_proba(HELD))
    np.testing.assert_array_equal(
        ASGDClassifier.from_model(back).predict(HELD), fitted.predict(HELD)
    )
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(HELD), fitted.predict(HELD))


def test_what_labels_cannot_have_is_refused(fitted: ASGDClassifier) -> None:
    with pytest.raises(ValueError, match="class_weight cannot be used with multilabel"):
        ASGDClassifier(class_weight="balanced").fit(X, Y)
    going_on = ASGDClassifier(random_state=0).partial_fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="y has 2 labels, but the first call had 3"):
        going_on.partial_fit(X[:100], Y[:100, :2])


def test_labels_are_zeros_and_ones() -> None:
    with pytest.raises(ValueError, match="row 0 of y has 2 for label"):
        ASGDClassifier().fit(X, np.where(np.arange(len(Y))[:, None] == 0, 2, 2 * Y))
    with pytest.raises(ValueError, match="NaN"):
        ASGDClassifier().fit(X, np.where(Y == 1, np.nan, 0.0))


def test_rows_of_one_label_each_are_evaluated_if_they_are_text(
    fitted: ASGDClassifier, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    fitted.to_model().save(model)
    (tmp_path / "one.svm").write_text("1 1:0.5\n")
    assert "rows           1\n" in polyak("evaluate", model, tmp_path / "one.svm").stdout
    np.savez(tmp_path / "one.npz", X=HELD[:2], y=np.zeros(2))
    said = polyak("evaluate", model, tmp_path / "one.npz", code=1)
    assert "the model has several labels per row, but these rows have one" in said.stderr

"""The learner: parts are merged, and rows learned again are not scored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from polyak.errors import DataError
from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.bank.merging import merge_banks
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.schedules import Polynomial
from polyak.rows.label_text import label_text

N, WIDTH = 3000, 30


def problem(kind: str, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return rows, targets and perhaps weights of one kind."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, WIDTH)) * (random.random((N, WIDTH)) < 0.3)
    scores = X @ np.random.default_rng(5).normal(size=(WIDTH, 3))
    y: Any = np.where(scores[:, 0] > 0, 1.0, -1.0)
    weights = None
    if kind == "names":
        y = np.array(["no", "perhaps", "yes"])[scores.argmax(axis=1)]
    elif kind == "values":
        y = scores[:, 0] + random.normal(size=N)
    elif kind == "outputs":
        y = scores[:, :2]
    elif kind == "weighted":
        weights = random.integers(0, 3, N).astype(float)
    return (X if kind == "dense" else sp.csr_matrix(X.astype(np.float32))), y, weights


RECIPES = {
    "two": Recipe(loss="squared_hinge", recipe="paper"),
    "dense": Recipe(loss="log_loss", recipe="auto"),
    "names": Recipe(recipe="auto", loss="squared_hinge"),
    "values": Recipe(loss="squared_error", recipe="auto"),
    "outputs": Recipe(loss="squared_error", average=100, recipe="paper"),
    "weighted": Recipe(loss="hinge", precondition=0.5, step="implicit", recipe="paper"),
}


def make(kind: str) -> Learner:
    return Learner(RECIPES[kind], outputs=2 if kind == "outputs" else 1)


def carried(learner: Learner) -> Learner:
    """Go through what a checkpoint file holds."""
    page, arrays = learner.state()
    return Learner.from_state(json.loads(json.dumps(page, allow_nan=False)), arrays)


def learn(learner: Learner, data: tuple[Any, Any, Any], start: int, stop: int) -> None:
    X, y, weights = data
    span = slice(start, stop)
    learner.learn(X[span], y[span], None if weights is None else weights[span])


def same(a: Learner, b: Learner) -> bool:
    one, other = a.state(), b.state()
    assert json.dumps(one[0]) == json.dumps(other[0])
    assert one[1].keys() == other[1].keys()
    return all(np.array_equal(one[1][k], other[1][k], equal_nan=True) for k in one[1])


def test_a_state_is_a_copy() -> None:
    data = problem("two")
    learner = make("two")
    learn(learner, data, 0, 2000)
    _, arrays = learner.state()
    before = {name: array.copy() for name, array in arrays.items()}
    learn(learner, data, 2000, N)
    assert all(np.array_equal(before[name], arrays[name], equal_nan=True) for name in before)


class TestAgain:
    @pytest.mark.parametrize("recipe", ["paper", "auto"])
    def test_known_rows_teach_but_prove_nothing(self, recipe: str) -> None:
        X, y, _ = problem("two")
        learner = Learner(Recipe(recipe=recipe, loss="squared_hinge"))
        learner.learn(X, y)
        before = learner.report()
        for _ in range(3):
            learner.learn(X, y, again=True)
        after = learner.report()
        assert after.rows == 4 * before.rows
        for name in ("progressive_loss", "progressive_error", "recent", "candidates"):
            assert getattr(after, name) == getattr(before, name)


class TestMerge:
    @pytest.mark.parametrize("kind", ["two", "names", "values", "outputs", "weighted"])
    def test_parts_know_about_as_much_as_the_whole(self, kind: str) -> None:
        parts = []
        for seed in (1, 2, 3):
            parts.append(make(kind))
            learn(parts[-1], problem(kind, seed), 0, N)
        alone = [part.model() for part in parts]
        rows = sum(part.rows_seen for part in parts)
        parts[0].merge(parts[1:])
        assert parts[0].rows_seen == rows
        X, y, _ = problem(kind, seed=9)

        def badness(model: Any) -> float:
            if model.classes is None:
                return float(np.mean((model.predict(X) - y) ** 2))
            return float(np.mean(model.predict(X) != y))

        merged = badness(parts[0].model())
        assert merged < np.mean([badness(model) for model in alone]) + 1e-9
        learn(parts[0], problem(kind, 4), 0, N)  # and learning goes on
        assert badness(parts[0].model()) < merged * 1.1

    def test_rows_kept_back_are_learned(self) -> None:
        parts = [make("two") for _ in range(3)]
        learn(parts[0], problem("two", 1), 0, 300)
        learn(parts[1], problem("two", 2), 0, N)
        learn(parts[2], problem("two", 3), 0, 500)
        parts[0].merge(parts[1:])
        assert parts[0].rows_seen == N + 800
        assert parts[0].race is not None

    def test_of_a_few_rows_each_is_learning_them_in_turn(self) -> None:
        parts, whole = [make("two") for _ in range(2)], make("two")
        for part, seed in zip(parts, (1, 2), strict=True):
            learn(part, problem("two", seed), 0, 700)
            learn(whole, problem("two", seed), 0, 700)
        parts[0].merge(parts[1:])
        assert same(parts[0], whole)

    def test_with_nothing_is_nothing_new(self) -> None:
        learner, fresh = make("two"), make("two")
        learn(learner, problem("two"), 0, N)
        before = learner.model().weights
        learner.merge([])
        np.testing.assert_allclose(learner.model().weights, before, rtol=1e-5, atol=1e-7)
        learner.merge([fresh])
        np.testing.assert_allclose(learner.model().weights, before, rtol=1e-5, atol=1e-7)

    def test_of_other_classes_is_refused(self) -> None:
        parts = [make("two"), make("names")]
        for part, kind in zip(parts, ("two", "names"), strict=True):
            learn(part, problem(kind), 0, N)
        with pytest.raises(DataError, match="different classes"):
            parts[0].merge(parts[1:])


class TestBankMerge:
    """What concerns weights, on its own."""

    AVERAGINGS = (Averaging(), Averaging(0), Averaging(0, 3.0), Averaging(None), Averaging(250))

    def bank(self, averaging: Averaging, rows: int, seed: int, **options: Any) -> Bank:
        random = np.random.default_rng(seed)
        X = random.normal(size=(rows, 4 + seed))
        bank = Bank(
            loss="squared_error",
            alpha=1e-3,
            schedule=Polynomial(0.02, 0.01, 2 / 3),
            averaging=averaging,
            **options,
        )
        if rows:
            bank.learn(X, X[:, :2].sum(axis=1) + random.normal(size=rows))
        return bank

    @pytest.mark.parametrize("averaging", AVERAGINGS, ids=str)
    def test_is_the_weighted_mean(self, averaging: Averaging) -> None:
        banks = [self.bank(averaging, rows, seed) for seed, rows in enumerate((500, 300, 0, 200))]
        share = np.array([0.5, 0.3, 0.0, 0.2])
        width = max(bank.n_features for bank in banks)

        def mean(read: Any) -> Any:
            padded = [np.pad(read(b), [(0, 0), (0, width - b.n_features)]) for b in banks]
            return np.tensordot(share, padded, 1)

        coef, last = mean(lambda b: b.coef), mean(lambda b: b.last_coef)
        intercept = share @ [b.intercept for b in banks]
        loss = sum(b.field("loss") for b in banks)
        merge_banks(banks[0], banks[1:])
        np.testing.assert_allclose(banks[0].last_coef, last, rtol=1e-12)
        np.testing.assert_allclose(banks[0].coef, coef, rtol=1e-12)
        np.testing.assert_allclose(banks[0].intercept, intercept, rtol=1e-12)
        np.testing.assert_allclose(banks[0].field("loss"), loss)
        assert banks[0].clock == 1000

    def test_later_rows_count_as_if_all_had_been_one(self) -> None:
        """After the merge a row weighs one in M, or with power 3 about four in M."""
        for power, weight in ((0.0, 1.0), (3.0, 4.0)):
            banks = [self.bank(Averaging(0, power), 50_000, seed) for seed in (0, 0)]
            merge_banks(banks[0], banks[1:])
            before = banks[0].coef.copy()
            banks[0].learn(np.zeros((1, 4)), np.zeros(1))
            moved = banks[0].coef - before
            expected = weight / 100_000 * (banks[0].last_coef - before)
            np.testing.assert_allclose(moved, expected, rtol=2e-2, atol=1e-12)

    def test_squares_add_up(self) -> None:
        banks = [self.bank(Averaging(), 100, seed, precondition=0.5) for seed in (0, 1)]
        squares = [bank.state()["squares"] for bank in banks]
        merge_banks(banks[0], banks[1:])
        np.testing.assert_allclose(
            banks[0].state()["squares"], np.pad(squares[0], (0, 1)) + squares[1]
        )

    def test_only_banks_of_a_kind(self) -> None:
        with pytest.raises(ValueError, match="same models and settings"):
            merge_banks(self.bank(Averaging(), 10, 0), [self.bank(Averaging(0), 10, 0)])


@pytest.mark.parametrize("classes", [[-1.0, 1.0], [1.0, -1.0], [0, 1], [2, 7]])
@pytest.mark.parametrize("dtype", [float, int, np.float32])
def test_two_classes_are_told_apart_in_any_order_and_type(classes, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    which = (X[:, 0] > 0).astype(int)
    labels = np.array(classes, dtype=dtype)[which]
    learner = Learner(Recipe(loss="squared_hinge", recipe="paper"), classes=np.array(classes))
    learner.learn(X, labels)
    as_words = Learner(
        Recipe(loss="squared_hinge", recipe="paper"), classes=np.array(["first", "second"])
    )
    as_words.learn(X, np.array(["first", "second"])[which])
    np.testing.assert_array_equal(learner.model().weights, as_words.model().weights)
    for stranger in (3, np.nan) if dtype is not int else (3,):
        labels[5] = stranger
        known = ", ".join(label_text(label) for label in np.array(classes))
        named = label_text(labels[5])
        with pytest.raises(DataError, match=rf"^row 5 has the label {named}, .* among {known}$"):
            learner.learn(X, labels)

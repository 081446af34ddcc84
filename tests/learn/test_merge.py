"""Merging, on its own: what the base knew counts once, and the order of merges leaves no trace."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
import pytest

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.bank.merging import merge_banks
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.schedules import Polynomial
from polyak.learn.score_histogram import ScoreHistogram
from polyak.losses import get_loss

AVERAGINGS = (Averaging(), Averaging(0), Averaging(0, 3.0), Averaging(0, 1.0), Averaging(None))


def rows(n: int, seed: int, width: int = 5) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, width))
    return X, np.where(X[:, 0] - X[:, 1] + random.normal(size=n) > 0, 1.0, -1.0)


def bank(averaging: Averaging, **options: Any) -> Bank:
    schedule = Polynomial(0.05, 0.01, 0.75)
    return Bank(loss="log_loss", alpha=1e-3, schedule=schedule, averaging=averaging, **options)


def same_banks(some: Bank, others: Bank, rtol: float) -> None:
    assert some.clock == others.clock
    for name in ("coef", "last_coef", "intercept", "last_intercept"):
        np.testing.assert_allclose(
            getattr(some, name), getattr(others, name), rtol=rtol, atol=rtol, err_msg=name
        )
    for name in ("start", "weight", "loss", "loss_squared", "error"):
        np.testing.assert_allclose(some.field(name), others.field(name), rtol=rtol, err_msg=name)
    np.testing.assert_allclose(
        some.field("total") / some.field("unit"), others.field("total") / others.field("unit")
    )
    one, other = some.state(), others.state()
    np.testing.assert_allclose(one["squares"], other["squares"], rtol=rtol)
    assert one["looked"] == other["looked"]


class TestBanks:
    def parts(self, averaging: Averaging, begin: int) -> tuple[Bank, list[Bank]]:
        """Return a base after ``begin`` rows, and four copies trained further, one with no rows."""
        base = bank(averaging, precondition=0.5)
        base.warm_up(rows(50, 7)[0])
        if begin:
            base.learn(*rows(begin, 1))
        parts = []
        for seed, n in enumerate((700, 1300, 0, 400)):
            parts.append(copy.deepcopy(base))
            if n:
                parts[-1].learn(*rows(n, 10 + seed, width=5 + seed))
        return base, parts

    @pytest.mark.parametrize("begin", [0, 50, 900])
    @pytest.mark.parametrize("averaging", AVERAGINGS, ids=str)
    def test_any_tree_gives_the_same(self, averaging: Averaging, begin: int) -> None:
        base, (a, b, c, d) = self.parts(averaging, begin)
        flat, left = copy.deepcopy(a), copy.deepcopy(a)
        merge_banks(flat, [b, c, d], base)
        for other in (b, c, d):
            merge_banks(left, [other], base)
        right = copy.deepcopy(c)
        merge_banks(right, [d], base)
        pair = copy.deepcopy(a)
        merge_banks(pair, [b], base)
        merge_banks(pair, [right], base)
        assert flat.clock == begin + 2400
        same_banks(left, flat, 1e-9)
        same_banks(pair, flat, 1e-9)

    @pytest.mark.parametrize("averaging", AVERAGINGS, ids=str)
    def test_of_one_alone_is_that_one(self, averaging: Averaging) -> None:
        base, (a, *_) = self.parts(averaging, 900)
        merged = copy.deepcopy(a)
        merge_banks(merged, [copy.deepcopy(base)], base)
        same_banks(merged, a, 1e-9)
        merged.learn(*rows(300, 5))
        a.learn(*rows(300, 5))
        same_banks(merged, a, 1e-7)  # and learning goes on as if nothing had happened

    def test_a_uniform_average_is_the_mean_of_all_iterates(self) -> None:
        """Checked against the iterates themselves, read out row by row."""
        base = bank(Averaging(0))
        base.learn(*rows(40, 1))
        iterates, parts = [], []
        one = bank(Averaging(0))
        for X, y in zip(*(half[:, None] for half in rows(40, 1)), strict=True):
            one.learn(X, y)
            iterates.append(one.last_coef[0].copy())
        for seed, n in ((2, 30), (3, 60)):
            part = copy.deepcopy(base)
            for X, y in zip(*(half[:, None] for half in rows(n, seed)), strict=True):
                part.learn(X, y)
                iterates.append(part.last_coef[0].copy())
            parts.append(part)
        merge_banks(parts[0], parts[1:], base)
        np.testing.assert_allclose(parts[0].coef[0], np.mean(iterates, axis=0), rtol=1e-10)

    def test_single_precision_loses_little(self) -> None:
        """Short parts of a long average: what each added is the difference of two close numbers."""
        merged = {}
        for dtype in ("float32", "float64"):
            base = bank(Averaging(0, 3.0), dtype=dtype)
            base.learn(*rows(20_000, 1))
            parts = [copy.deepcopy(base) for _ in range(8)]
            for seed, part in enumerate(parts):
                part.learn(*rows(500, seed))
            merge_banks(parts[0], parts[1:], base)
            merged[dtype] = parts[0]
        for name in ("last_coef", "coef"):
            some, others = (getattr(merged[dtype], name) for dtype in merged)
            np.testing.assert_allclose(some, others, rtol=1e-4, atol=1e-5)

    def test_the_base_is_of_the_same_kind(self) -> None:
        _, (a, b, *_) = self.parts(Averaging(0), 10)
        with pytest.raises(ValueError, match="same models and settings"):
            merge_banks(a, [b], bank(Averaging(0), precondition=1.0))


class TestHistograms:
    @pytest.mark.parametrize("counts", [(10, 20, 30), (1500, 300, 100), (5000, 4000, 9000)])
    def test_any_tree_gives_the_same(self, counts: tuple[int, ...]) -> None:
        random = np.random.default_rng(0)

        def count(histogram: ScoreHistogram, n: int) -> ScoreHistogram:
            scores = random.normal(size=(n, 2))
            histogram.add(scores, random.random((n, 2)) < 0.5, np.ones(n))
            return histogram

        base = count(ScoreHistogram(2), 900)
        a, b, c = (count(copy.deepcopy(base), n) for n in counts)
        flat, left, right = (copy.deepcopy(one) for one in (a, a, b))
        flat.merge([b, c], base)
        left.merge([b], base)
        left.merge([c], base)
        right.merge([c], base)
        other = copy.deepcopy(a)
        other.merge([right], base)
        assert flat.rows == 900 + sum(counts)
        for one in (left, other):
            np.testing.assert_allclose(one.counts.sum(axis=0), flat.counts.sum(axis=0))
            assert (one.rows, one.mark) == (flat.rows, flat.mark)
        assert flat.total() <= 900 + sum(counts)  # the base was counted once
        if sum(counts) < 100:
            assert flat.total() == 900 + sum(counts)


class TestLearners:
    RECIPES: ClassVar = {
        "odds": Recipe("log_loss", "auto"),
        "margin": Recipe("squared_hinge", "auto"),
        "classes": Recipe("squared_hinge", "auto"),
        "softmax": Recipe("log_loss", "auto"),
        "softmax by averaged SGD": Recipe("log_loss", "sgd"),
        "L1": Recipe("log_loss", "auto", penalty="l1"),
        "intervals": Recipe("log_loss", "auto", intervals=True),
        "replicas": Recipe("log_loss", "sgd", intervals=True),
        "poisson": Recipe("poisson", "auto"),
        "quantiles": Recipe("quantile(0.1,0.9)", "auto"),
    }
    HEAD, ROWS = 4000, 4000

    def learner(self, kind: str) -> Learner:
        return Learner(self.RECIPES[kind])

    def data(self, kind: str, n: int, seed: int) -> tuple[Any, Any]:
        X, y = rows(n, seed)
        rng = np.random.default_rng(seed)
        if kind in ("classes", "softmax", "softmax by averaged SGD"):
            return X, np.argmax(X[:, :3] + rng.normal(size=(n, 3)), axis=1)
        if kind == "poisson":
            return X, rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
        if not get_loss(self.RECIPES[kind].loss).classifies:
            return X, X[:, 0] + rng.normal(size=n)
        return X, y

    def parts(self, kind: str) -> tuple[Learner, list[Learner]]:
        base = self.learner(kind)
        base.learn(*self.data(kind, self.HEAD, 1))
        parts = []
        for seed in (2, 3, 4):
            part = Learner.from_state(*copy.deepcopy(base.state()))
            assert part.race is not None
            part.race.is_part = True
            part.learn(*self.data(kind, self.ROWS, seed))
            parts.append(part)
        return base, parts

    @pytest.mark.parametrize("kind", RECIPES)
    def test_parts_merge_in_any_tree_and_are_about_as_good_as_one(self, kind: str) -> None:
        base, (a, b, c) = self.parts(kind)
        # No candidate is eliminated within a part.
        assert a.race.running == base.race.running
        other = Learner.from_state(*copy.deepcopy(b.state()))
        other.merge([c], base)
        right = Learner.from_state(*copy.deepcopy(a.state()))
        right.merge([other], base)
        a.merge([b, c], base)
        for one in (a, right):
            one.race.settle()
            assert one.rows_seen == one.race.scored == self.HEAD + 3 * self.ROWS
        some, others = a.report(), right.report()
        assert some.best_candidate == others.best_candidate
        for name in ("progressive_loss", "progressive_error"):
            ours, theirs = getattr(some, name), getattr(others, name)
            assert ours == pytest.approx(theirs, rel=1e-9, nan_ok=True)
        one, other = a.model(), right.model()
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6, atol=1e-9)
        for ours, theirs in zip(one.sandwich or (), other.sandwich or (), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)
        if kind == "replicas":
            np.testing.assert_allclose(one.replicas, other.replicas, rtol=1e-6)
        assert right.race.running == a.race.running
        self.check_quality(kind, a)

    def check_quality(self, kind: str, merged: Learner) -> None:
        """Compare with one learner of all rows, and let the merged one go on learning."""
        whole = self.learner(kind)
        for seed, n in ((1, self.HEAD), (2, self.ROWS), (3, self.ROWS), (4, self.ROWS)):
            whole.learn(*self.data(kind, n, seed))
        X, y = self.data(kind, 20_000, 9)

        def loss(learner: Learner) -> float:
            model = learner.model()
            if model.classes is not None and len(model.classes) > 2:
                return float(np.mean(model.predict(X) != y))
            value = get_loss(model.loss).value
            return float(value(model.scores(X), y[:, None]).sum(axis=1).mean())

        assert loss(merged) < 1.005 * loss(whole)
        assert merged.recent()["constant_loss"] == pytest.approx(
            whole.recent()["constant_loss"], rel=0.1
        )
        curve = merged.report().winner.curve
        assert [mark for mark, _ in curve] == sorted(mark for mark, _ in curve)
        assert curve[-1][0] == merged.rows_seen
        merged.race.is_part = False
        merged.learn(*self.data(kind, 3000, 8))
        assert merged.rows_seen == self.HEAD + 3 * self.ROWS + 3000
        assert np.isfinite(merged.report().recent.loss)

    def test_the_state_of_a_merged_learner_can_be_kept(self) -> None:
        base, (a, b, c) = self.parts("margin")
        a.merge([b, c], base)
        a.race.settle()
        again = Learner.from_state(*copy.deepcopy(a.state()))
        for learner in (a, again):
            learner.learn(*self.data("margin", 3000, 8))
        np.testing.assert_array_equal(a.model().weights, again.model().weights)
        np.testing.assert_array_equal(a.model().sigmoids, again.model().sigmoids)

    def test_few_rows_are_learned_in_turn_and_none_change_nothing(self) -> None:
        *parts, none, whole = (Learner(Recipe("squared_hinge", "paper")) for _ in range(4))
        for part, seed in zip(parts, (1, 2), strict=True):
            for learner in (part, whole):
                learner.learn(*rows(700, seed))
        parts[0].merge(parts[1:])
        np.testing.assert_array_equal(parts[0].model().weights, whole.model().weights)
        parts[0].merge([none])
        assert parts[0].rows_seen == 1400
        np.testing.assert_allclose(parts[0].model().weights, whole.model().weights, rtol=1e-5)

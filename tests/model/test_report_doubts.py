"""Where a model is not what was asked for, its report says so."""

from __future__ import annotations

from typing import Any

import pytest

from polyak.model.training_report import AveragingReport, CandidateReport, Rate, TrainingReport

KNOWN = {"number": 0, "running": True, "rows": 9, "progressive_loss": 0.5}
SGD = {
    "alpha": 0.1,
    "schedule": Rate(1.0, 0.1, 0.5),
    "averaging": AveragingReport("auto", 0.0),
    "step": "implicit",
    "precondition": 0.0,
}


def doubts(winner: dict[str, Any], **recipe: Any) -> list[str]:
    known = {"recipe": "auto", "loss": "log_loss", "alpha": "auto", "intervals": False}
    report = TrainingReport(
        rows=9, candidates=(CandidateReport(**KNOWN, **winner),), recipe=known | recipe
    )
    return report.doubts


def test_averaged_sgd_is_not_at_an_optimum() -> None:
    assert doubts(SGD) == []
    (one,) = doubts(SGD, alpha=0.1)
    assert "too many features to find the optimum with alpha=0.1" in one
    assert "the optimum with no penalty" in doubts(SGD, alpha=0)[0]
    assert "the optimum with intervals=True" in doubts(SGD, intervals=True)[0]


def test_features_that_are_left_out() -> None:
    newton = {"penalty": 0.1, "alpha": 0.1, "frequent": True}
    assert "only those that most rows have" in doubts(newton, alpha=0.1)[0]
    assert doubts(newton) == []


def test_what_only_averaged_sgd_has() -> None:
    assert doubts(SGD, alpha=0.1, recipe="sgd") == []
    assert doubts(SGD, alpha=0.1, eta0=1.0) == []
    assert doubts(SGD, alpha=0.1, loss="hinge") == []
    assert doubts(SGD, alpha=0.1, penalty="l1") == []


def test_other_methods() -> None:
    assert doubts({"penalty": 0.1, "alpha": 0.1}, alpha=0.1) == []
    assert "the best constant" in doubts({"constant": True}, alpha=0.1)[0]
    assert doubts({"constant": True}) == []


def test_an_unknown_loss() -> None:
    with pytest.raises(ValueError, match="no loss called 'nothing'"):
        doubts(SGD, loss="nothing")

"""The race of the candidates, in words and as a table."""

from __future__ import annotations

import math
from typing import Any

from polyak.losses import get_loss
from polyak.model.candidate_text import HEADS, settings_cells, settings_text
from polyak.model.training_report import CandidateReport, TrainingReport


def winner(report: TrainingReport) -> dict[str, Any] | None:
    """Find the settings of the candidate that won, where there was a race."""
    if len(report.candidates) < 2:
        return None
    best = report.winner
    settings: dict[str, Any] = {}
    if best.penalty is not None:
        settings = {"penalty": best.penalty} if best.alpha is None else {"alpha": best.alpha}
    elif best.schedule is not None:
        settings = {
            "precondition": best.precondition,
            "learning_rate": best.schedule._asdict(),
            "alpha": best.alpha,
        }
    return {"method": best.method, **settings} | {
        "candidates": len(report.candidates),
        "survivors": report.survivors,
        "rows": best.rows,
    }


def winner_words(report: TrainingReport) -> dict[str, str]:
    """Return which candidate won, and among how many candidates.

    Examples
    --------
    >>> some = [
    ...     CandidateReport(penalty=9.0, number=n, running=True, rows=4000, progressive_loss=None)
    ...     for n in (0, 1)
    ... ]
    >>> winner_words(TrainingReport(rows=4000, candidates=tuple(some)))["race"]
    '2 candidates, 2 of them still running at row 4,000'
    """
    if len(report.candidates) < 2:
        return {}
    return {
        "winner": settings_text(report.winner),
        "race": (
            f"{len(report.candidates)} candidates, {report.survivors} of them still running "
            f"at row {report.winner.rows:,}"
        ),
    }


def error_name(classifies: bool) -> str:
    """Return what the error of a model is: a share of wrong rows, or a mean distance."""
    return "error_rate" if classifies else "mean_absolute_error"


def recent_words(report: TrainingReport, loss: str) -> dict[str, str]:
    """Return the figures of the model and of a constant on rows that they had not learned.

    Those were left out in turn, or are the later half, each predicted before it was learned.
    """
    recent = report.recent
    if recent is None or recent.loss is None or recent.loss_std_err is None:
        return {}
    rows = "on_rows_left_out" if recent.left_out else "of_later_half"
    words = {f"loss_{rows}": f"{recent.loss:.6g} ± {recent.loss_std_err:.2g}"}
    figures = {
        "loss_of_a_constant": recent.constant_loss,
        "r2": recent.r2,
        f"{error_name(get_loss(loss).classifies)}_{rows}": recent.error,
        "rows_with_capped_losses": recent.capped or None,
    }
    return words | {name: f"{one:.6g}" for name, one in figures.items() if one is not None}


def whole_past_words(report: TrainingReport, loss: str) -> dict[str, Any]:
    """Return the model's figures since the first row: averages over its whole past.

    Where rows were left out in turn they had no say in the choice, and there are none.
    """
    if report.recent is not None and report.recent.left_out:
        return {}
    return {
        "loss_since_first_row": report.progressive_loss,
        f"{error_name(get_loss(loss).classifies)}_since_first_row": report.progressive_error,
    }


def candidates_table(report: TrainingReport) -> tuple[list[str], list[list[str]]]:
    """List the candidates as heads and lines, those that came furthest first."""
    heads = ["", "rows", "loss", *HEADS]

    def place(one: CandidateReport) -> tuple[bool, int, float]:
        # Later losses tell more, but what they all have is the loss so far.
        loss = math.inf if one.progressive_loss is None else one.progressive_loss
        return one.number != report.best_candidate, -one.rows, loss

    lines = [
        [
            "winner" if one is report.winner else "running" if one.running else "",
            f"{one.rows:,}",
            "-" if one.progressive_loss is None else f"{one.progressive_loss:.6g}",
            *settings_cells(one),
        ]
        for one in sorted(report.candidates, key=place)
    ]
    return heads, lines

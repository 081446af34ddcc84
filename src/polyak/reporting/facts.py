"""Figures of a training report, prepared for the charts."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.model.training_report import CandidateReport, TrainingReport

Curve = list[tuple[float, float]]


def curve(points: Sequence[tuple[int, float | None]]) -> Curve:
    """Return a candidate's mean loss over the later half of the rows up to each milestone.

    The means between two milestones alone would be noisy, the first being those of single rows.

    Examples
    --------
    >>> curve([(1, 4.0), (2, 2.0), (4, 1.0)])
    [(1.0, 4.0), (2.0, 2.0), (4.0, 1.0)]
    >>> curve([(2, 4.0), (3, 1.0), (4, 1.0)])
    [(2.0, 4.0), (3.0, 3.0), (4.0, 1.0)]
    """
    marks = [(float(rows), loss) for rows, loss in points if loss is not None]
    found: Curve = []
    for place, (rows, _) in enumerate(marks):
        total = weight = 0.0
        for back in range(place, -1, -1):
            end, loss = marks[back]
            if back < place and end <= rows / 2:
                break
            begin = marks[back - 1][0] if back else 0.0
            total, weight = total + (end - begin) * loss, weight + end - begin
        if weight > 0:
            found.append((rows, total / weight))
    return found


def later(curve: Curve, starts: Sequence[int] = ()) -> Curve:
    """Return the curve without its noisy first rows, if there are many rows."""
    few = 100.0 if curve[-1][0] >= 5000 else 10.0
    first = min([few, *(t0 / 2 for t0 in starts if t0 > 0)])
    shown = [point for point in curve if point[0] >= first]
    return shown if len(shown) > 1 else curve


def race(report: TrainingReport) -> list[tuple[CandidateReport, Curve]]:
    """Return every candidate with its loss relative to the winner's; empty without a race.

    All are scored on the same rows, so the difficulty of the rows cancels out.
    """
    won = curve(report.winner.curve)
    if len(report.candidates) < 2 or not won:
        return []
    base = {rows: loss for rows, loss in later(won) if loss > 0}
    found = []
    for one in report.candidates:
        if one.constant and one is not report.winner:
            continue  # its loss is usually so much larger that it would flatten the other curves
        behind = [(rows, loss / base[rows] - 1) for rows, loss in curve(one.curve) if rows in base]
        if behind:
            found.append((one, behind))
    return found


def runners(report: TrainingReport) -> list[CandidateReport]:
    """Return all candidates, without the constant unless it won."""
    return [one for one in report.candidates if not one.constant or one is report.winner]


def averaging_starts(report: TrainingReport) -> list[int]:
    """Return the row after which averaging began, for each output where it did."""
    return [t0 for t0 in report.average_start if t0 is not None]

"""What a training report says, made ready for drawing."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.model.training_report import CandidateReport, TrainingReport

Curve = list[tuple[float, float]]


def curve(points: Sequence[tuple[int, float | None]]) -> Curve:
    """Give a candidate's mean loss over the newer half of the rows, at each mark.

    The means between two marks jump up and down, early ones being those of a single row.

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
    """Leave out the first rows, if there are many: a mean over a few of them is mere noise."""
    few = 100.0 if curve[-1][0] >= 5000 else 10.0
    first = min([few, *(t0 / 2 for t0 in starts if t0 > 0)])
    shown = [point for point in curve if point[0] >= first]
    return shown if len(shown) > 1 else curve


def race(report: TrainingReport) -> list[tuple[CandidateReport, Curve]]:
    """Give every candidate with its loss relative to the winner's; nothing if there was no race.

    All are scored on the same rows, so what is hard or easy about those cancels out.
    """
    won = curve(report.winner.curve)
    if len(report.candidates) < 2 or not won:
        return []
    base = {rows: loss for rows, loss in later(won) if loss > 0}
    found = []
    for one in report.candidates:
        if one.constant and one is not report.winner:
            continue  # it is far behind, as a rule, and would flatten all others
        behind = [(rows, loss / base[rows] - 1) for rows, loss in curve(one.curve) if rows in base]
        if behind:
            found.append((one, behind))
    return found


def runners(report: TrainingReport) -> list[CandidateReport]:
    """Give all candidates but the constant, which is there to compare with, unless it won."""
    return [one for one in report.candidates if not one.constant or one is report.winner]


def averaging_starts(report: TrainingReport) -> list[int]:
    """List the rows after which averaging began, one an output where it did."""
    return [t0 for t0 in report.average_start if t0 is not None]

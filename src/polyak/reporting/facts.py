"""What a model says about itself, made ready for drawing. Anything may be missing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyak.model.features import feature_name, units
from polyak.model.linear import LinearModel
from polyak.reporting.words import is_number
from polyak.rows.labels import label_text

Curve = list[tuple[float, float]]


def as_model(source: Any) -> tuple[LinearModel, list[str] | None]:
    """Give the model of a model, a file or a fitted estimator, and its features' names."""
    if isinstance(source, str | os.PathLike):
        source = LinearModel.load(source)
    names = getattr(source, "feature_names_in_", None)
    model = source.to_model() if hasattr(source, "to_model") else source
    if not isinstance(model, LinearModel):
        raise TypeError(f"a report is made of a model or an estimator, not {type(source).__name__}")
    names = model.about.get("feature_names") if names is None else names
    return model, None if names is None else [str(name) for name in names]


def curve(candidate: dict[str, Any]) -> Curve:
    """Give a candidate's mean loss over the newer half of the rows, at each mark.

    The means between two marks jump up and down, early ones being those of a single row.

    Examples
    --------
    >>> curve({"curve": [[1, 4.0], [2, 2.0], [4, 1.0]]})
    [(1.0, 4.0), (2.0, 2.0), (4.0, 1.0)]
    >>> curve({"curve": [[2, 4.0], [3, 1.0], [4, 1.0]]})
    [(2.0, 4.0), (3.0, 3.0), (4.0, 1.0)]
    """
    marks = [
        (float(rows), float(loss))
        for rows, loss in candidate.get("curve") or []
        if is_number(rows) and is_number(loss)
    ]
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


def race(model: LinearModel) -> list[tuple[dict[str, Any], Curve]]:
    """Give every candidate with its loss relative to the winner's; nothing if there was no race.

    All are scored on the same rows, so what is hard or easy about those cancels out.
    """
    runners, won = candidates(model), curve(winner(model))
    if len(runners) < 2 or not won:
        return []
    base = {rows: loss for rows, loss in later(won) if loss > 0}
    found = []
    for candidate in runners:
        behind = [(rows, loss / base[rows] - 1) for rows, loss in curve(candidate) if rows in base]
        if behind:
            found.append((candidate, behind))
    return found


def candidates(model: LinearModel) -> list[dict[str, Any]]:
    """List the candidates, if any are known."""
    return [c for c in model.about.get("candidates") or [] if isinstance(c, dict)]


def winner(model: LinearModel) -> dict[str, Any]:
    """Give the candidate that the model is of; its settings at least, if it is not listed."""
    about = model.about
    for candidate in candidates(model):
        if candidate.get("number") == about.get("best_candidate"):
            return candidate
    return {
        "alpha": about.get("alpha"),
        "schedule": about.get("learning_rate"),
        "step": about.get("step"),
        "precondition": about.get("precondition"),
    }


def averaging_starts(model: LinearModel) -> list[int]:
    """List the rows after which averaging began, one an output where it did."""
    return [int(t0) for t0 in model.about.get("average_start") or [] if is_number(t0)]


def heaviest(model: LinearModel, names: list[str] | None, most: int) -> list[dict[str, Any]]:
    """List the largest weights: the feature's name, the weight, its interval where it is known."""
    sizes = np.abs(model.weights).ravel()
    interval = None
    if model.replicas is not None:
        from polyak.model.intervals import weight_interval

        interval = weight_interval(model)
    outputs = model.weights.shape[1]
    first = model.about.get("first_id", 0)
    unit = units(model.about, model.n_features)
    found = []
    for place in np.argsort(-sizes, kind="stable")[:most].tolist():
        feature, output = divmod(place, outputs)
        if not sizes[place] > 0:
            break
        known = names is not None and feature < len(names)
        name = names[feature] if known and names else feature_name(model.about, feature)
        if name is None:
            name = f"feature {feature + int(first)}"
        weight = float(model.weights[feature, output] / unit[feature])
        entry = {"name": name, "weight": weight, "of": _output(model, output), "interval": None}
        if interval is not None:
            entry["interval"] = tuple(
                float(end[feature, output] / unit[feature]) for end in interval
            )
        found.append(entry)
    return found


def _output(model: LinearModel, output: int) -> str | None:
    if model.weights.shape[1] == 1:
        return None
    return f"output {output + 1}" if model.classes is None else label_text(model.classes[output])

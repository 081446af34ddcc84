"""The race of the candidates, in words and as a table."""

from __future__ import annotations

from typing import Any


def winner(about: dict[str, Any]) -> dict[str, Any] | None:
    """Find the settings of the candidate that won, where there was a race."""
    candidates = about.get("candidates") or []
    if len(candidates) < 2 or "best_candidate" not in about:
        return None
    best: dict[str, Any] = candidates[about["best_candidate"]]
    if "penalty" in best:
        settings = {"method": "newton", "penalty": best["penalty"]}
    else:
        settings = {
            "method": "averaged SGD",
            "precondition": best["precondition"],
            "learning_rate": best["schedule"],
            "alpha": best["alpha"],
        }
    return settings | {
        "candidates": len(candidates),
        "survivors": sum(1 for candidate in candidates if candidate["running"]),
        "rows": best["rows"],
    }


def winner_words(about: dict[str, Any]) -> dict[str, str]:
    """Say which candidate won, and against how many.

    Examples
    --------
    >>> schedule = {"gamma0": 0.25, "a": 0.001, "c": 0.75}
    >>> one = {"precondition": 0.5, "schedule": schedule, "alpha": 1e-6, "running": True}
    >>> one |= {"rows": 4000}
    >>> winner_words({"candidates": [one, one], "best_candidate": 0})["race"]
    '2 candidates, 2 of them still running at row 4,000'
    """
    found = winner(about)
    if found is None:
        return {}
    return {
        "winner": _settings_words(found),
        "race": (
            f"{found['candidates']} candidates, {found['survivors']} of them still running "
            f"at row {found['rows']:,}"
        ),
    }


def _settings_words(found: dict[str, Any]) -> str:
    if found["method"] == "newton":
        return f"block Newton steps, penalty {found['penalty']:g}"
    rate = found["learning_rate"]
    return (
        f"averaged SGD, preconditioner {found['precondition']:g}, "
        f"learning rate {rate['gamma0']:.3g}, decay {rate['a']:.3g} to the power {rate['c']:.3g}, "
        f"alpha {found['alpha']:.3g}"
    )


def recent_words(about: dict[str, Any]) -> dict[str, str]:
    """Say how the model did on the later half of the rows, each before it was learned."""
    recent = about.get("recent") or {}
    loss, error = recent.get("loss"), recent.get("loss_std_err")
    if loss is None or error is None or loss != loss:
        return {}
    return {"loss_of_later_half": f"{loss:.6g} ± {error:.2g}"}


def candidates_table(about: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """List the candidates as heads and lines, those that came furthest first."""
    heads = ["", "rows", "loss", "method", "penalty", "preconditioner", "rate", "decay", "power"]
    candidates = about.get("candidates") or []
    best = about.get("best_candidate")
    lines = [
        [
            "winner" if number == best else "running" if one["running"] else "",
            f"{one['rows']:,}",
            "-" if one["progressive_loss"] is None else f"{one['progressive_loss']:.6g}",
            *_settings_cells(one),
        ]
        for number, one in sorted(
            enumerate(candidates),
            key=lambda pair: (
                pair[0] != best,
                -pair[1]["rows"],
                # Later losses tell more, but what they all have is the loss so far.
                float("inf")
                if pair[1]["progressive_loss"] is None
                else pair[1]["progressive_loss"],
            ),
        )
    ]
    return heads, lines


def _settings_cells(one: dict[str, Any]) -> list[str]:
    """Give a candidate's method and settings; what its method does not have is a dash."""
    if "penalty" in one:
        return ["newton", f"{one['penalty']:g} rows", *["-"] * 4]
    return [
        "sgd",
        f"{one['alpha']:.3g}",
        f"{one['precondition']:g}",
        f"{one['schedule']['gamma0']:.3g}",
        f"{one['schedule']['a']:.3g}",
        f"{one['schedule']['c']:.3g}",
    ]

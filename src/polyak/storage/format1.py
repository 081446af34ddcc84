"""Model files of format 1, which had one dict ``about`` for all but the weights."""

from __future__ import annotations

from typing import Any

from polyak.storage.container import Page
from polyak.storage.shapes import many, maybe, record

_FEATURES = {"first_id": "first_id", "hashed_bits": "bits", "hashed_names": "names"}
_SETTINGS = ("penalty", "alpha", "step", "precondition")
_OLD = record(
    {
        "features": record(),
        "about": record(
            None,
            candidates=maybe(many(record())),
            learning_rate=maybe(record()),
        ),
    }
)


def from_format1(page: Page) -> Page:
    """Say in the words of format 2 what a page of format 1 says."""
    _OLD(page, "page")
    about = page["about"]
    features = {new: about[old] for old, new in _FEATURES.items() if about.get(old) is not None}
    if about.get("schema") is not None:
        features = {"schema": about["schema"], "names": about.get("hashed_names") or {}}
    elif "bits" in features:
        features.pop("first_id", None)
    known = about.get("candidates") or about.get("learning_rate")
    report = _report(about) if known and about.get("rows") is not None else None
    return page | {"features": page["features"] | features, "report": report}


def _report(about: dict[str, Any]) -> dict[str, Any]:
    report = {name: value for name, value in about.items() if value is not None}
    if not report.get("candidates"):  # the first models kept the winner's settings alone
        rate = report.get("learning_rate") or {}
        report["candidates"] = [
            {"precondition": 0.0}
            | {name: report[name] for name in _SETTINGS if name in report}
            | {"schedule": {name: rate[name] for name in rate if name != "M"} or None}
            | {"largest_squared_length": rate.get("M"), "running": True, "rows": about["rows"]}
            | {"progressive_loss": report.get("progressive_loss")}
        ]
        report["best_candidate"] = 0
    report["candidates"] = [
        {"number": number, "running": False, "rows": 0, "progressive_loss": None} | candidate
        for number, candidate in enumerate(report["candidates"])
    ]
    return report

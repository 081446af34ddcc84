"""The sections of the page, in order."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.data.tables.look import READ_AS
from polyak.model.candidate_text import settings_cells, settings_text
from polyak.model.schema import Schema
from polyak.model.training_report import (
    CandidateReport,
    ColumnReport,
    SourceReport,
    TrainingReport,
)
from polyak.reporting import facts
from polyak.reporting.checks import (
    advice,
    calibration_section,
    confusion_section,
    residuals_section,
)
from polyak.reporting.drawing import candidates, curves
from polyak.reporting.drawing.weights import weights_chart
from polyak.reporting.effects import effects
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.section import both, section
from polyak.reporting.subject import Subject
from polyak.reporting.summary import summary
from polyak.reporting.words import DECAY, count, measured, number

MOST_OPEN = 15
"""A longer table of columns is folded."""


def sections(subject: Subject) -> list[Markup]:
    """Return the sections that have content."""
    report = subject.report
    parts = [
        confusion_section(subject),
        residuals_section(subject),
        advice(subject),
        _weights(subject),
        _columns(subject),
    ]
    if report is not None:
        parts += [_loss(report), _race(report)]
    small = [calibration_section(subject), None if report is None else _rate(report)]
    if all(small):
        parts.append(element("div", *(one for one in small if one), class_="pair"))
    else:
        parts += small
    return [part for part in (*parts, summary(subject)) if part]


def _weights(subject: Subject) -> Markup | None:
    model = subject.model
    entries, known = effects(model)
    if not entries:
        return None
    if known:
        axis = "effect"
        words = (
            "The features with the largest effect on the score, largest first. Effect is the "
            "weight times the feature's standard deviation, so that features in different units "
            "can be compared. On the right is the weight itself, per unit of the feature."
        )
    else:
        axis, words = "weight", "The largest weights, each per unit of its own feature."
    if entries[0].interval is not None:
        from polyak.model.intervals import doubt, kind_words

        words += (
            f" Lines are 95% intervals, from the {kind_words(model)}; where a dot is hollow, the "
            "interval includes zero."
        )
        found = doubt(model)
        if found is not None:
            words += f" {found[0].upper()}{found[1:]}."
    if len(subject.classes) == 2:
        words += f" Features to the right of zero make {subject.classes[1]} more likely."
    return section("What matters most", words, lambda width: weights_chart(entries, axis, width))


def _columns(subject: Subject) -> Markup | None:
    """Return the table of columns: what each was read as, its values, and the missing share."""
    source = None if subject.report is None else subject.report.source
    schema = subject.model.features.schema
    if schema is None:
        return None
    table, total = _described(source, schema)
    words = f"How {count(total, 'column')} of the table became features."
    if source is not None and source.columns:
        words += " Ranges and shares are those of the first rows."
    if len(schema.columns) > MOST_OPEN:
        table = element("details", element("summary", "Show the columns"), table)
    return element("section", element("h2", "Columns"), element("p", words), table)


def _described(source: SourceReport | None, schema: Schema) -> tuple[Markup, int]:
    if source is None or not source.columns:
        rows = [[column.name, READ_AS[column.kind]] for column in schema.columns]
        target = schema.target
        rows += [] if target is None else [[target.name, "target"]]
        return _table(("Column", "Read as"), rows), len(rows)
    heads, lines = ["Column", "Read as", "Values", "Missing"], [*map(_cells, source.columns)]
    if source.others:
        lines.append([f"… and {source.others:,} more", "", "", ""])
    if not any(line[3] for line in lines):
        heads, lines = heads[:3], [line[:3] for line in lines]
    return _table(heads, lines), len(source.columns) + source.others


def _cells(column: ColumnReport) -> list[str]:
    missing = "" if not column.missing else f"{column.missing:.0%}"
    if column.missing and missing == "0%":
        missing = "<1%"
    return [column.name or "(no name)", column.read_as, column.values, missing]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    return element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *(element("tr", *(element("td", x) for x in row)) for row in rows)),
        class_="columns",
    )


def _loss(report: TrainingReport) -> Markup | None:
    curve = facts.curve(report.winner.curve)
    if not curve:
        return None
    constant = next((one for one in report.candidates if one.constant), None)
    level = [] if constant is None or constant is report.winner else facts.curve(constant.curve)
    starts = facts.averaging_starts(report)
    words = (
        "The mean loss over the newer half of the rows so far, each predicted before it was "
        "learned. Lower is better."
    )
    if len(curve) == 1:
        words += " All rows were learned at once, so there is one point."
    if starts and max(starts) > 0:
        words += " Averaging began at t₀."
    elif starts:
        words += " Averaging began with the first row (t₀ = 0)."
    return section(
        "Loss while learning",
        words,
        lambda width: curves.loss_chart(curve, level, starts, width),
    )


def _race(report: TrainingReport) -> Markup | None:
    best = report.best_candidate
    runners = facts.runners(report)
    if len(runners) < 2:
        return None
    dropped = [one for one in runners if not one.running]
    details = [_behind(report), _all_candidates(report)]
    won = settings_text(report.winner, number)
    words = (
        f"{count(len(runners), 'candidate')}, each a method with its settings, learned from the "
        "same rows at the same time. "
    )
    if not dropped:
        words += f"There were too few rows to drop any of them. The best is the model: {won}."
        shown = [part for part in details if part]
        return element("section", element("h2", "The race"), element("p", words), *shown)
    words += (
        "A line is a candidate. Each time the number of rows doubled, those with the largest loss "
        "were dropped, and their lines end there."
    )
    keys = element(
        "span",
        element("span", class_="key", aria_hidden="true"),
        f"the model: {won}\u2003",
        element("span", class_="key grey", aria_hidden="true"),
        "the others",
        class_="keys",
    )
    return section(
        "The race",
        joined(words, keys),
        lambda width: candidates.timeline_chart(runners, best, width),
        *(part for part in details if part),
    )


def _behind(report: TrainingReport) -> Markup | None:
    """Return a folded chart of each candidate's loss relative to the winner's."""
    best, behind = report.best_candidate, facts.race(report)
    if not behind:
        return None
    drawn = both(lambda width: candidates.behind_chart(behind, best, width))
    words = "How far each candidate's loss was above the winner's, over the same rows."
    title = "How far behind the others were"
    return element("details", element("summary", title), element("p", words), *drawn)


def _all_candidates(report: TrainingReport) -> Markup:
    """Return a folded table of the candidates, ordered by the rows they learned."""
    heads = ("No.", "Rows", "Loss", "Method", "Penalty", "p", "γ₀", "a", "c")
    lines = []
    for candidate in _by_rows(report.candidates):
        cells = [
            str(candidate.number),
            f"{candidate.rows:,}",
            measured(candidate.progressive_loss),
            *settings_cells(candidate, number, none="–"),
        ]
        won = "won" if candidate.number == report.best_candidate else None
        lines.append(element("tr", *(element("td", cell) for cell in cells), class_=won))
    table = element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *lines),
    )
    scroll = element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label="Candidates"
    )
    return element("details", element("summary", "All candidates"), scroll)


def _by_rows(candidates: Sequence[CandidateReport]) -> list[CandidateReport]:
    return sorted(candidates, key=lambda one: (-one.rows, one.number))


def _rate(report: TrainingReport) -> Markup | None:
    rate, rows = report.winner.schedule, report.rows
    if rate is None or not rows:
        return None
    starts = facts.averaging_starts(report)
    words = joined("γₜ = γ₀ ", DECAY, f", beginning at γ₀\xa0=\xa0{number(rate.gamma0)}.")
    return section(
        "Learning rate",
        words,
        lambda width: curves.rate_chart(rate, rows, starts, width),
        half=True,
    )

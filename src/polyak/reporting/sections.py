"""The sections of the page, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polyak.data.tables.look import READ_AS
from polyak.losses import get_loss
from polyak.model.candidate_text import settings_cells, settings_text
from polyak.model.schema import Schema
from polyak.model.training_report import (
    ColumnReport,
    SourceReport,
    TrainingReport,
)
from polyak.reporting import facts
from polyak.reporting.drawing import candidates, curves
from polyak.reporting.drawing.plot import NARROW, WIDE
from polyak.reporting.drawing.terms import term_chart
from polyak.reporting.drawing.weights import weights_chart
from polyak.reporting.effects import effects, panels
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.subject import Subject
from polyak.reporting.summary import summary
from polyak.reporting.words import DECAY, count, measured, number, percent

MOST_OPEN = 15
"""A longer table of columns is folded."""
LEAST_POINTS = 5


def sections(subject: Subject) -> list[Markup]:
    """Return the sections that have content."""
    report = subject.report
    parts = [
        _confusion(subject),
        _residuals(subject),
        _advice(subject),
        _weights(subject),
        _columns(subject),
    ]
    if report is not None:
        parts += [_loss(report), _race(report)]
    small = [_calibration(subject), None if report is None else _rate(report)]
    if all(small):
        parts.append(element("div", *(one for one in small if one), class_="pair"))
    else:
        parts += small
    return [part for part in (*parts, summary(subject)) if part]


def _weights(subject: Subject) -> Markup | None:
    model = subject.model
    if model.terms is not None:
        return _terms(subject)
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
    return _section("What matters most", words, lambda width: weights_chart(entries, axis, width))


def _terms(subject: Subject) -> Markup:
    """Return the effects of an additive model, a chart each."""
    model, shown = subject.model, panels(subject.model)
    words = (
        "What each column adds to the score, all else being equal; those that vary most come "
        "first. Bands and lines are 95% intervals, ticks along an axis are quantiles of the rows. "
        "Pairs show what two columns add together: blue is more, orange is less."
    )
    if len(subject.classes) == 2:
        words += f" Above zero {subject.classes[1]} is more likely."
    elif get_loss(model.loss).log_link:
        words += " The score is the logarithm of the prediction."
    charts = [
        element(
            "div",
            element("h3", panel.title),
            element("p", f"{panel.note}; {panel.range}"),
            term_chart(panel, f"term{k}", shown),
            class_="panel",
        )
        for k, panel in enumerate(shown)
    ]
    drawn = element("div", *charts, class_="pair panels")
    return element("section", element("h2", "Effects"), element("p", words), drawn)


def _columns(subject: Subject) -> Markup | None:
    """Return the table of columns: what each was read as, its values, and the missing share."""
    source = None if subject.report is None else subject.report.source
    schema = subject.model.features.schema
    if schema is None:
        return None
    table, total = _described(source, schema)
    words = f"How {count(total, 'column')} of the table became features."
    if source is not None and source.columns and source.rows < (subject.rows or 0):
        words += f" Ranges and shares are those of the first {source.rows:,} rows."
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
        _heads(heads),
        element("tbody", *(element("tr", *(element("td", x) for x in row)) for row in rows)),
        class_="columns",
    )


def _heads(heads: Sequence[str]) -> Markup:
    return element("thead", element("tr", *(element("th", head, scope="col") for head in heads)))


def _scrolled(table: Markup, label: str) -> Markup:
    """Return a table that scrolls sideways on a narrow screen."""
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


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
    return _section(
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
    return _section(
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
    drawn = _both(lambda width: candidates.behind_chart(behind, best, width))
    words = "How far each candidate's loss was above the winner's, over the same rows."
    title = "How far behind the others were"
    return element("details", element("summary", title), element("p", words), *drawn)


def _all_candidates(report: TrainingReport) -> Markup:
    """Return a folded table of the candidates, ordered by the rows they learned."""
    heads = ("No.", "Rows", "Loss", "Method", "Penalty", "p", "γ₀", "a", "c")
    lines = []
    for candidate in sorted(report.candidates, key=lambda one: (-one.rows, one.number)):
        cells = [
            str(candidate.number),
            f"{candidate.rows:,}",
            measured(candidate.progressive_loss),
            *settings_cells(candidate, number, none="–"),
        ]
        won = "won" if candidate.number == report.best_candidate else None
        lines.append(element("tr", *(element("td", cell) for cell in cells), class_=won))
    table = element("table", _heads(heads), element("tbody", *lines))
    return element("details", element("summary", "All candidates"), _scrolled(table, "Candidates"))


def _rate(report: TrainingReport) -> Markup | None:
    rate, rows = report.winner.schedule, report.rows
    if rate is None or not rows:
        return None
    starts = facts.averaging_starts(report)
    words = joined("γₜ = γ₀ ", DECAY, f", beginning at γ₀\xa0=\xa0{number(rate.gamma0)}.")
    return _section(
        "Learning rate",
        words,
        lambda width: curves.rate_chart(rate, rows, starts, width),
        half=True,
    )


# -- predictions compared with true values ---------------------------------------------------------


def _confusion(subject: Subject) -> Markup | None:
    """Return the confusion matrix."""
    check, names = subject.check, subject.classes
    if check is None or len(check.confusion) != len(names) or not names:
        return None
    words = (
        f"A row for each true class, a column for each predicted class: {subject.checked_on}. "
        "The stronger the colour, the larger the share of the true class. What is on the diagonal "
        "was predicted correctly."
    )
    heads = [element("th", "true \\ predicted")]
    heads += [element("th", name or "correct", scope="col") for name in (*names, "")]
    lines = [_confused(name, row, names) for name, row in zip(names, check.confusion, strict=True)]
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        class_="confusion",
    )
    scroll = _scrolled(table, "Confusion matrix")
    return element("section", element("h2", "Confusion matrix"), element("p", words), scroll)


def _confused(name: str, row: tuple[float, ...], names: list[str]) -> Markup:
    total = sum(row)
    cells = []
    for column, amount in enumerate(row):
        share = amount / total if total else 0.0
        title = f"{number(amount)} of {number(total)} rows of {name} predicted as {names[column]}"
        style = f"--share: {round(45 * share)}%"
        cells.append(element("td", f"{amount:,.6g}", style=style, title=title))
    right = percent(row[names.index(name)] / total) if total else "–"
    return element("tr", element("th", name, scope="row"), *cells, element("td", right))


def _residuals(subject: Subject) -> Markup | None:
    """Return the chart of residuals against predictions."""
    check = subject.check
    if check is None or len(check.points) < LEAST_POINTS:
        return None
    some = "" if check.rows == len(check.points) else f"{len(check.points)} of "
    words = (
        f"A dot is a row: {some}{subject.checked_on}. Its height is the true value minus the "
        "prediction. A good model's dots lie around zero in no pattern; a bend or a funnel shows "
        "what it misses."
    )
    points = check.points
    return _section(
        "Residuals against predictions", words, lambda width: curves.residuals_chart(points, width)
    )


def _calibration(subject: Subject) -> Markup | None:
    """Return the reliability diagram of the predicted probabilities."""
    report = subject.report
    bins = None if report is None else report.calibration
    check = subject.check
    unknown = bins is None or not bins.total
    if check is not None and check.calibration is not None and (subject.on or unknown):
        bins = check.calibration
        rows = subject.checked_on
    else:
        rows = "rows of the later half, each predicted before it was learned"
    if not subject.classes or bins is None or not bins.total:
        return None
    what = subject.classes[1] if len(subject.classes) == 2 else "each class"
    words = (
        f"How often {what} was true, against the predicted probability: {rows}. On the dashed "
        "line, probabilities are correct; bars show the number of rows."
    )
    return _section(
        "Calibration", words, lambda width: curves.calibration_chart(bins, width), half=True
    )


def _advice(subject: Subject) -> Markup | None:
    """Return how to add an evaluation, where there is none."""
    if subject.check is not None or subject.report is None:
        return None
    kind = "a confusion matrix" if subject.classes else "residuals"
    return element(
        "p",
        f"To see {kind} here, evaluate the model on a file: ",
        element("code", "polyak report MODEL --on FILE"),
        ".",
        class_="advice",
    )


# -- a section -------------------------------------------------------------------------------------


def _section(
    title: str,
    words: str,
    chart: Callable[[int], Markup],
    *more: Markup,
    half: bool = False,
) -> Markup:
    """Return a section; with ``half`` the chart is narrow on a wide screen too."""
    drawn = _both(chart) if not half else [element("div", chart(NARROW), class_="half")]
    return element("section", element("h2", title), element("p", words), *drawn, *more)


def _both(chart: Callable[[int], Markup]) -> list[Markup]:
    """Return a chart drawn for a desktop and for a phone."""
    return [
        element("div", chart(WIDE), class_="wide"),
        element("div", chart(NARROW), class_="narrow"),
    ]

"""Sections that compare predictions with true values: confusion, residuals, calibration."""

from __future__ import annotations

from polyak.reporting.drawing import curves
from polyak.reporting.markup import Markup, element
from polyak.reporting.section import section
from polyak.reporting.subject import Subject
from polyak.reporting.words import number, percent

LEAST_POINTS = 5


def confusion_section(subject: Subject) -> Markup | None:
    """Return the confusion matrix."""
    check, names = subject.check, subject.classes
    if check is None or len(check.confusion) != len(names) or not names:
        return None
    words = (
        f"A row for each true class, a column for each predicted class: {subject.checked_on}. "
        "The stronger the colour, the larger the share of the true class. What is on the diagonal "
        "was predicted correctly."
    )
    heads = [element("th", "true \\ predicted"), *(_head(name) for name in names), _head("")]
    lines = [_confused(name, row, names) for name, row in zip(names, check.confusion, strict=True)]
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        class_="confusion",
    )
    scroll = element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label="Confusion matrix"
    )
    return element("section", element("h2", "Confusion matrix"), element("p", words), scroll)


def _head(name: str) -> Markup:
    return element("th", name or "correct", scope="col")


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


def residuals_section(subject: Subject) -> Markup | None:
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
    return section(
        "Residuals against predictions", words, lambda width: curves.residuals_chart(points, width)
    )


def calibration_section(subject: Subject) -> Markup | None:
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
    return section(
        "Calibration", words, lambda width: curves.calibration_chart(bins, width), half=True
    )


def advice(subject: Subject) -> Markup | None:
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

"""The summary table at the end of the page."""

from __future__ import annotations

from polyak.losses import get_loss
from polyak.model.training_report import TrainingReport
from polyak.reporting import facts
from polyak.reporting.markup import Markup, element
from polyak.reporting.opening import kind_of, rmse, roc_auc
from polyak.reporting.subject import Subject
from polyak.reporting.words import count, measured, number, percent, settings

MOST_CLASSES = 12
Line = tuple[str, str]


def summary(subject: Subject) -> Markup:
    """Return the summary section."""
    lines = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in _lines(subject)
    ]
    return element(
        "section",
        element("h2", "Summary"),
        element("table", element("tbody", *lines), class_="summary"),
    )


def _lines(subject: Subject) -> list[Line]:
    model, report = subject.model, subject.report
    lines = [("Model", kind_of(model))]
    if report is not None and report.source is not None:
        lines.append(("Source", report.source.name))
    if subject.target is not None:
        lines.append(("Target", subject.target))
    if subject.classes:
        names = subject.classes[:MOST_CLASSES]
        more = ", …" if len(subject.classes) > MOST_CLASSES else ""
        lines.append(("Classes", f"{len(subject.classes):,}: {', '.join(names)}{more}"))
    elif model.weights.shape[1] > 1:
        lines.append(("Outputs", f"{model.weights.shape[1]:,}"))
    if report is not None:
        passes = count(report.passes, "pass", "passes")
        lines.append(("Rows", f"{subject.rows:,} in {passes}"))
        if report.rows_without_target:
            lines.append(("Rows left out, no target", f"{report.rows_without_target:,}"))
        if report.bad_lines:
            lines.append(("Lines left out, not readable", f"{report.bad_lines:,}"))
    lines.append(("Features", f"{model.n_features:,}"))
    if report is not None:
        if report.has_zeros:
            there = int((model.weights != 0).sum())
            lines.append(("Weights that are not zero", f"{there:,} of {model.weights.size:,}"))
        lines += _losses(subject, report) + _training(report)
    lines.append(("Weights", f"{model.weights.dtype}"))
    return lines


def _losses(subject: Subject, report: TrainingReport) -> list[Line]:
    lines, recent = [], subject.recent
    classifies = get_loss(subject.model.loss).classifies
    rows = (
        f"{recent.rows:,} rows left out in turn"
        if recent.left_out
        else f"newest {recent.rows:,} rows"
    )
    if recent.loss is not None:
        loss = f"{measured(recent.loss)} ± {number(recent.loss_std_err, 2)}"
        lines.append((f"Loss, {rows}", loss))
    if recent.constant_loss is not None:
        lines.append(("A constant's loss, the same rows", measured(recent.constant_loss)))
    if recent.r2 is not None:
        lines.append(("R², the same rows", measured(recent.r2)))
    if recent.loss is not None and subject.model.loss == "squared_error":
        lines.append(("RMSE, the same rows", measured(rmse(recent.loss))))
    auc = roc_auc(subject, report)
    if auc is not None:
        lines.append(("ROC AUC, later rows", measured(auc)))
    if report.progressive_loss is not None and not recent.left_out:
        lines.append(("Loss, mean since the first row", measured(report.progressive_loss)))
    for name, value in (
        (rows, recent.error),
        ("since the first row", None if recent.left_out else report.progressive_error),
    ):
        if value is not None:
            lines.append(
                (f"Error rate, {name}", percent(value))
                if classifies
                else (f"Mean absolute error, {name}", measured(value))
            )
    return lines


def _training(report: TrainingReport) -> list[Line]:
    lines = []
    runners = facts.runners(report)
    if len(runners) > 1:
        left = sum(one.running for one in runners)
        lines.append(("Candidates", f"{len(runners)}, of which {left} ran to the end"))
    if "recipe" in report.recipe:
        lines.append(("Recipe", str(report.recipe["recipe"])))
    if report.has_zeros:
        lines.append(("Kind of penalty", report.penalty_words))
    lines += settings(report.winner)
    starts = facts.averaging_starts(report)
    if starts and max(starts) > 0:
        span = f"{min(starts):,}" + (f" to {max(starts):,}" if max(starts) > min(starts) else "")
        lines.append(("Averaging began after row", span))
    return lines

"""The top of the page: what the model predicts, its data, and its main figures."""

from __future__ import annotations

import math

from polyak.losses import get_loss
from polyak.model.effects import kinds
from polyak.model.linear import LinearModel
from polyak.model.training_report import TrainingReport
from polyak.reporting import facts
from polyak.reporting.markup import Markup, element
from polyak.reporting.subject import Subject
from polyak.reporting.words import count, loss_name, measured, number, percent

Figure = tuple[str, str, str]
_WON = {
    "constant": "a constant",
    "newton": "block Newton steps",
    "dense": "matrix products of dense rows",
    "proximal": "proximal steps",
}


def headline(subject: Subject) -> str:
    """Return the title of the page."""
    kind = kind_of(subject.model)
    return kind if subject.target is None else f"Predicting {subject.target}"


def kind_of(model: LinearModel) -> str:
    """Return the kind of the model, such as "logistic classifier"."""
    kind = "regression" if model.classes is None else "classifier"
    return f"{loss_name(model.loss)} {kind}"


def lead(subject: Subject) -> str:
    """Return two sentences about the data and the race."""
    report = subject.report
    if report is None:
        return ""
    source = "" if report.source is None else f" of {report.source.name}"
    often = "each learned once"
    if report.passes > 1:
        often = f"learned {report.passes} times each"
    kind = "" if subject.target is None else f"A {kind_of(subject.model)}, "
    learned = "learned" if kind else "Learned"
    sentence = f"{kind}{learned} from {count(subject.rows or 0, 'row')}{source}, {often}. "
    runners = facts.runners(report)
    if len(runners) > 1:
        won = _WON.get(report.winner.method, report.winner.method)
        sentence += (
            f"{len(runners)} candidates learned the same rows at the same time; "
            f"the model is the best of them: {won}."
        )
    return sentence


def figures(subject: Subject) -> Markup:
    """Return the main figures."""
    shown = _tested(subject) if subject.on is not None else _progressive(subject)
    report = subject.report
    if report is not None and subject.rows is not None:
        passes = count(report.passes, "pass", "passes")
        shown.append(("Rows", f"{subject.rows:,}", f"learned in {passes}"))
    if subject.model.terms is not None:
        found = list(kinds(subject.model).values())
        pairs = count(found.count("pair"), "pair")
        shown.append(("Terms", f"{len(found):,}", f"{pairs} among them"))
    else:
        used = int(subject.model.weights.any(axis=1).sum())
        shown.append(("Features in use", f"{used:,}", f"of {subject.model.n_features:,}"))
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", value, class_="value"),
                element("dd", note, class_="note"),
            )
            for name, value, note in shown
        ),
        class_="figures",
    )


def _tested(subject: Subject) -> list[Figure]:
    """Return the figures of the file that the model was evaluated on."""
    assert subject.on is not None
    name, check = subject.on
    note, found = f"on {name}", check.figures
    shown: list[Figure] = []
    if found.get("loss") is not None:
        shown.append(("Loss", measured(found["loss"]), note))
        shown.append(("A constant's loss", measured(found["constant_loss"]), "on the same rows"))
    for key, title, write in (
        ("error", "Error rate", percent),
        ("roc_auc", "ROC AUC", measured),
        ("r2", "R²", measured),
        ("rmse", "RMSE", measured),
        ("mae", "Mean absolute error", measured),
    ):
        if found.get(key) is not None:
            shown.append((title, write(found[key]), note))
    return shown


def _progressive(subject: Subject) -> list[Figure]:
    """Return the figures on rows not learned yet: left out in turn, or the later half."""
    report, recent = subject.report, subject.recent
    if report is None:
        return []
    note = "on rows left out in turn" if recent.left_out else "on rows not learned yet"
    shown: list[Figure] = []
    loss = report.progressive_loss if report.recent is None else recent.loss
    if loss is not None:
        error = recent.loss_std_err
        precision = note if error is None else f"± {number(error, 2)} standard error"
        shown.append(("Loss", measured(loss), precision))
    if recent.constant_loss is not None:
        shown.append(("A constant's loss", measured(recent.constant_loss), "on the same rows"))
    if recent.r2 is not None:
        shown.append(("R²", measured(recent.r2), note))
    if loss is not None and subject.model.loss == "squared_error":
        shown.append(("RMSE", measured(rmse(loss)), note))
    wrong = report.progressive_error if report.recent is None else recent.error
    if wrong is not None:
        classifies = get_loss(subject.model.loss).classifies
        shown.append(
            ("Error rate", percent(wrong), note)
            if classifies
            else ("Mean absolute error", measured(wrong), note)
        )
    auc = roc_auc(subject, report)
    if auc is not None:
        shown.append(("ROC AUC", measured(auc), "on rows not learned yet"))
    return shown


def roc_auc(subject: Subject, report: TrainingReport) -> float | None:
    """Return the ROC AUC on rows not learned yet, if it was measured."""
    if report.check is not None and report.check.figures.get("roc_auc") is not None:
        return report.check.figures["roc_auc"]
    return subject.recent.roc_auc


def rmse(loss: float) -> float:
    """Return the root mean squared error; the loss is half the mean squared error."""
    return math.sqrt(2.0 * loss) if loss >= 0 else math.nan

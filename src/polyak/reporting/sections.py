"""The sections of the page: each a heading, a sentence that says how to read it, and a chart."""

from __future__ import annotations

from collections.abc import Callable

from polyak.losses import get_loss
from polyak.model.heaviest import heaviest
from polyak.model.linear import LinearModel
from polyak.model.training_report import CandidateReport, Measure, TrainingReport
from polyak.reporting import charts, facts
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.plot import NARROW, WIDE
from polyak.reporting.words import (
    DECAY,
    count,
    loss_name,
    measured,
    number,
    percent,
    settings,
)
from polyak.rows.labels import label_text

MOST_FEATURES = 20
MOST_CLASSES = 12


def headline(model: LinearModel) -> str:
    """Say in a few words what the model is."""
    if model.classes is None:
        return f"{loss_name(model.loss)} regression"
    return f"{loss_name(model.loss)} classifier"


def lead(model: LinearModel) -> str:
    """Tell the story in two sentences."""
    report = model.report
    if report is None:
        return ""
    often = "each seen once" if report.passes == 1 else f"in {report.passes} passes"
    sentence = f"Learned from {count(report.rows, 'row')}, {often}. "
    if len(report.candidates) > 1:
        sentence += (
            f"{len(report.candidates)} settings raced side by side; the model is the one that won"
        )
        sentence += {
            "constant": ": a constant, for no features told more.",
            "newton": ", by block Newton steps.",
        }.get(report.winner.method, ", by averaged SGD.")
    return sentence


def figures(model: LinearModel) -> Markup:
    """Show the figures that matter most."""
    shown = [] if model.report is None else _report_figures(model, model.report)
    used = int(model.weights.any(axis=1).sum())
    shown.append(("Features", f"{model.n_features:,}", f"{used:,} of them in use"))
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


def _report_figures(model: LinearModel, report: TrainingReport) -> list[tuple[str, str, str]]:
    recent = report.recent or Measure()
    loss = recent.loss if report.recent else report.progressive_loss
    shown = []
    if loss is not None:
        error = recent.loss_std_err
        note = "on rows not seen" if error is None else f"± {number(error, 2)} standard error"
        shown.append(("Loss", measured(loss), note))
    if recent.constant_loss is not None:
        shown.append(("A constant's loss", measured(recent.constant_loss), "on the same rows"))
    if recent.r2 is not None:
        shown.append(("R²", number(recent.r2, 4), "on rows not learned yet"))
    wrong = recent.error if report.recent else report.progressive_error
    if wrong is not None:
        shown.append(
            ("Error rate", percent(wrong), "on rows not learned yet")
            if model.classes is not None
            else ("Absolute error", measured(wrong), "mean, on rows not learned yet")
        )
    shown.append(("Rows", f"{report.rows:,}", count(report.passes, "pass", "passes")))
    return shown


def sections(model: LinearModel) -> list[Markup]:
    """Give every section that there is something to show in."""
    if model.report is None:
        parts = [_weights(model)]
    else:
        report = model.report
        parts = [_loss(report), _race(report), _weights(model)]
        calibration = _calibration(model, report)
        rate = _rate(report)
        if calibration is not None and rate is not None:
            parts.append(element("div", calibration, rate, class_="pair"))
        else:
            parts += [calibration, rate]
    return [part for part in (*parts, _summary(model)) if part]


# -- the charts ------------------------------------------------------------------------------------


def _loss(report: TrainingReport) -> Markup | None:
    curve = facts.curve(report.winner.curve)
    if not curve:
        return None
    starts = facts.averaging_starts(report)
    words = "Each row was scored before it was learned; a point is the mean over the newer half."
    if len(curve) == 1:
        words += " All rows came at once, so there is one point."
    if starts and max(starts) > 0:
        words += " Averaging began at t₀."
    elif starts:
        words += " Averaging began with the first row (t₀ = 0)."
    return _section(
        "Progressive loss", words, lambda width: charts.loss_chart(curve, starts, width)
    )


def _race(report: TrainingReport) -> Markup | None:
    best, behind = report.best_candidate, facts.race(report)
    if not behind:
        return None
    words = joined(
        "How far each candidate's loss lay above the winner's, over the same rows. Every time "
        "the rows doubled, those furthest behind dropped out; the numbers above say how many "
        "were left.",
        element(
            "span",
            element("span", class_="key", aria_hidden="true"),
            f"the winner, number {best}\u2003",
            element("span", class_="key grey", aria_hidden="true"),
            "the others",
            class_="keys",
        ),
    )
    chart = _section("The race", words, lambda width: charts.race_chart(behind, best, width))
    return Markup(chart.removesuffix("</section>") + _all_candidates(report) + "</section>")


def _all_candidates(report: TrainingReport) -> Markup:
    """List the candidates behind a click, those first that ran longest."""
    heads = ("No.", "Rows", "Loss", "Method", "Penalty", "γ₀", "a", "c", "p")
    lines = []
    for candidate in sorted(report.candidates, key=lambda c: (-c.rows, c.number)):
        cells = [
            str(candidate.number),
            f"{candidate.rows:,}",
            measured(candidate.progressive_loss),
            *_settings_cells(candidate),
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
    return element(
        "details", element("summary", f"All {len(report.candidates)} candidates"), scroll
    )


def _settings_cells(candidate: CandidateReport) -> list[str]:
    if candidate.penalty is not None:
        return ["Newton", f"{number(candidate.penalty)} rows", *["–"] * 4]
    if candidate.constant:
        return ["constant", *["–"] * 5]
    return [
        "SGD",
        number(candidate.alpha),
        *(number(getattr(candidate.schedule, name, None)) for name in ("gamma0", "a", "c")),
        number(candidate.precondition),
    ]


def _weights(model: LinearModel) -> Markup | None:
    features = model.features
    entries = [
        {
            "name": heavy.name or f"feature {features.number(heavy.feature)}",
            "weight": heavy.weight,
            "of": facts.output_name(model, heavy.output),
            "interval": heavy.interval,
        }
        for heavy in heaviest(model, MOST_FEATURES)
    ]
    if not entries:
        return None
    words = "The largest weights, each in the units of its own feature."
    if entries[0]["interval"] is not None:
        from polyak.model.intervals import doubt, kind_words

        words += (
            f" Lines are 95% intervals, from the {kind_words(model)}; a hollow dot's includes zero."
        )
        found = doubt(model)
        if found is not None:
            words += f" {found[0].upper()}{found[1:]}."
    if model.classes is not None and len(model.classes) == 2:
        words += f" To the right speaks for {label_text(model.classes[1])}."
    return _section(
        "The heaviest features", words, lambda width: charts.weights_chart(entries, width)
    )


def _calibration(model: LinearModel, report: TrainingReport) -> Markup | None:
    bins = report.calibration
    if model.classes is None or bins is None or not bins.total:
        return None
    what = f"{label_text(model.classes[1])}" if len(model.classes) == 2 else "each class"
    words = f"How often it was {what}, against how probable it was said to be before."
    return _section(
        "Calibration", words, lambda width: charts.calibration_chart(bins, width), half=True
    )


def _rate(report: TrainingReport) -> Markup | None:
    rate, rows = report.winner.schedule, report.rows
    if rate is None or not rows:
        return None
    starts = facts.averaging_starts(report)
    words = joined("γₜ = γ₀ ", DECAY, f", beginning at γ₀\xa0=\xa0{number(rate.gamma0)}.")
    return _section(
        "Learning rate",
        words,
        lambda width: charts.rate_chart(rate, rows, starts, width),
        half=True,
    )


def _section(
    title: str, words: str, chart: Callable[[int], Markup], *, half: bool = False
) -> Markup:
    drawings = (
        [element("div", chart(NARROW), class_="half")]
        if half
        else [
            element("div", chart(WIDE), class_="wide"),
            element("div", chart(NARROW), class_="narrow"),
        ]
    )
    return element("section", element("h2", title), element("p", words), *drawings)


# -- the summary -----------------------------------------------------------------------------------


def _summary(model: LinearModel) -> Markup:
    lines = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in _facts(model)
    ]
    return element(
        "section",
        element("h2", "Summary"),
        element("table", element("tbody", *lines), class_="summary"),
    )


def _facts(model: LinearModel) -> list[tuple[str, str]]:
    lines = [("Loss", loss_name(model.loss))]
    if model.classes is not None:
        names = [label_text(label) for label in model.classes[:MOST_CLASSES]]
        more = ", …" if len(model.classes) > MOST_CLASSES else ""
        lines.append(("Classes", f"{len(model.classes):,}: {', '.join(names)}{more}"))
    elif model.weights.shape[1] > 1:
        lines.append(("Outputs", f"{model.weights.shape[1]:,}"))
    if model.report is not None:
        lines.append(("Rows", f"{model.report.rows:,}"))
    lines.append(("Features", f"{model.n_features:,}"))
    if model.report is not None:
        lines += _losses(model.report, get_loss(model.loss).classifies) + _training(model.report)
    lines.append(("Weights", f"{model.weights.dtype}"))
    return lines


def _losses(report: TrainingReport, classifies: bool) -> list[tuple[str, str]]:
    lines, recent = [], report.recent or Measure()
    if recent.loss is not None:
        lines.append(
            (
                f"Loss, newest {recent.rows:,} rows",
                f"{measured(recent.loss)} ± {number(recent.loss_std_err, 2)}",
            )
        )
    if recent.constant_loss is not None:
        lines.append(("A constant's loss, the same rows", measured(recent.constant_loss)))
    if recent.r2 is not None:
        lines.append(("R², the same rows", number(recent.r2, 4)))
    if report.progressive_loss is not None:
        lines.append(("Loss, mean since the first row", measured(report.progressive_loss)))
    for name, value in (
        (f"newest {recent.rows:,} rows", recent.error),
        ("since the first row", report.progressive_error),
    ):
        if value is not None:
            lines.append(
                (f"Error rate, {name}", percent(value))
                if classifies
                else (f"Mean absolute error, {name}", measured(value))
            )
    return lines


def _training(report: TrainingReport) -> list[tuple[str, str]]:
    lines = []
    if len(report.candidates) > 1:
        entered = f"{len(report.candidates)} entered"
        lines.append(("Candidates", f"{entered}, {report.survivors} ran to the end"))
    if "recipe" in report.recipe:
        lines.append(("Recipe", str(report.recipe["recipe"])))
    lines += settings(report.winner)
    starts = facts.averaging_starts(report)
    if starts and max(starts) > 0:
        span = f"{min(starts):,}" + (f" to {max(starts):,}" if max(starts) > min(starts) else "")
        lines.append(("Averaging began after row", span))
    return lines

"""The sections of the page: each a heading, a sentence that says how to read it, and a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.reporting import charts, facts
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.plot import NARROW, WIDE
from polyak.reporting.words import (
    DECAY,
    count,
    is_number,
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
    about, runners = model.about, facts.candidates(model)
    rows, passes = int(about.get("rows") or 0), int(about.get("passes") or 1)
    often = "each seen once" if passes == 1 else f"in {passes} passes"
    told = f"Learned from {count(rows, 'row')}, {often}. " if rows else ""
    if len(runners) > 1:
        told += f"{len(runners)} settings raced side by side; the model is the one that won"
        newton = is_number(facts.winner(model).get("penalty"))
        told += ", by block Newton steps." if newton else ", by averaged SGD."
    return told


def figures(model: LinearModel) -> Markup:
    """Show the figures that matter most."""
    about, recent = model.about, model.about.get("recent") or {}
    loss = recent.get("loss", about.get("progressive_loss"))
    shown = []
    if is_number(loss):
        error = recent.get("loss_std_err")
        note = f"± {number(error, 2)} standard error" if is_number(error) else "on rows not seen"
        shown.append(("Loss", measured(loss), note))
    wrong = recent.get("error", about.get("progressive_error"))
    if is_number(wrong):
        shown.append(
            ("Error rate", percent(wrong), "on rows not learned yet")
            if model.classes is not None
            else ("Absolute error", measured(wrong), "mean, on rows not learned yet")
        )
    if is_number(about.get("rows")):
        passes = about.get("passes") or 1
        shown.append(("Rows", f"{about['rows']:,}", count(passes, "pass", "passes")))
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


def sections(model: LinearModel, names: list[str] | None) -> list[Markup]:
    """Give every section that there is something to show in."""
    parts = [_loss(model), _race(model), _weights(model, names)]
    calibration = _calibration(model)
    rate = _rate(model, half=calibration is not None)
    if calibration is not None and rate is not None:
        parts.append(element("div", calibration, rate, class_="pair"))
    else:
        parts += [calibration, rate]
    return [part for part in (*parts, _summary(model)) if part]


# -- the charts ------------------------------------------------------------------------------------


def _loss(model: LinearModel) -> Markup | None:
    curve = facts.curve(facts.winner(model))
    if not curve:
        return None
    starts = facts.averaging_starts(model)
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


def _race(model: LinearModel) -> Markup | None:
    runners, behind = facts.candidates(model), facts.race(model)
    best = model.about.get("best_candidate")
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
    return Markup(chart.removesuffix("</section>") + _all_candidates(runners, best) + "</section>")


def _all_candidates(runners: list[dict[str, Any]], best: Any) -> Markup:
    """List the candidates behind a click, those first that ran longest."""
    heads = ("No.", "Rows", "Loss", "Method", "Penalty", "γ₀", "a", "c", "p")
    ordered = sorted(runners, key=lambda c: (-(c.get("rows") or 0), c.get("number") or 0))
    lines = []
    for candidate in ordered:
        cells = [
            str(candidate.get("number")),
            f"{candidate.get('rows') or 0:,}",
            measured(candidate.get("progressive_loss")),
            *_settings_cells(candidate),
        ]
        won = "won" if candidate.get("number") == best else None
        lines.append(element("tr", *(element("td", cell) for cell in cells), class_=won))
    table = element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *lines),
    )
    scroll = element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label="Candidates"
    )
    return element("details", element("summary", f"All {len(runners)} candidates"), scroll)


def _settings_cells(candidate: dict[str, Any]) -> list[str]:
    if "penalty" in candidate:
        return ["Newton", f"{number(candidate['penalty'])} rows", *["–"] * 4]
    rate = candidate.get("schedule") or {}
    return [
        "SGD",
        number(candidate.get("alpha")),
        *(number(rate.get(name)) for name in ("gamma0", "a", "c")),
        number(candidate.get("precondition")),
    ]


def _weights(model: LinearModel, names: list[str] | None) -> Markup | None:
    entries = facts.heaviest(model, names, MOST_FEATURES)
    if not entries:
        return None
    words = "The largest weights, each in the units of its own feature."
    if entries[0]["interval"] is not None:
        words += " Lines are 95% intervals; a hollow dot's includes zero."
    if model.classes is not None and len(model.classes) == 2:
        words += f" To the right speaks for {label_text(model.classes[1])}."
    return _section(
        "The heaviest features", words, lambda width: charts.weights_chart(entries, width)
    )


def _calibration(model: LinearModel) -> Markup | None:
    if model.classes is None:
        return None
    bins = model.about.get("calibration") or {}
    if not bins.get("total"):
        return None
    what = f"{label_text(model.classes[1])}" if len(model.classes) == 2 else "each class"
    words = f"How often it was {what}, against how probable it was said to be before."
    return _section(
        "Calibration", words, lambda width: charts.calibration_chart(bins, width), half=True
    )


def _rate(model: LinearModel, *, half: bool) -> Markup | None:
    rate, rows = model.about.get("learning_rate") or {}, int(model.about.get("rows") or 0)
    if not all(is_number(rate.get(name)) for name in ("gamma0", "a", "c")) or not rows:
        return None
    starts = facts.averaging_starts(model)
    words = joined("γₜ = γ₀ ", DECAY, f", beginning at γ₀\xa0=\xa0{number(rate['gamma0'])}.")
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
    about, recent = model.about, model.about.get("recent") or {}
    told = [("Loss", loss_name(model.loss))]
    if model.classes is not None:
        names = [label_text(label) for label in model.classes[:MOST_CLASSES]]
        more = ", …" if len(model.classes) > MOST_CLASSES else ""
        told.append(("Classes", f"{len(model.classes):,}: {', '.join(names)}{more}"))
    elif model.weights.shape[1] > 1:
        told.append(("Outputs", f"{model.weights.shape[1]:,}"))
    if is_number(about.get("rows")):
        told.append(("Rows", f"{about['rows']:,}"))
    told.append(("Features", f"{model.n_features:,}"))
    if is_number(about.get("progressive_loss")):
        told.append(("Progressive loss, all rows", measured(about["progressive_loss"])))
    if is_number(recent.get("loss")):
        told.append(
            (
                f"Progressive loss, newest {recent['rows']:,} rows",
                f"{measured(recent['loss'])} ± {number(recent.get('loss_std_err'), 2)}",
            )
        )
    classifies = get_loss(model.loss).classifies
    for name, value in (
        ("all rows", about.get("progressive_error")),
        (f"newest {recent.get('rows') or 0:,} rows", recent.get("error")),
    ):
        if is_number(value):
            told.append(
                (f"Error rate, {name}", percent(value))
                if classifies
                else (f"Mean absolute error, {name}", measured(value))
            )
    runners = facts.candidates(model)
    if len(runners) > 1:
        left = sum(bool(candidate.get("running")) for candidate in runners)
        told.append(("Candidates", f"{len(runners)} entered, {left} ran to the end"))
    if about.get("recipe"):
        told.append(("Recipe", str(about["recipe"].get("recipe"))))
    winner = facts.winner(model)
    if winner.get("schedule") or is_number(winner.get("penalty")):
        told += settings(winner)
    starts = facts.averaging_starts(model)
    if starts and max(starts) > 0:
        span = f"{min(starts):,}" + (f" to {max(starts):,}" if max(starts) > min(starts) else "")
        told.append(("Averaging began after row", span))
    told.append(("Weights", f"{model.weights.dtype}"))
    return told

"""``polyak inspect``: what a model is, how it was learned, and what weighs most in it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import say
from polyak.cli.options.arguments import Parser, add_json, add_model, not_negative

if TYPE_CHECKING:
    from polyak.model.coefficients import Coefficients
    from polyak.model.linear import LinearModel
    from polyak.model.schema import Schema
    from polyak.model.training_report import TermReport, Theory, TrainingReport


EXAMPLE = """\
example:
  polyak inspect flights.polyak --top 20
"""


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser(
        "inspect", "Show a model: its settings and its largest weights.", epilog=EXAMPLE
    )
    add_model(parser)
    parser.add_argument(
        "--top",
        type=not_negative,
        metavar="N",
        help="features to show (default: 10), or terms of an additive model (default: all)",
    )
    parser.add_argument(
        "--sort",
        choices=["effect", "z", "weight"],
        default="effect",
        help="sort features by effect (weight times the column's spread, where it is known), by z "
        "or by weight (default: effect)",
    )
    parser.add_argument("--candidates", action="store_true", help="list the candidates of the race")
    parser.add_argument(
        "--theory",
        action="store_true",
        help="show after how many rows averaging helps, by the theory of the paper",
    )
    add_json(parser)
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    from polyak.cli.output import print_figures, print_json, print_table
    from polyak.cli.race import candidates_table
    from polyak.model.coefficients import coefficients
    from polyak.model.linear import LinearModel
    from polyak.rows.label_text import label_text

    loaded = LinearModel.load(options.model)
    report, facts = loaded.report, _facts(loaded)
    top = 10 if options.top is None else options.top
    # The weight of a basis function has no meaning of its own: an additive model shows its terms.
    lines = None if loaded.terms is not None else coefficients(loaded).largest(top, options.sort)
    terms = () if report is None else report.terms[: options.top]
    if options.json:
        facts["classes"] = None if loaded.classes is None else loaded.classes.tolist()
        called = loaded.features.names  # there may be very many
        own = [] if lines is None else lines.features.tolist()
        shown = {j: called[j] for j in own if j in called}
        facts |= {"feature_map": replace(loaded.features, names=shown), "report": report}
        if lines is None:
            facts["intercepts"] = [{"weight": value} for value in loaded.intercept.tolist()]
            print_json(facts | {"terms": [term._asdict() for term in terms]})
            return 0
        entries, first = _entries(loaded, lines), len(loaded.intercept)
        print_json(facts | {"intercepts": entries[:first], "heaviest": entries[first:]})
        return 0
    if loaded.classes is not None:
        names = [label_text(label) for label in loaded.classes]
        facts["classes"] = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    from polyak.model.intervals import interval_kind, kind_words

    if interval_kind(loaded) is not None:
        facts["intervals"] = kind_words(loaded)
    print_figures(
        facts | ({} if report is None else _training(loaded.loss, report)), title=options.model
    )
    for doubt in [] if report is None else report.doubts:
        say(f"warning: {doubt}")
    if loaded.features.schema is not None:
        _print_schema(loaded.features.schema)
    if report is not None and options.candidates:
        print()
        print_table(*candidates_table(report))
    elif options.theory:
        print()
        print(_theory(report))
    elif top:
        print()
        if lines is None:
            print_table(["term", "kind", "edf", "statistic", "p"], _term_cells(terms))
        else:
            _print_coefficients(loaded, lines)
    return 0


def _facts(model: Any) -> dict[str, Any]:
    has_zeros = model.report is not None and model.report.has_zeros
    return {
        "loss": model.loss,
        "features": model.n_features,
        "features_used": int(model.weights.any(axis=1).sum()),
        **({"nonzero_weights": int((model.weights != 0).sum())} if has_zeros else {}),
        "weights": str(model.weights.dtype),
    }


_METHODS = {
    "newton": "block Newton steps",
    "dense": "matrix products of dense rows",
    "proximal": "proximal steps",
}


def _training(loss: str, report: TrainingReport) -> dict[str, Any]:
    """Return how the model was learned, and how well, a line each."""
    from polyak.cli.race import recent_words, whole_past_words, winner_words

    best, rate = report.winner, report.winner.schedule
    not_sparse = None if best.method == "proximal" else True
    told = {
        "rows": report.rows,
        "passes": report.passes,
        "bad_lines": report.bad_lines,
        "method": _METHODS.get(best.method, best.method),
        "penalty": best.penalty if best.alpha is None else report.penalty_words,
        "alpha": best.alpha,
        "step": best.step,
        "rows_without_target": report.rows_without_target or None,
        **recent_words(report, loss),
        **winner_words(report),
        "learning_rate": rate and f"gamma0 {rate.gamma0:.6g}, a {rate.a:.6g}, c {rate.c:.6g}",
        "largest_squared_length": best.largest_squared_length,
        "averaging_began_at_row": rate and not_sparse and _starts(report.average_start),
        **whole_past_words(report, loss),
    }
    return {name: value for name, value in told.items() if value is not None}


def _theory(report: TrainingReport | None) -> str:
    averaging = None if report is None else report.winner.averaging
    if report is not None and (averaging is None or averaging.start is None):
        method = _METHODS.get(report.winner.method, report.winner.method)
        return f"The method of this model is {method}: nothing is averaged."
    if report is None or report.rows_needed is None:
        return "This model does not know after how many rows averaging pays off."
    return _rows_needed(report.rows_needed, report.rows)


def _rows_needed(needed: Theory, rows: int) -> str:
    """Explain after how many rows averaging pays off.

    Examples
    --------
    >>> from polyak.model.training_report import Theory
    >>> print(_rows_needed(Theory(3600, 1.4e-3, 0.2, 1e-6), 32561))
    By the paper's theory averaging pays off after about 3,600 rows; this model saw 32,561. That
    is 1 / (lambda * gamma0) with gamma0 = 0.2, the first learning rate, and lambda = 0.0014:
    the directions curved at least as much carry 99% of the rows' squared norm, in a sample of
    the first rows. In the flattest direction of all it takes about 5,000,000 rows.
    """
    import textwrap

    where = (
        "directions curved at least as much carry 99% of the rows' squared norm, in a sample of "
        "the first rows."
        if needed.spectrum
        else "features curved at least as much carry 99% of the rows' squared norm, as if none "
        "were correlated with another."
    )
    slowest = needed.flattest * needed.gamma0
    worst = (
        f"it takes about {float(f'{1 / slowest:.1e}'):,.0f} rows"
        if slowest > 0
        else "it never does"
    )
    return textwrap.fill(
        f"By the paper's theory averaging pays off after about {needed.rows:,} rows; this model "
        f"saw {rows:,}. That is 1 / (lambda * gamma0) with gamma0 = {needed.gamma0:.3g}, the first "
        f"learning rate, and lambda = {needed.lambda0:.3g}: the {where} In the flattest direction "
        f"of all {worst}.",
        92,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _starts(starts: Any) -> str | None:
    if not starts:
        return None
    shown = [f"{start:,}" if start is not None else "never" for start in starts[:10]]
    return ", ".join(shown) + (", …" if len(starts) > 10 else "")


def _entries(model: LinearModel, lines: Coefficients) -> list[dict[str, Any]]:
    """Return the lines of the table of coefficients, for scripts."""
    several = model.weights.shape[1] > 1
    numbers = {name: column.tolist() for name, column in lines.numbers.items()}
    found: list[dict[str, Any]] = []
    places = zip(lines.features.tolist(), lines.outputs.tolist(), strict=True)
    for place, (feature, output) in enumerate(places):
        entry: dict[str, Any] = {}
        if feature >= 0:
            entry["feature"] = model.features.number(feature)
            name = model.features.name(feature)
            if name is not None:
                entry["name"] = name
        each = {name: column[place] for name, column in numbers.items()}
        entry |= {name: value for name, value in each.items() if value == value}
        if "low" in entry:
            entry["excludes_zero"] = entry["low"] > 0 or entry["high"] < 0
        if several:
            entry["output"] = output if model.classes is None else model.classes[output].item()
        found.append(entry)
    return found


def _print_schema(schema: Schema) -> None:
    """Print what each column of the table is, and how its numbers are computed."""
    from polyak.cli.output import escaped, print_table
    from polyak.model.schema import HASHED

    lines = []
    for column in schema.columns:
        plain = column.kind not in HASHED and column.kind != "boolean"
        kind = "offset" if column.name == schema.offset else column.kind
        lines.append(
            [
                column.name,
                f"{kind} {schema.written.get(column.name, '')}".strip(),
                f"{column.offset:g}" if plain else "",
                f"{column.scale:g}" if plain else "",
            ]
        )
    print()
    print_table(["column", "read as", "offset", "scale"], lines)
    if schema.target is not None:
        positive = "" if schema.target.positive is None else f", {schema.target.positive} or not"
        crossed = ", ".join(":".join(names) for names in schema.interactions)
        told = f"The target is {schema.target.name}{positive}"
        told += f", per {schema.exposure}." if schema.exposure else "."
        told += f" Rows weigh as {schema.weight} says." if schema.weight else ""
        told += f" Crossed: {crossed}." if crossed else ""
        told += f" Words are hashed into 2^{schema.bits} slots." if schema.is_hashed else ""
        print(f"\n{escaped(told)}")


def _term_cells(terms: Sequence[TermReport]) -> list[list[str]]:
    """Return a line for each term; several outputs have no tests."""

    def cell(value: float | None, style: str) -> str:
        return "-" if value is None else f"{value:{style}}"

    return [
        [
            one.name,
            one.kind,
            *map(cell, (one.edf, one.statistic, one.p_value), (".2f", ".4g", ".3g")),
        ]
        for one in terms
    ]


_HEADS = {
    "weight": "weight",
    "effect": "effect",
    "standard_error": "std err",
    "z": "z",
    "p_value": "p",
    "low": "95% from",
    "high": "to",
}


def _print_coefficients(model: LinearModel, lines: Coefficients) -> None:
    from polyak.cli.output import print_table
    from polyak.rows.label_text import label_text

    columns = {"feature": lines.names(model.features)}
    if model.weights.shape[1] > 1:
        labels = range(len(model.intercept)) if model.classes is None else model.classes
        columns["class"] = [label_text(labels[output]) for output in lines.outputs]
    for name, numbers in lines.numbers.items():
        style = {"standard_error": ".6g", "z": "+.2f", "p_value": ".3g"}.get(name, "+.6g")
        columns[_HEADS[name]] = ["" if x != x else f"{x:{style}}" for x in numbers.tolist()]
    print_table(list(columns), [list(line) for line in zip(*columns.values(), strict=True)])

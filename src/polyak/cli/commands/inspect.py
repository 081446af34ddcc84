"""``polyak inspect``: what a model is, how it was learned, and what weighs most in it."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from polyak.cli.arguments import Parser, add_json, add_model, not_negative


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("inspect", "Show what a model is, its learning rate, its heaviest features.")
    add_model(parser)
    parser.add_argument(
        "--top", type=not_negative, default=10, metavar="N", help="how many features to show (10)"
    )
    parser.add_argument(
        "--candidates", action="store_true", help="list the candidates of the race instead"
    )
    parser.add_argument(
        "--theory",
        action="store_true",
        help="tell after how many rows averaging pays off by the paper's theory, instead",
    )
    add_json(parser)
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    from polyak.cli.output import print_figures, print_json
    from polyak.cli.race import candidates_table
    from polyak.model.linear import LinearModel
    from polyak.rows.labels import label_text

    loaded = LinearModel.load(options.model)
    heaviest = _heaviest(loaded, options.top)
    if options.json:
        classes = None if loaded.classes is None else loaded.classes.tolist()
        print_json(
            _facts(loaded) | {"classes": classes, "about": loaded.about, "heaviest": heaviest}
        )
        return 0
    facts = _facts(loaded)
    if loaded.classes is not None:
        names = [label_text(label) for label in loaded.classes]
        facts["classes"] = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    print_figures(facts | _about(loaded.about), title=options.model)
    if "schema" in loaded.about:
        _print_schema(loaded.about)
    if options.candidates:
        print()
        _print_table(*candidates_table(loaded.about))
    elif options.theory:
        print()
        print(_theory(loaded.about))
    elif heaviest:
        print()
        _print_heaviest(heaviest, loaded.about)
    return 0


def _facts(model: Any) -> dict[str, Any]:
    return {
        "loss": model.loss,
        "features": model.n_features,
        "features_used": int(model.weights.any(axis=1).sum()),
        "weights": str(model.weights.dtype),
        "intercept": model.intercept.tolist() if len(model.intercept) > 1 else model.intercept[0],
    }


def _about(about: dict[str, Any]) -> dict[str, Any]:
    """Say in a few lines what the training left; a model may know nothing about itself."""
    from polyak.cli.race import recent_words, winner_words

    rate = about.get("learning_rate") or {}
    names = ("rows", "passes", "bad_lines", "method", "penalty", "alpha", "step")
    told = {name: about.get(name) for name in names}
    if told["method"] == "newton":
        told["method"] = "block Newton steps"
    told["rows_without_target"] = about.get("rows_without_target")
    told |= recent_words(about) | winner_words(about)
    told |= {
        "learning_rate": "gamma0 {gamma0:.6g}, a {a:.6g}, c {c:.6g}".format(**rate)
        if {"gamma0", "a", "c"} <= rate.keys()
        else None,
        "largest_squared_length": rate.get("M"),
        "averaging_began_at_row": None
        if about.get("method") == "newton"
        else _starts(about.get("average_start")),
        "progressive_loss": about.get("progressive_loss"),
        "progressive_error": about.get("progressive_error"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _theory(about: dict[str, Any]) -> str:
    from polyak.paper.theory import RowsNeeded

    needed = about.get("rows_needed")
    if about.get("method") == "newton":
        return "Block Newton steps made this model: they average nothing."
    if not needed:
        return "This model does not know after how many rows averaging pays off."
    return RowsNeeded(**needed).words(about.get("rows"))


def _starts(starts: Any) -> str | None:
    if not starts:
        return None
    shown = [f"{start:,}" if start is not None else "never" for start in starts[:10]]
    return ", ".join(shown) + (", …" if len(starts) > 10 else "")


def _heaviest(model: Any, top: int) -> list[dict[str, Any]]:
    import numpy as np

    sizes = np.abs(model.weights).ravel()
    from polyak.model.features import feature_name, units

    first = int(model.about.get("first_id", 0))
    unit = units(model.about, model.n_features)
    several = model.weights.shape[1] > 1
    interval = None
    if model.replicas is not None:
        from polyak.model.intervals import weight_interval

        interval = weight_interval(model)
    found: list[dict[str, Any]] = []
    for place in np.argsort(-sizes, kind="stable")[:top].tolist():
        feature, output = divmod(place, model.weights.shape[1])
        if sizes[place] == 0:
            break
        entry: dict[str, Any] = {"feature": feature + first}
        name = feature_name(model.about, feature)
        if name is not None:
            entry["name"] = name
        entry["weight"] = float(model.weights[feature, output] / unit[feature])
        if interval is not None:
            low, high = (float(end[feature, output] / unit[feature]) for end in interval)
            entry |= {"low": low, "high": high, "excludes_zero": low > 0 or high < 0}
        if several:
            entry["output"] = output if model.classes is None else model.classes[output].item()
        found.append(entry)
    return found


def _print_schema(about: dict[str, Any]) -> None:
    """Say what each column of the table is, and how its numbers are taken."""
    from polyak.model.schema import HASHED, schema_of

    schema = schema_of(about)
    assert schema is not None
    lines = []
    for column in schema.columns:
        plain = column.kind not in HASHED and column.kind != "boolean"
        lines.append(
            [
                column.name,
                column.kind,
                f"{column.offset:g}" if plain else "",
                f"{column.scale:g}" if plain else "",
            ]
        )
    print()
    _print_table(["column", "read as", "offset", "scale"], lines)
    if schema.target is not None:
        positive = "" if schema.target.positive is None else f", {schema.target.positive} or not"
        print(f"\nThe target is {schema.target.name}{positive}.", end="")
        print(f" Rows weigh as {schema.weight} says." if schema.weight else "", end="")
        crossed = ", ".join(":".join(names) for names in schema.interactions)
        print(f" Crossed: {crossed}." if crossed else "", end="")
        print(f" Words are hashed into 2^{schema.bits} slots." if schema.is_hashed else "")


def _print_heaviest(heaviest: list[dict[str, Any]], about: dict[str, Any]) -> None:
    from polyak.model.features import slot_name
    from polyak.rows.labels import label_text

    several = "output" in heaviest[0]
    first = int(about.get("first_id", 0))
    interval = "low" in heaviest[0]
    heads = ["feature", *(["class"] if several else []), "weight"]
    if interval:
        heads += ["95% from", "to", "excludes zero"]
    lines = []
    for entry in heaviest:
        name = slot_name(about, entry["feature"] - first)
        line = [name, *([label_text(entry["output"])] if several else [])]
        line.append(f"{entry['weight']:+.6g}")
        if interval:
            line += [f"{entry['low']:+.6g}", f"{entry['high']:+.6g}"]
            line.append("yes" if entry["excludes_zero"] else "no")
        lines.append(line)
    _print_table(heads, lines)


def _print_table(heads: list[str], lines: list[list[str]]) -> None:
    widths = [max(len(text) for text in column) for column in zip(heads, *lines, strict=True)]
    for line in (heads, *lines):
        print("  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)))

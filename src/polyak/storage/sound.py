"""What model files and checkpoints have to say, and how that has to fit together.

A file is checked whole before anything is made of it, so that nothing in it can end in an error of
another kind, now or an hour later.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from polyak.losses import LOSSES
from polyak.storage.shapes import (
    Shape,
    either,
    flag,
    many,
    maybe,
    named,
    real,
    record,
    row,
    whole,
    word,
)

Arrays = dict[str, NDArray[Any]]

FLOATS = ("float32", "float64")
LABEL = either(flag, whole(-(2**63)), real(), word())
LABELS = record({"type": word(), "values": many(LABEL)})
CLASSES = record({"type": word(), "values": many(LABEL, least=2)})
RATE = record({"gamma0": real(0), "a": real(0), "c": real(0)})
AUTO_OR_REAL = either(word("auto"), real(0))
CANDIDATE: dict[str, Shape] = {
    "alpha": real(0),
    "schedule": RATE,
    "averaging": record({"start": either(word("auto"), maybe(whole())), "power": real(0)}),
    "step": word("explicit", "implicit"),
    "precondition": real(0),
    "capped": flag,
    "largest_squared_length": real(0),
}
NEWTON_CANDIDATE: dict[str, Shape] = {"penalty": real(0)}
RECIPE = record(
    {
        "loss": word(*LOSSES),
        "recipe": word("auto", "sgd", "paper"),
        **dict.fromkeys(("alpha", "eta0", "decay", "power_t", "precondition"), AUTO_OR_REAL),
        "average": either(word("auto"), flag, whole()),
        "step": word("auto", "explicit", "implicit"),
        "fit_intercept": flag,
        "intervals": flag,
        "seed": whole(0, 2**64),
    }
)

# -- models ----------------------------------------------------------------------------------------

COLUMN = record(
    {
        "name": word(),
        "kind": word("number", "boolean", "category", "text", "bag", "date", "time", "clock"),
        "stored": word("number", "boolean", "string", "strings", "date", "time", "clock"),
        "offset": real(),
        "scale": real(),
    }
)
TARGET = record(
    {"name": word(), "kind": word("number", "class")},
    positive=maybe(word()),
    negative=maybe(word()),
    values=whole(),
)
SCHEMA = record(
    {
        "columns": many(COLUMN),
        "target": maybe(TARGET),
        "weight": maybe(word()),
        "bits": whole(1, 30),
        "ngrams": whole(1, 8),
        "interactions": many(many(word(), least=2)),
    }
)
ABOUT = record(
    None,
    rows=whole(),
    passes=whole(),
    bad_lines=whole(),
    rows_without_target=whole(),
    first_id=whole(0, 1),
    hashed_bits=whole(1, 30),
    hashed_names=named(word()),
    feature_names=many(word()),
    schema=SCHEMA,
    method=word(),
    penalty=real(0),
    alpha=maybe(real(0)),
    learning_rate=maybe(named(maybe(real()))),
    step=maybe(word()),
    precondition=maybe(real(0)),
    average_start=maybe(many(maybe(whole()))),
    progressive_loss=maybe(real()),
    progressive_error=maybe(real()),
    recent=maybe(named(maybe(real()))),
    calibration=maybe(named(many(maybe(real())))),
    best_candidate=whole(),
    candidates=many(
        record(
            None,
            **{name: maybe(shape) for name, shape in (CANDIDATE | NEWTON_CANDIDATE).items()},
            number=whole(),
            running=flag,
            rows=whole(),
            progressive_loss=maybe(real()),
            curve=many(row(whole(), maybe(real()))),
        )
    ),
    rows_needed=maybe(
        record(
            {"rows": whole(), "lambda0": real(), "gamma0": real(), "flattest": real()},
            spectrum=flag,
        )
    ),
    recipe=maybe(record()),
    engine=maybe(record()),
)
MODEL = record(
    {
        "loss": word(*LOSSES),
        "classes": maybe(CLASSES),
        "features": record({"count": whole()}),
        "about": ABOUT,
    }
)


def check_model_page(page: dict[str, Any]) -> None:
    """Refuse a page that no model has."""
    MODEL(page, "page")
    about = page["about"]
    if "candidates" in about and about.get("best_candidate", 0) >= len(about["candidates"]):
        raise ValueError("its best candidate is not among the candidates")
    for slot in about.get("hashed_names", ()):
        if not slot.isdecimal():
            raise ValueError(f"it names a feature {slot!r}")
    if "schema" in about:
        _check_schema(about["schema"])


def _check_schema(schema: dict[str, Any]) -> None:
    kinds = {column["name"]: column["kind"] for column in schema["columns"]}
    if len(kinds) < len(schema["columns"]):
        raise ValueError("its schema has two columns of one name")
    if any(column["scale"] == 0 for column in schema["columns"]):
        raise ValueError("its schema has a column of no scale")
    for crossed in schema["interactions"]:
        if any(kinds.get(name, "text") in ("text", "bag") for name in crossed):
            raise ValueError(f"its schema crosses {':'.join(crossed)}, which cannot be crossed")

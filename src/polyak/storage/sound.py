"""What model files and checkpoints have to say, and how that has to fit together.

A file is checked whole before anything is made of it, so that nothing in it can end in an error of
another kind, now or an hour later.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.free_memory import check_memory
from polyak.learn.calibration import BINS
from polyak.learn.newton.lane import LOSSES as WITH_CURVATURE
from polyak.losses import LOSSES
from polyak.storage.shapes import (
    Shape,
    anything,
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
from polyak.training.sound_newton import NEWTON, check_newton

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


# -- checkpoints -----------------------------------------------------------------------------------

BAD_LINES = many(row(word(), whole(), word(), word()), most=10)
PLACE = record(
    None, file=whole(), offset=whole(), line=whole(), lines=whole(), names=maybe(many(word()))
)
POSITION = record(
    None,
    format=word(),
    rows=whole(),
    file=whole(),
    offset=whole(),
    lines=whole(),
    base=whole(-1, 1),
    width=whole(),
    bits=whole(1, 31),
    without_target=whole(),
    target_varies=flag,
    first_target=maybe(either(word(), flag, real())),
    place=PLACE,
    bytes_read=whole(),
    bad_lines=whole(),
    first_bad_lines=BAD_LINES,
    shuffle_buffer=whole(),
    seed=whole(0, 2**64 + 2**53),
)
RACE = record(
    {
        "candidates": many(either(record(NEWTON_CANDIDATE), record(CANDIDATE)), least=1),
        "running": many(whole(), least=1),
        "outputs": whole(1),
        "one_vs_rest": flag,
        "clock": whole(),
        "scored": whole(),
        "looked": many(whole()),
        "marks": many(whole(), least=1),
        "histograms": many(maybe(record({"rows": whole(), "mark": whole(1)}))),
    },
    newton=NEWTON,
)
LEARNER = record(
    {
        "recipe": RECIPE,
        "n_features": maybe(whole()),
        "outputs": whole(1),
        "classes": maybe(CLASSES),
    },
    race=RACE,
    kept_width=whole(),
    kept_targets=LABELS,
    weight_unit=real(0),
)
CHECKPOINT = record(
    {
        "rows": whole(),
        "data": word(),
        "options": named(anything),
        "position": maybe(POSITION),
        "passes_done": whole(),
        "counts": record(
            None,
            first_id=maybe(whole(-1, 1)),
            without_target=whole(),
            bytes_read=whole(),
            share=maybe(real(0)),
            bad_lines=whole(),
            first_bad_lines=BAD_LINES,
        ),
        "learner": LEARNER,
    }
)


def check_checkpoint(page: dict[str, Any], arrays: Arrays) -> None:
    """Refuse a page that no checkpoint has, and arrays that do not fit it."""
    CHECKPOINT(page, "page")
    learner = page["learner"]
    kept = any(name.startswith("kept.") for name in arrays) or "kept_targets" in learner
    if "race" in learner:
        _check_race(learner, arrays)
    elif not kept:
        raise ValueError("it has learned no rows")
    if "moments" in arrays:
        _check_moments(arrays["moments"])
    if kept:
        _check_kept(learner, arrays)


def _check_race(learner: dict[str, Any], arrays: Arrays) -> None:
    race, recipe = learner["race"], learner["recipe"]
    candidates, running, marks = (race[name] for name in ("candidates", "running", "marks"))
    if len(set(running)) < len(running) or max(running) >= len(candidates):
        raise ValueError("its running candidates are not among the candidates")
    if marks[0] != 0 or any(b <= a for a, b in pairwise(marks)):
        raise ValueError("its marks do not rise from zero")
    if marks[-1] > race["scored"]:
        raise ValueError("its last mark is of a row to come")
    _demand(arrays, "history", "float64", (len(marks), len(candidates), 4))
    classes = None if learner["classes"] is None else len(learner["classes"]["values"])
    several = classes is not None and classes > 2
    if LOSSES[recipe["loss"]].classifies != (classes is not None) or classes in (0, 1):
        raise ValueError(f"its classes and the loss {recipe['loss']} do not fit each other")
    outputs = classes if several else learner["outputs"]
    if race["outputs"] != outputs or race["one_vs_rest"] != several:
        raise ValueError("its race and its classes do not fit each other")
    newton = sum("penalty" in candidates[number] for number in running)
    if newton or "newton" in race:
        if "newton" not in race or recipe["loss"] not in WITH_CURVATURE or recipe["intervals"]:
            raise ValueError("its Newton steps and its candidates do not fit each other")
        check_newton(learner, arrays, newton, _demand)
    averaged = len(running) - newton
    _check_banks(learner, arrays, averaged, outputs * (33 if recipe["intervals"] else 1))


def _check_banks(
    learner: dict[str, Any], arrays: Arrays, candidates: int, models_each: int
) -> None:
    """Compare with the sizes that are claimed before anything of such a size is made."""
    race = learner["race"]
    models = 0
    for number, histogram in enumerate(race["histograms"]):
        lines = _demand(arrays, f"bank{number}.lines", FLOATS, (None, None))
        if lines.dtype != arrays["bank0.lines"].dtype:
            raise ValueError("its banks have weights of two types")
        if learner["n_features"] is not None and len(lines) != learner["n_features"]:
            raise ValueError(f"it has {len(lines)} weights for {learner['n_features']} features")
        models += lines.shape[1] // 2
        _demand(arrays, f"bank{number}.squares", "float64", (None,))
        _demand(arrays, f"bank{number}.models", "float64", (None, lines.shape[1] // 2))
        if histogram is None:
            continue
        counts = _demand(arrays, f"bank{number}.histogram", "float64", (2, None, 2, BINS))
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("it has counted what cannot be counted")
        if histogram["mark"] <= histogram["rows"]:
            raise ValueError("its histogram is beyond its mark")
    if len(race["looked"]) != len(race["histograms"]):
        raise ValueError("its banks are not as many as it says")
    if models != candidates * models_each:
        raise ValueError(f"it has {models} models for {candidates} candidates")


def _check_moments(moments: NDArray[Any]) -> None:
    fits = moments.ndim in (1, 2) and moments.shape[0] > 0 and moments.dtype == np.float64
    if not fits or len(set(moments.shape)) != 1 or not np.isfinite(moments).all():
        raise ValueError("its moments are not those of rows")


def _check_kept(learner: dict[str, Any], arrays: Arrays) -> None:
    """Check the rows that are kept back until there are enough to look at."""
    outputs = 1
    if "kept_targets" in learner:
        targets: int = len(learner["kept_targets"]["values"])
    else:
        values = arrays.get("kept.targets")
        if values is None or values.ndim not in (1, 2) or values.dtype.kind not in "biuf":
            raise ValueError("its first rows have no targets")
        targets = len(values)
        outputs = values.shape[1] if values.ndim == 2 else 1
    if learner["outputs"] != outputs:
        raise ValueError(f"it has {learner['outputs']} outputs for {outputs} targets a row")
    if "kept.rows" in arrays:
        dense = _demand(arrays, "kept.rows", FLOATS, (targets, None))
        rows = dense
    else:
        if "kept_width" not in learner:
            raise ValueError("its first rows have no width")
        check_memory(16 * learner["kept_width"], learner["kept_width"])
        rows = _demand(arrays, "kept.values", FLOATS, (None,))
        indices = _demand(arrays, "kept.indices", ("int32", "int64"), rows.shape)
        indptr = _demand(arrays, "kept.indptr", ("int32", "int64"), (targets + 1,))
        sound = indptr[0] == 0 and indptr[-1] == len(rows) and (np.diff(indptr) >= 0).all()
        if not sound or (len(indices) and not 0 <= indices.min() <= indices.max()):
            raise ValueError("its first rows do not fit each other")
        if len(indices) and indices.max() >= learner["kept_width"]:
            raise ValueError("its first rows have a feature beyond their width")
    if not np.isfinite(rows).all():
        raise ValueError("its first rows are not finite")
    if "kept.weights" in arrays:
        weights = _demand(arrays, "kept.weights", "float64", (targets,))
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError("the weights of its first rows are not weights")


def _demand(
    arrays: Arrays, name: str, types: str | tuple[str, ...], shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Give an array that has to be there, of a type and a shape; None is any length."""
    if name not in arrays:
        raise ValueError(f"it has no {name}")
    array = arrays[name]
    right_type = array.dtype.name in ((types,) if isinstance(types, str) else types)
    right_shape = array.ndim == len(shape) and all(
        wanted is None or length == wanted
        for length, wanted in zip(array.shape, shape, strict=True)
    )
    if not (right_type and right_shape):
        raise ValueError(f"its {name} has the wrong shape or type")
    return array

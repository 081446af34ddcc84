"""What checkpoints have to say, and how that has to fit together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.free_memory import check_memory
from polyak.learn.calibration import BINS, SCALES
from polyak.learn.race.history import SUMS
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss
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
from polyak.storage.sound import (
    CANDIDATE,
    CLASSES,
    CONSTANT_CANDIDATE,
    FLOATS,
    LABELS,
    NEWTON_CANDIDATE,
    RECIPE,
    Arrays,
    loss_text,
)
from polyak.training.sound_newton import NEWTON, check_newton

BAD_LINES = many(row(word(), whole(), word(), word()), most=10)


PLACE = record(
    None, file=whole(), offset=whole(), line=whole(), lines=whole(), names=maybe(many(word()))
)


COUNTS: dict[str, Shape] = {
    "format": word(),
    "rows": whole(),
    "file": whole(),
    "offset": whole(),
    "lines": whole(),
    "base": whole(-1, 1),
    "width": whole(),
    "bits": whole(1, 31),
    "without_target": whole(),
    "target_varies": flag,
    "first_target": maybe(either(word(), flag, real())),
    "place": PLACE,
    "bytes_read": whole(),
    "bad_lines": whole(),
    "first_bad_lines": BAD_LINES,
    "shuffle_buffer": whole(),
    "seed": whole(0, 2**64 + 2**53),
}
"""What a position tells, whatever the order of the rows."""


POSITION = record(
    None, window=whole(), window_batches=whole(), before=record(None, **COUNTS), **COUNTS
)


RACE = record(
    {
        "candidates": many(
            either(
                record(NEWTON_CANDIDATE, softmax=flag, of_mean=flag),
                record(CANDIDATE, adagrad=maybe(real(0))),
                record(CONSTANT_CANDIDATE),
            ),
            least=1,
        ),
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
    constant=record({"rows": whole()}, sampled=whole(), every=whole(1)),
)


LEARNER = record(
    {
        "recipe": RECIPE,
        "n_features": maybe(whole()),
        "outputs": whole(1),
        "classes": maybe(CLASSES),
    },
    race=RACE,
    loss=loss_text,
    kept_width=whole(),
    kept_targets=LABELS,
    kept_labels=many(many(real())),
    weight_unit=real(0),
    classes_may_join=flag,
    early_width=whole(),
    early_targets=LABELS,
    early_labels=many(many(real())),
    order=record({"advice": word(), "told": flag, "next_look": whole(1)}),
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
    kept, early = (
        any(name.startswith(f"{some}.") for name in arrays)
        or f"{some}_targets" in learner
        or f"{some}_labels" in learner
        for some in ("kept", "early")
    )
    if "race" in learner:
        _check_race(learner, arrays)
    elif not kept:
        raise ValueError("it has learned no rows")
    if "moments" in arrays:
        _check_moments(arrays["moments"])
    _check_spreads(arrays.get("spreads.features"), arrays.get("spreads.values"))
    if kept:
        _check_kept(learner, arrays, "kept")
    if early:
        _check_kept(learner, arrays, "early")


def _check_race(learner: dict[str, Any], arrays: Arrays) -> None:
    race, recipe = learner["race"], learner["recipe"]
    candidates, running, marks = (race[name] for name in ("candidates", "running", "marks"))
    if len(set(running)) < len(running) or max(running) >= len(candidates):
        raise ValueError("its running candidates are not among the candidates")
    if marks[0] != 0 or any(b <= a for a, b in pairwise(marks)):
        raise ValueError("its marks do not rise from zero")
    if marks[-1] > race["scored"]:
        raise ValueError("its last mark is of a row to come")
    _demand(arrays, "history", "float64", (len(marks) - 1, len(candidates), SUMS))
    classes = None if learner["classes"] is None else len(learner["classes"]["values"])
    labels = classes is not None and learner["outputs"] > 1  # a model each
    several = classes is not None and classes > 2 and not labels
    if get_loss(recipe["loss"]).classifies != (classes is not None) or classes in (0, 1):
        raise ValueError(f"its classes and the loss {recipe['loss']} do not fit each other")
    if get_loss(learner.get("loss", recipe["loss"])).name != get_loss(recipe["loss"]).name:
        raise ValueError("its loss is not that of its recipe")
    outputs = classes if several or labels else learner["outputs"]
    if race["outputs"] != outputs or race["one_vs_rest"] != several:
        raise ValueError("its race and its classes do not fit each other")
    newton = sum("penalty" in candidates[number] for number in running)
    if newton or "newton" in race:
        if "newton" not in race or not get_loss(recipe["loss"]).has_curvature:
            raise ValueError("its Newton steps and its candidates do not fit each other")
        check_newton(learner, arrays, newton, _demand)
    if any(name.startswith("centre.") for name in arrays):
        _check_centre(arrays, learner["n_features"])
    constant = sum("constant" in candidates[number] for number in running)
    if constant != ("constant" in race) or any("constant" in one for one in candidates[:-1]):
        raise ValueError("its constant and its candidates do not fit each other")
    if constant:
        _check_constant(arrays, race, classes)
    averaged = len(running) - newton - constant
    how = Recipe(**recipe).for_averaged_sgd(outputs, learner["n_features"])
    _check_banks(learner, arrays, averaged, outputs * (1 + how.replicas))


def _check_centre(arrays: Arrays, most: int | None) -> None:
    """Check what features are shifted by, before anything as wide as they are is made."""
    features = _demand(arrays, "centre.features", "int64", (None,))
    means = _demand(arrays, "centre.means", "float64", features.shape)
    rise = (np.diff(features, prepend=-1) > 0).all() and np.isfinite(means).all()
    width = most if most is not None else max(map(len, _stores(arrays)), default=0)
    if not len(features) or not rise or features[-1] >= width:
        raise ValueError("its features are shifted by what no rows can have given")


def _stores(arrays: Arrays) -> list[NDArray[Any]]:
    weights = [array for name, array in arrays.items() if name.endswith(".lines")]
    known = arrays.get("newton.column.features")
    return weights if known is None else [*weights, np.empty(int(known.max(initial=-1)) + 1)]


def _check_constant(arrays: Arrays, race: dict[str, Any], classes: int | None) -> None:
    """Compare the arrays of the constant with each other."""
    outputs = race["outputs"]
    kinds = outputs * (1 if race["one_vs_rest"] else 2) if classes else 1 + outputs
    lengths = {"since": SUMS, "seen": kinds, "then": kinds, "constant": outputs, "usual": 2}
    for name, length in lengths.items():
        _demand(arrays, f"constant.{name}", "float64", (length,))
    if "sampled" in race["constant"]:
        _demand(arrays, "constant.sample", "float64", (None, 1 + outputs))
    if race["constant"]["rows"] > race["scored"]:
        raise ValueError("its constant has seen more rows than there were")


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
        if f"bank{number}.means" in arrays:
            means = _demand(arrays, f"bank{number}.means", FLOATS, (None, lines.shape[1] // 2))
            if not 0 < len(means) <= 1 + len(lines):
                raise ValueError("it has means of weights that there are not")
        if histogram is None:
            continue
        counts = _demand(arrays, f"bank{number}.histogram", "float64", (2, None, 2, BINS))
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("it has counted what cannot be counted")
        if (name := f"bank{number}.softmax") in arrays:
            _demand(arrays, name, "float64", (2, len(counts[0]) // race["outputs"], 2, SCALES))
        if histogram["mark"] <= histogram["rows"]:
            raise ValueError("its histogram is beyond its mark")
    if len(race["looked"]) != len(race["histograms"]):
        raise ValueError("its banks are not as many as it says")
    if models != candidates * models_each:
        raise ValueError(f"it has {models} models for {candidates} candidates")


def _check_spreads(features: NDArray[Any] | None, values: NDArray[Any] | None) -> None:
    if features is None and values is None:
        return
    if features is None or values is None:
        raise ValueError("it has not all spreads of its features")
    if features.dtype != np.int64 or values.dtype != np.float64:
        raise ValueError("its spreads are not those of features")
    if features.ndim != 1 or features.shape != values.shape or (features < 0).any():
        raise ValueError("its spreads do not fit each other")


def _check_moments(moments: NDArray[Any]) -> None:
    fits = moments.ndim in (1, 2) and moments.shape[0] > 0 and moments.dtype == np.float64
    if not fits or len(set(moments.shape)) != 1 or not np.isfinite(moments).all():
        raise ValueError("its moments are not those of rows")


def _check_kept(learner: dict[str, Any], arrays: Arrays, name: str) -> None:
    """Check rows that are kept: until there are enough to look at, or to be looked at again."""
    outputs = 1
    if f"{name}_targets" in learner:
        targets: int = len(learner[f"{name}_targets"]["values"])
    elif f"{name}_labels" in learner:
        targets = len(learner[f"{name}_labels"])
        outputs = learner["outputs"]
    else:
        values = arrays.get(f"{name}.targets")
        if values is None or values.ndim not in (1, 2) or values.dtype.kind not in "biuf":
            raise ValueError("its first rows have no targets")
        targets = len(values)
        outputs = values.shape[1] if values.ndim == 2 else 1
    outputs *= get_loss(learner["recipe"]["loss"]).outputs
    if learner["outputs"] != outputs:
        raise ValueError(f"it has {learner['outputs']} outputs for {outputs} targets a row")
    if f"{name}.rows" in arrays:
        dense = _demand(arrays, f"{name}.rows", FLOATS, (targets, None))
        rows = dense
    else:
        if f"{name}_width" not in learner:
            raise ValueError("its first rows have no width")
        check_memory(16 * learner[f"{name}_width"], learner[f"{name}_width"])
        rows = _demand(arrays, f"{name}.values", FLOATS, (None,))
        indices = _demand(arrays, f"{name}.indices", ("int32", "int64"), rows.shape)
        indptr = _demand(arrays, f"{name}.indptr", ("int32", "int64"), (targets + 1,))
        sound = indptr[0] == 0 and indptr[-1] == len(rows) and (np.diff(indptr) >= 0).all()
        if not sound or (len(indices) and not 0 <= indices.min() <= indices.max()):
            raise ValueError("its first rows do not fit each other")
        if len(indices) and indices.max() >= learner[f"{name}_width"]:
            raise ValueError("its first rows have a feature beyond their width")
    if not np.isfinite(rows).all():
        raise ValueError("its first rows are not finite")
    if f"{name}.weights" in arrays:
        weights = _demand(arrays, f"{name}.weights", "float64", (targets,))
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

"""What a checkpoint has to say about a lane of block Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.calibration import BINS, SCALES
from polyak.learn.newton.cadence import BLOCK, LONG_BLOCK
from polyak.learn.newton.limits import most_features
from polyak.learn.newton.progressive import SUMS
from polyak.learn.newton.scoring import SEGMENT
from polyak.storage.shapes import flag, many, maybe, real, record, whole, word

Arrays = dict[str, NDArray[Any]]
Types = str | tuple[str, ...]
Demand = Callable[[Arrays, str, Types, tuple[int | None, ...]], NDArray[Any]]

NEWTON = record(
    {
        "clock": whole(),
        "left": maybe(word()),
        "_learned_again": whole(),
        "_first_block": flag,
        "fitted": whole(),
        "_counted": whole(),
        "block": whole(BLOCK, LONG_BLOCK),
        "histogram": maybe(record({"rows": whole(), "mark": whole(1)})),
        "dtype": word("float32", "float64"),
    },
    earlier=many(whole(1), most=2),
    closed=flag,
    _left_out=whole(),
    _weight=real(0),
)


def check_newton(learner: dict[str, Any], arrays: Arrays, penalties: int, demand: Demand) -> None:
    """Compare the arrays of the lane with each other and with what the page says."""
    race, recipe = learner["race"], learner["recipe"]
    page, outputs = race["newton"], race["outputs"]
    if page["left"] is not None or not penalties:
        raise ValueError("its Newton steps have left the race")
    if page["clock"] > race["clock"]:
        raise ValueError("its Newton steps have learned more rows than there were")

    def get(name: str, shape: tuple[int | None, ...], type: Types = "float64") -> NDArray[Any]:
        array = demand(arrays, f"newton.{name}", type, shape)
        if not np.isfinite(array).all():
            raise ValueError(f"its newton.{name} is not finite")
        return array

    if not (get("penalties", (penalties,)) >= 0).all():
        raise ValueError("its penalties are negative")
    get("totals", (len(SUMS), penalties * outputs))
    get("lately", (penalties,))
    features = get("column.features", (None,), "int64")
    first, width = int(recipe["fit_intercept"]), len(features)
    together, intervals = _learns_together(race, recipe), recipe["intervals"]
    widest = most_features(recipe["loss"], outputs, intervals=intervals, together=together)
    if width > widest or len(np.unique(features)) < width:
        raise ValueError("its Newton steps have other features than they can have")
    most = learner["n_features"]
    if width and (features.min() < 0 or (most is not None and features.max() >= most)):
        raise ValueError("its Newton steps have features that there are not")
    get("column.centre", (width,))
    for name in ("spread", "squares", "varied"):
        if (get(f"column.{name}", (width,)) < 0).any():
            raise ValueError(f"its newton.column.{name} is negative")
    coordinates = outputs - 1 if together else outputs
    _check_information(recipe, coordinates, penalties, first + width, get, together=together)
    _check_held(page, recipe, outputs, width, get)
    for number in range(len(page.get("earlier", ()))):
        if len(get(f"earlier.{number}", (None, outputs))) > width:
            raise ValueError("its Newton steps had more features than they have")
    if page["histogram"] is not None:
        counts = get("histogram", (2, penalties * outputs, 2, BINS))
        if (counts < 0).any():
            raise ValueError("it has counted what cannot be counted")
        if "newton.softmax" in arrays:
            get("softmax", (2, penalties, 2, SCALES))
        if page["histogram"]["mark"] <= page["histogram"]["rows"]:
            raise ValueError("its histogram is beyond its mark")


def _learns_together(race: dict[str, Any], recipe: dict[str, Any]) -> bool:
    """Tell whether several classes are learned together: by all Newton steps, or by none."""
    newton = [one for one in race["candidates"] if "penalty" in one]
    found = {one.get("softmax", False) for one in newton}
    several = race["one_vs_rest"] and recipe["loss"] == "log_loss" and not recipe["intervals"]
    if len(found) > 1 or (found == {True} and not several):
        raise ValueError("its Newton steps learn together what they cannot")
    return found == {True}


def _check_information(
    recipe: dict[str, Any],
    outputs: int,
    penalties: int,
    columns: int,
    get: Any,
    *,
    together: bool,
) -> None:
    exact = recipe["loss"] == "squared_error"
    known = len(get("weights", (None, penalties, outputs)))
    if not int(recipe["fit_intercept"]) <= known <= columns:
        raise ValueError("its Newton steps have weights for features that there are not")
    get("gradients", (known, 1 if exact else penalties, outputs))
    matrices, size = (1, outputs * known) if together else (outputs, known)
    get("hessians", (1 if exact else matrices, size, size))
    get("spreads", (outputs if recipe["intervals"] else 0, known, known))


def _check_held(
    page: dict[str, Any], recipe: dict[str, Any], outputs: int, width: int, get: Any
) -> None:
    columns = int(recipe["fit_intercept"]) + width
    held = len(get("held.rows", (None, columns), ("float32", "float64")))
    get("held.targets", (held, outputs))
    if (get("held.weights", (held,)) < 0).any():
        raise ValueError("its held rows have negative weights")
    get("held.fresh", (held,))
    inside = page["_counted"] <= held <= page["clock"] and page["fitted"] <= page["clock"]
    end = min(page["block"], page["_counted"] + SEGMENT)
    if not inside or held >= end:  # then they would have been learned
        raise ValueError("its held rows and its block do not fit each other")

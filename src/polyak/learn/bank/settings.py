"""The settings and arguments of a bank, validated and in the form the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial

Floats = NDArray[np.float64]
Step = Literal["explicit", "implicit", "proximal"]

SUMS = ("weight", "loss", "loss_squared", "error", "confusion", "rated", "capped")
"""The progressive sums of a model, since they were last set to zero: the weights of rows, losses,
their squares, errors, rows where a wrong class scored highest (for the first model of a group),
losses capped and weighted by the rows' limits, and the number of capped ones."""


def how_to_step(
    step: Step,
    precondition: float,
    adagrad: float | None,
    capped: bool,
    l1_ratio: float,
    positive: bool,
) -> dict[str, Any]:
    """Return the settings of the core for the steps of a model."""
    if step not in get_args(Step):
        raise ValueError(f"a step is {', '.join(get_args(Step))}, not {step!r}")
    if not (np.isfinite(precondition) and precondition >= 0):
        raise ValueError(f"precondition must be at least zero, not {precondition}")
    return {
        "implicit": step == "implicit",
        "proximal": step == "proximal",
        "precondition": float(precondition),
        "adagrad": adagrad,
        "capped": capped,
        "l1_ratio": l1_ratio,
        "positive": positive,
    }


def check_penalties(alpha: Floats, gamma0: Floats, step: Step) -> None:
    """Refuse penalties below zero, and those that make explicit steps overshoot."""
    for a in alpha:
        if not (np.isfinite(a) and a >= 0):
            raise ValueError(f"alpha must be finite and at least zero, not {a}")
    if step != "explicit":
        return  # an implicit penalty shrinks the weights by 1 / (1 + alpha gamma), never past zero
    for a, g in zip(alpha, gamma0, strict=True):
        if a * g >= 1:
            raise ValueError(
                f"alpha * gamma0 must be below 1 for explicit steps, but alpha = {a} and "
                f"gamma0 = {g}: the penalty alone would push the weights past zero"
            )


def shared_power(schedules: Sequence[Polynomial]) -> float:
    """Return the power c of the rates, which all models of a bank share."""
    powers = {schedule.c for schedule in schedules}
    if len(powers) != 1:
        raise ValueError(f"the models of a bank share one power c, not {sorted(powers)}")
    return powers.pop()


WEIGHT_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def class_numbers(y: ArrayLike) -> NDArray[np.int64]:
    """Return targets as the numbers of classes, all of them whole."""
    classes = np.asarray(y)
    if classes.dtype.kind == "f":
        wrong = np.flatnonzero(classes != np.round(classes))  # NaN differs from itself
        wrong = wrong if len(wrong) else np.flatnonzero(np.isinf(classes))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(f"row {row} has the class {classes[row]}, which is no whole number")
    return np.ascontiguousarray(classes, dtype=np.int64)


def core_targets(
    y: ArrayLike, *, classes: bool
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Return targets as the core takes them: as numbers, or else as the numbers of classes."""
    return (None, class_numbers(y)) if classes else (as_array(y, np.float64), None)


def check_choices(dtype: Any, n_features: int | None, group: int) -> None:
    """Refuse settings of a bank that there are not."""
    if np.dtype(dtype) not in WEIGHT_TYPES:
        raise ValueError(f"weights are float32 or float64, not {np.dtype(dtype)}")
    if n_features is not None and n_features < 0:
        raise ValueError(f"n_features must be at least zero, not {n_features}")
    if group < 1:
        raise ValueError(f"a group has at least one model, not {group}")


def check_together(loss: str, averaging: Averaging, *, softmax: bool, one_vs_rest: bool) -> None:
    """Refuse to learn classes together by anything but the logistic loss, or with the detector."""
    if softmax and not (loss == "log_loss" and one_vs_rest and averaging.first_start >= 0):
        raise ValueError("classes are learned together with log_loss, averaged from a row on")


def as_array(values: ArrayLike | None, dtype: Any) -> NDArray[Any] | None:
    """Return values as the core takes them, if there are any."""
    return None if values is None else np.ascontiguousarray(values, dtype)

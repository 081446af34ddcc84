"""What a bank refuses before the core sees it: choices, penalties and classes that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial

Floats = NDArray[np.float64]
Step = Literal["explicit", "implicit", "proximal"]

WEIGHT_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def class_numbers(y: ArrayLike) -> NDArray[np.int64]:
    """Give targets as the numbers of classes, all of them whole."""
    classes = np.asarray(y)
    if classes.dtype.kind == "f":
        wrong = np.flatnonzero(classes != np.round(classes))  # NaN differs from itself
        wrong = wrong if len(wrong) else np.flatnonzero(np.isinf(classes))
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(f"row {row} has the class {classes[row]}, which is no whole number")
    return np.ascontiguousarray(classes, dtype=np.int64)


def shared_power(schedules: Sequence[Polynomial]) -> float:
    """Give the power ``c`` that all models of a bank share."""
    powers = {schedule.c for schedule in schedules}
    if len(powers) != 1:
        raise ValueError(f"the models of a bank share one power c, not {sorted(powers)}")
    return powers.pop()


def check_choices(
    step: Step, dtype: Any, precondition: float, n_features: int | None, group: int
) -> None:
    """Refuse settings of a bank that there are not."""
    if step not in get_args(Step):
        raise ValueError(f"a step is {', '.join(get_args(Step))}, not {step!r}")
    if np.dtype(dtype) not in WEIGHT_TYPES:
        raise ValueError(f"weights are float32 or float64, not {np.dtype(dtype)}")
    if not (np.isfinite(precondition) and precondition >= 0):
        raise ValueError(f"precondition must be at least zero, not {precondition}")
    if n_features is not None and n_features < 0:
        raise ValueError(f"n_features must be at least zero, not {n_features}")
    if group < 1:
        raise ValueError(f"a group has at least one model, not {group}")


def check_together(loss: str, averaging: Averaging, *, softmax: bool, one_vs_rest: bool) -> None:
    """Refuse to learn classes together by anything but the logistic loss, or with the detector."""
    if softmax and not (loss == "log_loss" and one_vs_rest and averaging.first_start >= 0):
        raise ValueError("classes are learned together with log_loss, averaged from a row on")


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


def array(values: ArrayLike | None, dtype: Any) -> NDArray[Any] | None:
    """Give values as the core takes them, if there are any."""
    return None if values is None else np.ascontiguousarray(values, dtype)

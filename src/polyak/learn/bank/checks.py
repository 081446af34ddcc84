"""What a bank refuses before the core sees it: choices, penalties and classes that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.averaging import Averaging

Floats = NDArray[np.float64]

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


def targets(
    y: ArrayLike, *, classes: bool
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Give targets as the core takes them: as numbers, or else as the numbers of classes."""
    return (None, class_numbers(y)) if classes else (array(y, np.float64), None)


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


def array(values: ArrayLike | None, dtype: Any) -> NDArray[Any] | None:
    """Give values as the core takes them, if there are any."""
    return None if values is None else np.ascontiguousarray(values, dtype)

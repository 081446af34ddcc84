"""LIBLINEAR's model files, there and back.

A file is a page a person can read: the solver, the labels, then a line of weights a feature, the
intercept last as the weight of a feature that is always ``bias``. With two classes there is one
weight a line, and a positive score means the *first* label, where ours means the second.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from polyak.errors import ModelFileError
from polyak.exports.export_input import ExportInput
from polyak.exports.numbers import lines_of_numbers
from polyak.losses import LOSSES as ALL_LOSSES
from polyak.losses import get_loss
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.rows.label_text import label_text

SOLVERS = {
    name: loss.elsewhere["LIBLINEAR"]
    for name, loss in ALL_LOSSES.items()
    if "LIBLINEAR" in loss.elsewhere
}
LOSSES = {solver: loss for loss, solver in SOLVERS.items()} | {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "MCSVM_CS": "hinge",
    "L1R_LR": "log_loss",
    "L2R_LR_DUAL": "log_loss",
    "L2R_L2LOSS_SVR_DUAL": "squared_error",
    "L2R_L1LOSS_SVR_DUAL": "squared_error",
}
"""What each solver minimises, apart from the penalty; the regressions' insensitive zone is gone."""

MOST_WEIGHTS = 2**34
"""A damaged header must not ask for more memory than any machine has."""


# -- there -----------------------------------------------------------------------------------------


def write(given: ExportInput, path: str) -> list[str]:
    """Write a model as LIBLINEAR does."""
    from polyak.storage.container import replacing

    model = given.model
    if model.classes is None and given.outputs > 1:
        raise ValueError(
            f"a LIBLINEAR model predicts one number, but this one predicts {given.outputs}"
        )
    if model.multilabel:
        raise ValueError("LIBLINEAR has no models of several labels a row")
    loss = get_loss(model.loss)
    if loss.log_link:
        raise ValueError(f"LIBLINEAR has no log link, which the loss {loss.name} needs")
    labels, remarks = _labels(model)
    # Of two classes the first is that of positive scores.
    listed = "" if labels is None else f"label {' '.join(labels if labels[2:] else labels[::-1])}\n"
    together = model.softmax and loss.name == "log_loss"
    # The solver that has a score a class and leaves it at that.
    usual = "squared_hinge" if loss.classifies else "squared_error"
    solver = "MCSVM_CS" if together else SOLVERS.get(loss.name, SOLVERS[usual])
    if loss.name not in SOLVERS:
        remarks.append(f"LIBLINEAR has no {loss.name}: it predicts the same, as {solver}")
    head = (
        f"solver_type {solver}\nnr_class {2 if labels is None else len(labels)}\n"
        f"{listed}nr_feature {model.n_features}\nbias 1\nw\n"
    )
    with replacing(path) as file:
        file.write(head.encode())
        for table in (model.weights, model.intercept[None]):
            for lines in lines_of_numbers(table):
                file.write(lines.encode())
    remarks += given.about_rows()
    if model.features.first_id == 0:
        remarks.append("LIBLINEAR counts features from 1: feature 0 is number 1 to it, and so on")
    if together:
        remarks.append(
            "LIBLINEAR knows no softmax of classes learned together: it predicts the labels, but "
            "gives no probabilities"
        )
    if model.loss != "log_loss" and model.sigmoids is not None:
        remarks.append("LIBLINEAR gives no probabilities for this loss: it predicts the labels")
    return remarks


def _labels(model: LinearModel) -> tuple[list[str] | None, list[str]]:
    """Spell the labels as whole numbers, and say what each is where they are not."""
    if model.classes is None:
        return None, []
    words = [label_text(label) for label in model.classes]
    numbers = [word for word in words if _is_int32(word)]
    if len(numbers) == len(words):
        return words, []
    meanings = ", ".join(f"{number} is {word}" for number, word in enumerate(words[:20]))
    more = ", …" if len(words) > 20 else ""
    said = f"LIBLINEAR's labels are whole numbers: {meanings}{more}"
    return [str(number) for number in range(len(words))], [said]


def _is_int32(word: str) -> bool:
    try:
        return -(2**31) <= int(word) < 2**31
    except ValueError:
        return False


# -- and back --------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model that LIBLINEAR, or `export`, wrote.

    Raises
    ------
    ModelFileError
        In one sentence, if it is something else, damaged, or of a kind without a like here.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            lines = enumerate(file, start=1)
            header = _header(name, lines)
            table = _table(name, header, lines)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(f"{name} cannot be read: {reason}") from error
    return _model(header, table)


class _Header:
    """The lines before the weights."""

    def __init__(self, name: str, found: dict[str, list[str]]) -> None:
        try:
            self.solver = found["solver_type"][0]
            self.classes = int(found["nr_class"][0])
            self.features = int(found["nr_feature"][0])
            self.bias = float(found["bias"][0])
            self.labels = [int(word) for word in found.get("label", [])]
        except KeyError as error:
            raise ModelFileError(f"{name} is not a LIBLINEAR model: no {error.args[0]}") from error
        except (ValueError, IndexError) as error:
            raise ModelFileError(f"{name} is damaged: {error}") from error
        self._check(name)
        paired = self.classes == 2 and self.solver != "MCSVM_CS"
        self.columns = 1 if paired else self.classes

    @property
    def lines(self) -> int:
        return self.features + (self.bias >= 0)

    def _check(self, name: str) -> None:
        if self.solver not in LOSSES:
            raise ModelFileError(f"{name} has the solver {self.solver}, which has no like here")
        regression = LOSSES[self.solver] == "squared_error"
        right = 0 if regression else self.classes
        if self.classes < 2 or (regression and self.classes != 2):
            raise ModelFileError(f"{name} has {self.classes} classes")
        if len(self.labels) != right or len(set(self.labels)) != right:
            raise ModelFileError(f"{name} is damaged: it needs {right} labels, all different")
        if self.features < 0 or self.features * self.classes > MOST_WEIGHTS:
            raise ModelFileError(f"{name} is damaged: it says that it has {self.features} features")
        if not np.isfinite(self.bias):
            raise ModelFileError(f"{name} is damaged: its bias is {self.bias}")


def _header(name: str, lines: Iterator[tuple[int, bytes]]) -> _Header:
    found: dict[str, list[str]] = {}
    for number, line in lines:
        words = line[:1_000_000].decode(errors="replace").split()
        if words == ["w"]:
            return _Header(name, found)
        if not words or words[0] not in ("solver_type", "nr_class", "label", "nr_feature", "bias"):
            if number == 1:
                break
            text = line[:40].decode(errors="replace").strip()
            raise ModelFileError(
                f"{name}, line {number}, is no part of a LIBLINEAR model: {text!r}"
            )
        found[words[0]] = words[1:]
    raise ModelFileError(f"{name} is not a LIBLINEAR model: it has no weights")


def _table(name: str, header: _Header, lines: Iterator[tuple[int, bytes]]) -> NDArray[np.float64]:
    """Read the weights, a line a feature; what follows the last is not looked at."""
    rows: list[NDArray[np.float64]] = []
    count = 0
    while count < header.lines:
        block = list(islice(lines, min(1 << 14, header.lines - count)))
        if not block or not block[-1][1].endswith(b"\n"):  # half a number is a number too
            whole = count + max(len(block) - 1, 0)
            raise ModelFileError(
                f"{name} is cut short: it has {whole} whole lines of weights, not {header.lines}"
            )
        rows.append(_numbers(name, header.columns, block))
        count += len(block)
    return np.concatenate(rows) if rows else np.zeros((0, header.columns))


def _numbers(name: str, columns: int, block: list[tuple[int, bytes]]) -> NDArray[np.float64]:
    try:
        table = np.array([[float(word) for word in line.split()] for _, line in block])
        if table.shape == (len(block), columns) and np.isfinite(table).all():
            return table
    except ValueError:
        pass
    for number, line in block:  # now slowly, to name the line
        words = line.split()
        if len(words) != columns:
            raise ModelFileError(
                f"{name}, line {number}, has {len(words)} weights instead of {columns}"
            )
        for word in words:
            text = word[:40].decode(errors="replace")
            try:
                if np.isfinite(float(word)):
                    continue
            except ValueError:
                pass
            raise ModelFileError(f"{name}, line {number}, has {text!r} where a weight should be")
    raise AssertionError("one of the lines is bad")


def _model(header: _Header, table: NDArray[np.float64]) -> LinearModel:
    labels = np.array(header.labels, dtype=np.int64)
    if header.labels[2:]:
        classes = labels
    else:  # even where two classes have a score each, LIBLINEAR looks at the first one's sign
        classes, table = labels[::-1].copy(), table[:, :1]
    intercept = np.zeros(table.shape[1])
    if header.bias >= 0:
        table, intercept = table[:-1], table[-1] * header.bias
    return LinearModel(
        weights=np.ascontiguousarray(table),
        intercept=intercept,
        loss=LOSSES[header.solver],
        classes=classes if len(labels) else None,
        features=FeatureMap.numbered(1),
    )

"""Models as tables of their weights, for people and for programs that know only tables.

One line a feature that weighs anything, or one for each of its classes, after the intercept's. As
CSV or TSV the numbers are whole and come back as they were; as text they are rounded and aligned.
The weights of a table's columns are per unit of the column, so that the score of a row is the
intercept plus the sum of weight times value. An additive model has a line for each knot or level
of each term instead, with the effect there and its band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.exports.export_input import ExportInput
from polyak.exports.units import in_units
from polyak.model.effects import effects_table
from polyak.model.intervals import centres, interval_kind, quantile, standard_errors
from polyak.rows.label_text import label_text

FEATURES_AT_A_TIME = 1 << 13
LEVEL = 0.95

Cells = list[list[str]]
"""Columns of text."""


def write(given: ExportInput, path: str, format: str) -> list[str]:
    """Write the table."""
    from polyak.storage.container import replacing

    if given.schema is not None and given.model.terms is None:
        given = replace(given, model=in_units(given.model, given.schema))
    lines = _aligned(given) if format == "txt" else _separated(given, format)
    with replacing(path) as file:
        for block in lines:
            file.write(block.encode())
    return []


def _heads(given: ExportInput) -> list[str]:
    if given.model.terms is not None:
        return list(effects_table(given.model, LEVEL))
    heads = ["feature"]
    if given.names is not None:
        heads.append("name")
    if given.outputs > 1:
        heads.append("output" if given.model.classes is None else "class")
    heads.append("weight")
    if interval_kind(given.model) is not None:
        heads += ["standard_error", "low", "high"]
    return heads


def _blocks(given: ExportInput) -> Iterator[tuple[Cells, NDArray[np.float64]]]:
    """Yield the words and the numbers of blocks of lines: the intercepts, then the features."""
    model, names = given.model, given.names
    if model.terms is not None:
        effects = effects_table(model, LEVEL)
        bands = np.stack([effects.pop(name) for name in ("value", "lower", "upper")], axis=1)
        yield [[label_text(cell) for cell in column] for column in effects.values()], bands
        return
    numbers = _numbers(given)
    outputs = given.output_names()
    used = np.flatnonzero(model.weights.any(axis=1))
    yield _words(["intercept"], None if names is None else [""], outputs), numbers(None)
    for begin in range(0, len(used), FEATURES_AT_A_TIME):
        some = used[begin : begin + FEATURES_AT_A_TIME]
        places = some.tolist()
        called = None if names is None else [names.get(j, "") for j in places]
        yield (
            _words([str(model.features.number(j)) for j in places], called, outputs),
            numbers(some),
        )


def _words(features: list[str], names: Sequence[str] | None, outputs: list[str]) -> Cells:
    def repeated(cells: Sequence[str]) -> list[str]:
        return [cell for cell in cells for _ in outputs]

    columns = [repeated(features)]
    if names is not None:
        columns.append(repeated(names))
    if len(outputs) > 1:
        columns.append(outputs * len(features))
    return columns


def _numbers(given: ExportInput) -> Any:
    """Return a function from features (None: the intercepts) to the numbers of their lines."""
    model = given.model
    tables: list[Any] = [(model.weights, model.intercept)]
    if interval_kind(model) is not None:
        reach = quantile(model, LEVEL)
        errors, middle = standard_errors(model), centres(model)
        ends = [
            tuple(c + sign * reach * e for c, e in zip(middle, errors, strict=True))
            for sign in (-1.0, 1.0)
        ]
        tables += [errors, *ends]

    def numbers(features: NDArray[np.int64] | None) -> NDArray[np.float64]:
        columns = [last if features is None else table[features] for table, last in tables]
        return np.stack([np.asarray(c, dtype=np.float64).ravel() for c in columns], axis=1)

    return numbers


def _separated(given: ExportInput, format: str) -> Iterator[str]:
    separator = "," if format == "csv" else "\t"
    yield separator.join(_heads(given)) + "\n"
    for words, numbers in _blocks(given):
        columns = [[_quoted(cell, separator) for cell in column] for column in words]
        columns += [list(map(repr, column)) for column in numbers.T.tolist()]
        yield "\n".join(map(separator.join, zip(*columns, strict=True))) + "\n"


def _quoted(cell: str, separator: str) -> str:
    if separator in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _aligned(given: ExportInput) -> Iterator[str]:
    heads = _heads(given)
    shown = [
        [[" ".join(cell.split()) for cell in column] for column in words]
        + [[f"{number:+.6g}" for number in column] for column in numbers.T.tolist()]
        for words, numbers in _blocks(given)
    ]
    widths = [
        max(len(head), *(max(map(len, block[place])) for block in shown))
        for place, head in enumerate(heads)
    ]
    for block in ([[head] for head in heads], *shown):
        lines = zip(*block, strict=True)
        yield "".join(
            "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)) + "\n"
            for line in lines
        )

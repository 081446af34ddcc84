"""Models as tables of their weights, for people and for programs that know only tables.

One line a feature that weighs anything, or one for each of its classes, after the intercept's. As
CSV or TSV the numbers are whole and come back as they were, and words that a spreadsheet would
compute begin with an apostrophe; as text they are rounded and aligned. The weights of a table's
columns are per unit of the column, so that the score of a row is the intercept plus the sum of
weight times value. An additive model has a line for each knot or level of each term instead, with
the effect there and its band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyak.exports.export_input import ExportInput
from polyak.exports.units import in_units
from polyak.model.coefficients import INTERCEPT, Coefficients, coefficients
from polyak.model.effects import effects_table
from polyak.model.features import FeatureMap
from polyak.rows.label_text import label_text, without_formula

LINES_AT_A_TIME = 1 << 13
LEVEL = 0.95
NUMBERS = ("weight", "standard_error", "low", "high")

Floats = NDArray[np.float64]
Cells = list[list[str]]
"""Columns of text."""
Blocks = Iterator[tuple[Cells, Floats]]
"""The words and the numbers of lines."""


def write(given: ExportInput, path: str, format: str) -> list[str]:
    """Write the table."""
    from polyak.storage.container import replacing

    if given.model.terms is not None:
        heads, blocks = _of_terms(given)
    else:
        if given.schema is not None:
            given = replace(given, model=in_units(given.model, given.schema))
        table = _table(given)
        heads, blocks = _heads(given, table), _blocks(given, table)
    lines = _aligned(heads, blocks) if format == "txt" else _separated(heads, blocks, format)
    with replacing(path) as file:
        for block in lines:
            file.write(block.encode())
    return []


def _table(given: ExportInput) -> Coefficients:
    """Return the numbers of the intercepts, and of all features that weigh anything."""
    # The weights are per unit of the columns already.
    model = replace(given.model, features=FeatureMap())
    found = coefficients(model, LEVEL, features=np.flatnonzero(model.weights.any(axis=1)))
    numbers = {name: found.numbers[name] for name in NUMBERS if name in found.numbers}
    return found._replace(numbers=numbers)


def _of_terms(given: ExportInput) -> tuple[list[str], Blocks]:
    """Return the heads and lines of an additive model: one per term and knot or level."""
    effects = effects_table(given.model, LEVEL)
    heads = list(effects)
    bands = np.stack([effects.pop(name) for name in ("value", "lower", "upper")], axis=1)
    words = [[label_text(cell) for cell in column] for column in effects.values()]
    return heads, iter([(words, bands)])


def _heads(given: ExportInput, table: Coefficients) -> list[str]:
    heads = ["feature"]
    if given.names is not None:
        heads.append("name")
    if given.outputs > 1:
        heads.append("output" if given.model.classes is None else "class")
    return [*heads, *table.numbers]


def _blocks(given: ExportInput, table: Coefficients) -> Blocks:
    """Yield the words and the numbers of blocks of lines."""
    names, outputs, number = given.names, given.output_names(), given.model.features.number
    for begin in range(0, len(table.features), LINES_AT_A_TIME):
        some = table.take(slice(begin, begin + LINES_AT_A_TIME))
        places = some.features.tolist()
        words = [["intercept" if j == INTERCEPT else str(number(j)) for j in places]]
        if names is not None:
            words.append([names.get(j, "") for j in places])
        if len(outputs) > 1:
            words.append([outputs[k] for k in some.outputs.tolist()])
        yield words, np.stack([*some.numbers.values()], axis=1)


def _separated(heads: list[str], blocks: Blocks, format: str) -> Iterator[str]:
    separator = "," if format == "csv" else "\t"
    yield separator.join(heads) + "\n"
    for words, numbers in blocks:
        columns = [[_quoted(cell, separator) for cell in column] for column in words]
        columns += [list(map(repr, column)) for column in numbers.T.tolist()]
        yield "\n".join(map(separator.join, zip(*columns, strict=True))) + "\n"


def _quoted(cell: str, separator: str) -> str:
    cell = without_formula(cell)
    if separator in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _aligned(heads: list[str], blocks: Blocks) -> Iterator[str]:
    shown = [
        [[" ".join(cell.split()) for cell in column] for column in words]
        + [[f"{number:+.6g}" for number in column] for column in numbers.T.tolist()]
        for words, numbers in blocks
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

"""How the columns of a table were read, on the screen: a line each, and what looks wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyak.cli.options.parser import terminal_width
from polyak.cli.output import escaped

if TYPE_CHECKING:
    from polyak.data.tables.look import TableLook

WIDEST = 32


def show_columns(look: TableLook) -> None:
    """Print one line per column, cut to the width of the terminal."""
    from polyak.data.tables.inference import SAMPLE_ROWS

    print(
        *block([column.cells() for column in look.columns], terminal_width(2)),
        sep="\n",
        file=sys.stderr,
    )
    if look.others:
        print(f"  … and {look.others:,} more columns", file=sys.stderr)
    if look.rows >= SAMPLE_ROWS:
        print(f"  as in the first {look.rows:,} rows", file=sys.stderr)


def block(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Lay cells out in columns, of which the first is cut where it is too long.

    Examples
    --------
    >>> block([("age", "number", "1 to 99"), ("city of birth", "words", "3 different")], 34)
    ['  age            number  1 to 99', '  city of birth  words   3 differ…']
    """
    shown = [(_cut(escaped(row[0]), WIDEST), *map(escaped, row[1:])) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  " + "  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    return [_cut(line, width) for line in lines]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

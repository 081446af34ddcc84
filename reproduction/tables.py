"""Tables: for the page as they are, for machines as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyak.storage.container import write_bytes


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words and numbers under their heads. ``paper`` says which of the paper's it is.

    Examples
    --------
    >>> table = Table("losses", "Losses", "Each loss once.", ["loss", "c"], [["hinge", 0.75]])
    >>> print(as_csv(table.heads, table.rows), end="")
    loss,c
    hinge,0.75
    """

    name: str
    title: str
    caption: str
    heads: list[str]
    rows: list[list[Any]] = field(default_factory=list)
    paper: str | None = None

    def write(self, folder: Path) -> None:
        """Write it as NAME.csv."""
        write_bytes(folder / f"{self.name}.csv", as_csv(self.heads, self.rows).encode())


def as_csv(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write rows for machines; every number with all its digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()

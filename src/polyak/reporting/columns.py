"""The columns of a table as they were read."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.data.tables.look import READ_AS
from polyak.model.schema import Schema
from polyak.model.training_report import ColumnReport, SourceReport
from polyak.reporting.markup import Markup, element
from polyak.reporting.subject import Subject
from polyak.reporting.words import count

MOST_OPEN = 15
"""More columns than that are shown when somebody asks for them."""


def columns_section(subject: Subject) -> Markup | None:
    """List the columns: what each was read as, its values, and how much of it is missing."""
    source = None if subject.report is None else subject.report.source
    schema = subject.model.features.schema
    if schema is None:
        return None
    table, total = _described(source, schema)
    words = f"How {count(total, 'column')} of the table became features."
    if source is not None and source.columns:
        words += " Ranges and shares are those of the first rows."
    if len(schema.columns) > MOST_OPEN:
        table = element("details", element("summary", "Show the columns"), table)
    return element("section", element("h2", "Columns"), element("p", words), table)


def _described(source: SourceReport | None, schema: Schema) -> tuple[Markup, int]:
    if source is None or not source.columns:
        rows = [[column.name, READ_AS[column.kind]] for column in schema.columns]
        target = schema.target
        rows += [] if target is None else [[target.name, "target"]]
        return _table(("Column", "Read as"), rows), len(rows)
    heads, lines = ["Column", "Read as", "Values", "Missing"], [*map(_cells, source.columns)]
    if source.others:
        lines.append([f"… and {source.others:,} more", "", "", ""])
    if not any(line[3] for line in lines):
        heads, lines = heads[:3], [line[:3] for line in lines]
    return _table(heads, lines), len(source.columns) + source.others


def _cells(column: ColumnReport) -> list[str]:
    missing = "" if not column.missing else f"{column.missing:.0%}"
    if column.missing and missing == "0%":
        missing = "<1%"
    return [column.name or "(no name)", column.read_as, column.values, missing]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    return element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *(element("tr", *(element("td", x) for x in row)) for row in rows)),
        class_="columns",
    )

"""The documentation's page of a run, made from the run's own files.

``python -m reproduction.page RUN docs/reproduction.md`` keeps what a run's folder has
to show (claims, tables, figures, on what machine) in a folder beside the page and called as the
page is, and writes the part of the page between its two marks anew. What stands around them is
written by hand.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

from polyak.storage.container import write_bytes
from reproduction.claims import VERDICTS
from reproduction.report import verdicts_in_words

BEGIN = "<!-- begin: made by python -m reproduction.page; do not edit -->"
END = "<!-- end -->"
LONGEST_TABLE = 60
"""Tables of more lines are linked only."""

Lines = list[list[str]]


def main(arguments: list[str]) -> int:
    """Keep a run beside a page, and write the page."""
    if len(arguments) != 2:
        print("usage: python -m reproduction.page RUN PAGE.md", file=sys.stderr)
        return 2
    run, page = map(Path, arguments)
    kept = page.with_suffix("")
    if run.resolve() != kept.resolve():
        keep(run, kept)
    write_bytes(page, with_run(page.read_text("utf-8"), kept).encode())
    return 0


def keep(run: Path, kept: Path) -> None:
    """Copy what a run has to show; its pieces are not for reading."""
    for folder, kinds in {
        ".": ("json", "csv"),
        "tables": ("csv",),
        "figures": ("svg", "csv"),
    }.items():
        (kept / folder).mkdir(parents=True, exist_ok=True)
        for kind in kinds:
            for old in (kept / folder).glob(f"*.{kind}"):
                old.unlink()
            for path in sorted((run / folder).glob(f"*.{kind}")):
                shutil.copyfile(path, kept / folder / path.name)


def with_run(page: str, kept: Path) -> str:
    """Return a page's text with the part between its marks generated from a run's files."""
    before, rest = page.split(BEGIN, 1)
    return before + BEGIN + "\n\n" + made(kept) + "\n" + END + rest.split(END, 1)[1]


def made(kept: Path) -> str:
    """Make the part between the marks."""
    claims = _read(kept / "claims.csv")
    about = json.loads((kept / "run.json").read_text("utf-8"))
    verdicts = [line[3] for line in claims[1:]]
    parts = [
        f"{verdicts_in_words(verdicts)} {about['sizes']} Run with polyak {about['polyak']} on "
        f"{about['machine']}; {about['minutes of computing']:g} minutes of computing.",
        *_claims(claims),
        "## What the paper's words were taken to mean",
        _table(_read(kept / "tables" / "thresholds.csv")),
        "## Figures and tables",
    ]
    for name, number, title, caption in _read(kept / "shown.csv")[1:]:
        table = name.removeprefix("table-")
        title, caption = _plain(title), _plain(caption)
        parts.append(f'<a id="{name}"></a>**{number}. {title}**')
        if table == name:
            drawing = f"{kept.name}/figures/{name}"
            parts += [
                _wide(f"[![{title}]({drawing}.svg)]({drawing}.svg)"),
                f"{caption} ([CSV]({drawing}.csv))",
            ]
            continue
        lines = _read(kept / "tables" / f"{table}.csv")
        parts.append(f"{caption} ([CSV]({kept.name}/tables/{table}.csv))")
        parts += [_wide(_table(lines))] if len(lines) <= LONGEST_TABLE else []
    return "\n\n".join(parts) + "\n"


def _claims(claims: Lines) -> list[str]:
    parts = []
    for verdict in VERDICTS.values():
        chosen = [line for line in claims[1:] if line[3] == verdict]
        if not chosen:
            continue
        heads = ["the paper", "where", "measured here", "shown in"]
        lines = [
            [text, where, measured, f"[{label}](#{name})"]
            for text, where, measured, _, label, name in chosen
        ]
        parts += [f"## {verdict[0].upper()}{verdict[1:]}", _table([heads, *lines])]
    return parts


def _read(path: Path) -> Lines:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _table(lines: Lines) -> str:
    rows = [[_cell(cell) for cell in line] for line in lines]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _plain(words: str) -> str:
    """Keep θ* and θ_t from being read as emphasis."""
    return words.replace("*", "\\*").replace("_", "\\_")


def _wide(table: str) -> str:
    return f'<div class="wide" markdown>\n\n{table}\n\n</div>'


def _cell(cell: str) -> str:
    """Write a number with four digits, and let nothing break a table."""
    try:
        value = float(cell)
    except ValueError:
        return _plain(cell).replace("|", "\\|")
    return f"{int(value):,}" if value == int(value) and abs(value) >= 1 else f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

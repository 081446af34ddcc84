"""The report: Markdown, made once, and shown as HTML by the Markdown library.

It opens with one line for each sentence of the paper; the figures and tables that the verdicts
rest on follow. docs/reproduction.md is the same text between two marks.
"""

from __future__ import annotations

import base64
import os
import platform
import re
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from polyak.storage.container import write_bytes
from reproduction.figures import Figure, Table, write_csv
from reproduction.verdicts import VERDICTS, Judged

BEGIN = "<!-- begin: made by python -m reproduction --page; do not edit -->"
END = "<!-- end -->"


def write_report(
    judged: Sequence[Judged],
    figures: Sequence[Figure],
    tables: Sequence[Table],
    folder: Path,
    about: str,
) -> str:
    """Write ``report.html`` and its figures, tables and verdicts; return the text in Markdown."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "tables").mkdir(exist_ok=True)
    for figure in figures:
        figure.write(folder / "figures")
    for table in tables:
        table.write(folder / "tables")
    heads = ["quote", "where", "verdict", "measured", "criterion", "changed", "command"]
    lines = [
        [
            j.sentence.quote,
            j.sentence.where,
            j.verdict,
            j.measured,
            j.sentence.criterion,
            j.sentence.changed,
            command_of(j),
        ]
        for j in judged
    ]
    write_csv(folder / "verdicts.csv", heads, lines)
    text = markdown_of(judged, figures, tables, about)
    write_bytes(folder / "report.html", html_of(text, folder).encode())
    return text


def command_of(judged: Judged) -> str:
    """Return the command that computes a verdict; experiments on data need their folder."""
    needs_data = judged.sentence.whole_sets or judged.sentence.experiment == "benchmarks"
    more = " --data DIR" if needs_data else ""
    return f"python -m reproduction {judged.sentence.experiment}{more}"


def markdown_of(
    judged: Sequence[Judged], figures: Sequence[Figure], tables: Sequence[Table], about: str
) -> str:
    """Return the report in Markdown; links are relative to the folder of the figures."""
    counts = [(verdict, sum(j.verdict == verdict for j in judged)) for verdict in VERDICTS]
    counted = ", ".join(f"{verdict} {count}" for verdict, count in counts if count)
    lines = [
        [
            f"“{j.sentence.quote}” *{j.sentence.where}*",
            f"**{j.verdict}**",
            j.measured,
            f"`{command_of(j)}`",
        ]
        for j in judged
    ]
    words = [
        [f"“{_short(j.sentence.quote)}”", j.sentence.criterion, j.sentence.changed] for j in judged
    ]
    parts = [
        f"{len(judged)} sentences: {counted}. {about}",
        _table(["the paper", "verdict", "measured here", "command"], lines, "sentences"),
        "## How each sentence is judged",
        "A limit follows from the words of the sentence. A number that is measured has a 95% "
        "interval by Student's t over the orders of the rows, in which the error of the test rows "
        "is counted by their jackknife; a verdict is *undecided* where the limit lies within it, "
        "with the number of further orders that would be needed. Sentences that can be read in "
        "several ways are judged in all of them.",
        _table(["sentence", "criterion", "an earlier limit"], words, "criteria"),
        "## Figures and tables",
    ]
    for figure in figures:
        parts += [
            f'<a id="{figure.name}"></a>**{figure.title}**',
            f"![{figure.title}](figures/{figure.name}.svg)",
            f"{_plain(figure.caption)} ([CSV](figures/{figure.name}.csv))",
        ]
    for table in tables:
        parts += [
            f'<a id="table-{table.name}"></a>**{table.title}**',
            f"{_plain(table.caption)} ([CSV](tables/{table.name}.csv))",
            _table(table.heads, table.rows, "data"),
        ]
    return "\n\n".join(parts) + "\n"


def _short(quote: str) -> str:
    return quote if len(quote) <= 60 else quote[:60] + "…"


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]], kind: str) -> str:
    cells = [heads, ["---"] * len(heads), *rows]
    lines = "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in cells)
    return f'<div class="wide {kind}" markdown>\n\n{lines}\n\n</div>'


def _cell(cell: object) -> str:
    text = str(cell)
    if text.startswith(("**", "`", "---")):
        return text
    where = re.search(r" \*([^*]+)\*$", text)  # a quote ends with where it stands, in italics
    body = text[: where.start()] if where else text
    return _plain(body).replace("|", "\\|") + (f" *{where.group(1)}*" if where else "")


def _plain(words: str) -> str:
    """Keep θ* and θ_t from being read as emphasis."""
    return words.replace("*", "\\*").replace("_", "\\_")


def html_of(text: str, folder: Path) -> str:
    """Return a page that needs no other file: the figures are in it."""
    import markdown

    body = markdown.markdown(text, extensions=["tables", "md_in_html", "attr_list"])

    def inline(found: re.Match[str]) -> str:
        drawing = base64.b64encode((folder / found.group(1)).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{drawing}"'

    body = re.sub(r'src="(figures/[^"]+)"', inline, body)
    for verdict, mark in zip(VERDICTS, ("yes", "yes", "open", "no", "open"), strict=True):
        body = body.replace(
            f"<strong>{verdict}</strong>", f'<strong class="{mark}">{verdict}</strong>'
        )
    style = Path(__file__).with_name("style.css").read_text("utf-8")
    title = "One pass, averaged: the paper reproduced"
    lead = (
        "Wei Xu, “Towards Optimal One Pass Large Scale Learning with Averaged Stochastic Gradient "
        "Descent”: its sentences, what was measured here, and whether they hold."
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · polyak</title><style>{style}</style></head><body><main>"
        f"<h1>{title}</h1><p>{lead}</p>{body}</main></body></html>\n"
    )


def write_page(text: str, run: Path, page: Path) -> None:
    """Write the report between the marks of a documentation page; keep its files beside it."""
    kept = page.with_suffix("")
    shutil.rmtree(kept, ignore_errors=True)
    for kind in ("figures", "tables"):
        shutil.copytree(run / kind, kept / kind)
    shutil.copyfile(run / "verdicts.csv", kept / "verdicts.csv")
    text = re.sub(r"\]\((figures|tables)/", rf"]({kept.name}/\1/", text)
    before, rest = page.read_text("utf-8").split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    write_bytes(page, f"{before}{BEGIN}\n\n{text}\n{END}{after}".encode())


def about_run(quick: bool) -> str:
    """Return on what kind of machine a run was made, and its sizes."""
    kind = platform.machine()
    sizes = "at quick sizes, which leave many sentences open" if quick else "at full sizes"
    return (
        f"Run with polyak {version('polyak')} on {kind}, {os.cpu_count()} cores, "
        f"{platform.system()}, {sizes}."
    )

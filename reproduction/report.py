"""The report: one HTML file that opens with the paper's claims, and shows what they rest on."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polyak.reporting
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.words import count, number
from polyak.storage.container import write_bytes
from reproduction.claims import VERDICTS, Claim
from reproduction.figures import Figure
from reproduction.tables import Table
from reproduction.thresholds import thresholds_table

MARKS = {True: "yes", "weaker": "weaker", False: "no", "undecided": "open", None: "open"}


@dataclass(frozen=True, slots=True)
class Chapter:
    """All that one experiment has to show."""

    name: str
    title: str
    about: str
    claims: list[Claim]
    figures: list[Figure]
    tables: list[Table]


def write_report(chapters: list[Chapter], folder: Path, sizes: str) -> None:
    """Write ``report.html``; the figures must be in their folder already."""
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "One pass, averaged: the paper reproduced · polyak"),
        element("style", _style()),
    )
    numbers = numbers_of(chapters)
    body = element(
        "main",
        _opening(chapters, sizes),
        _claims(chapters, numbers),
        _thresholds(),
        *(_chapter(chapter, folder, numbers) for chapter in chapters),
        element("footer", f"Made by polyak {version('polyak')}."),
    )
    page = "<!doctype html>\n" + element(
        "html", element("head", head), "\n", element("body", body), lang="en"
    )
    write_bytes(folder / "report.html", page.encode())


def numbers_of(chapters: list[Chapter]) -> dict[str, str]:
    """Return the paper's numbers of figures and tables; others are A1, A2 and so on."""
    found, more, tables = {}, 0, 0
    for chapter in chapters:
        for figure in chapter.figures:
            more += figure.paper is None
            found[figure.name] = figure.paper or f"Figure A{more}"
        for table in chapter.tables:
            tables += table.paper is None
            found[f"table-{table.name}"] = table.paper or f"Table A{tables}"
    return found


def _opening(chapters: list[Chapter], sizes: str) -> Markup:
    claims = [claim for chapter in chapters for claim in chapter.claims]
    sentence = verdicts_in_words([claim.verdict for claim in claims])
    return element(
        "header",
        element("p", "polyak · reproduction", class_="kicker"),
        element("h1", "One pass, averaged: the paper reproduced"),
        element(
            "p",
            "Wei Xu's “Towards Optimal One Pass Large Scale Learning with Averaged Stochastic "
            "Gradient Descent” says that the average of the iterates of stochastic gradient "
            "descent (ASGD), with the right learning rate, is as good after one pass as the batch "
            f"optimum. {sentence} {sizes}",
            class_="lead",
        ),
    )


def verdicts_in_words(verdicts: list[str]) -> str:
    """Count the verdicts.

    Examples
    --------
    >>> verdicts_in_words(["holds", "undecided", "holds"])
    '3 claims checked: holds 2, undecided 1.'
    """
    counted = [f"{v} {verdicts.count(v)}" for v in VERDICTS.values() if v in verdicts]
    return f"{count(len(verdicts), 'claim')} checked: {', '.join(counted)}."


def _thresholds() -> Markup:
    table = thresholds_table()
    return element("section", element("h2", table.title), _table(table, None, "words"))


def _claims(chapters: list[Chapter], numbers: dict[str, str]) -> Markup:
    heads = ("The paper says", "Where", "Measured here", "Verdict", "Shown in")
    lines = []
    for chapter in chapters:
        for claim in chapter.claims:
            link: Markup | str = ""
            if claim.figure in numbers:
                link = element("a", numbers[claim.figure], href=f"#{claim.figure}")
            mark = MARKS[claim.holds]
            cells: tuple[str, ...] = (
                claim.text,
                claim.where,
                claim.measured,
                element("span", claim.verdict, class_=f"verdict {mark}"),
                link,
            )
            lines.append(element("tr", *(element("td", cell) for cell in cells)))
    return element(
        "section", element("h2", "The claims"), _scrolling("The claims", heads, lines, "claims")
    )


def _chapter(chapter: Chapter, folder: Path, numbers: dict[str, str]) -> Markup:
    return element(
        "section",
        element("h2", chapter.title),
        element("p", chapter.about),
        *(_figure(figure, folder, numbers[figure.name]) for figure in chapter.figures),
        *(_table(table, numbers[f"table-{table.name}"]) for table in chapter.tables),
        id=f"chapter-{chapter.name}",
    )


def _figure(figure: Figure, folder: Path, number: str) -> Markup:
    """Show a figure as an image of its own, so that no two drawings' ids can meet."""
    drawing = base64.b64encode((folder / "figures" / f"{figure.name}.svg").read_bytes()).decode()
    return element(
        "figure",
        element("h3", f"{number}. {figure.title}"),
        element(
            "img",
            src=f"data:image/svg+xml;base64,{drawing}",
            alt=f"{figure.title}. {figure.caption}",
        ),
        element("figcaption", figure.caption, " ", _files("figures", figure.name, "svg png csv")),
        id=figure.name,
    )


def _table(table: Table, number: str | None, kind: str = "data") -> Markup:
    lines = [element("tr", *(element("td", _cell(cell)) for cell in row)) for row in table.rows]
    return element(
        "div",
        element("h3", f"{number}. {table.title}") if number else "",
        element("p", table.caption, " ", _files("tables", table.name, "csv"), class_="caption"),
        _scrolling(table.title, table.heads, lines, kind),
        id=f"table-{table.name}",
        class_="table",
    )


def _files(folder: str, name: str, kinds: str) -> Markup:
    links = [element("a", kind.upper(), href=f"{folder}/{name}.{kind}") for kind in kinds.split()]
    return element("span", joined(*(joined(link, " ") for link in links)), class_="files")


def _scrolling(title: str, heads: Any, lines: list[Markup], kind: str) -> Markup:
    table = element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *lines),
        class_=kind,
    )
    return element("div", table, class_="wrap", tabindex=0, role="region", aria_label=title)


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None:
        return "–"
    return f"{cell:,}" if isinstance(cell, int) else number(cell, 4)


def _style() -> Markup:
    common = Path(polyak.reporting.__file__).with_name("style.css")
    own = Path(__file__).with_name("style.css")
    return Markup(common.read_text("utf-8") + own.read_text("utf-8"))

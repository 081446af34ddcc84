"""The report: one HTML file that opens with the paper's claims, and shows what they rest on."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polyak.reporting
from polyak.paper.reproduction.claims import Claim
from polyak.paper.reproduction.figures import Figure
from polyak.paper.reproduction.tables import Table
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.words import count, number
from polyak.storage.container import write_bytes


@dataclass(frozen=True, slots=True)
class Chapter:
    """All that one experiment has to show."""

    name: str
    title: str
    about: str
    claims: list[Claim]
    figures: list[Figure]
    tables: list[Table]


def write_report(chapters: list[Chapter], folder: Path, scale: float) -> None:
    """Write ``report.html``; the figures must be in their folder already."""
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "One pass, averaged: the paper reproduced · polyak"),
        element("style", _style()),
    )
    figures = [figure.name for chapter in chapters for figure in chapter.figures]
    numbers = {name: f"Figure {place}" for place, name in enumerate(figures, 1)}
    body = element(
        "main",
        _opening(chapters, scale),
        _claims(chapters, numbers),
        *(_chapter(chapter, folder, numbers) for chapter in chapters),
        element("footer", f"Made by polyak {version('polyak')}."),
    )
    page = "<!doctype html>\n" + element(
        "html", element("head", head), "\n", element("body", body), lang="en"
    )
    write_bytes(folder / "report.html", page.encode())


def _opening(chapters: list[Chapter], scale: float) -> Markup:
    claims = [claim for chapter in chapters for claim in chapter.claims]
    hold = sum(claim.holds is True for claim in claims)
    fail = sum(claim.holds is False for claim in claims)
    sentence = f"{count(len(claims), 'claim')} checked: {hold} hold, {fail} do not"
    untold = len(claims) - hold - fail
    sentence += f", {untold} cannot be told from this run." if untold else "."
    size = f"Run at scale {number(scale)}, where 1 means the paper's sizes."
    return element(
        "header",
        element("p", "polyak · reproduction", class_="kicker"),
        element("h1", "One pass, averaged: the paper reproduced"),
        element(
            "p",
            "Wei Xu's “Towards Optimal One Pass Large Scale Learning with Averaged Stochastic "
            "Gradient Descent” says that the average of the iterates of stochastic gradient "
            "descent (ASGD), with the right learning rate, is as good after one pass as the batch "
            f"optimum. {sentence} {size}",
            class_="lead",
        ),
    )


def _claims(chapters: list[Chapter], numbers: dict[str, str]) -> Markup:
    heads = ("The paper says", "Where", "Measured here", "Verdict", "Shown in")
    lines = []
    for chapter in chapters:
        for claim in chapter.claims:
            link: Markup | str = ""
            if claim.figure in numbers:
                link = element("a", numbers[claim.figure], href=f"#{claim.figure}")
            mark = {True: "yes", False: "no", None: "open"}[claim.holds]
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
        *(_table(table) for table in chapter.tables),
        id=chapter.name,
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


def _table(table: Table) -> Markup:
    lines = [element("tr", *(element("td", _cell(cell)) for cell in row)) for row in table.rows]
    return element(
        "div",
        element("h3", table.title),
        element("p", table.caption, " ", _files("tables", table.name, "csv"), class_="caption"),
        _scrolling(table.title, table.heads, lines, "data"),
        id=table.name,
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

"""Run experiments: compute their pieces, draw their figures, write their tables and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from reproduction.about import write_about
from reproduction.claims import Claim
from reproduction.figures import Figure
from reproduction.pieces import (
    NARROW,
    WHOLE_FROM,
    WIDE_SHARE,
    WORKERS,
    Piece,
    run_pieces,
)
from reproduction.report import Chapter, numbers_of, write_report
from reproduction.tables import Table, as_csv
from reproduction.thresholds import thresholds_table

EXPERIMENTS = {
    "schedules": "reproduction.experiments.schedules",
    "asymptotics": "reproduction.experiments.asymptotics",
    "benchmarks": "reproduction.experiments.benchmarks",
    "theory": "reproduction.experiments.theory_check",
    "second-order": "reproduction.experiments.second_order",
}
"""The experiments in the order of the paper, and where they are."""

BENCHMARKS = "benchmarks"
DEFAULT_SCALE = 0.1
"""For experiments on drawn data, which are whole then."""


def reproduce(
    names: Sequence[str],
    out: str | os.PathLike[str],
    *,
    data: str | None = None,
    scale: float | None = None,
    sets: Sequence[str] | None = None,
    started: Callable[[int], None] = lambda pieces: None,
    done: Callable[[Piece, bool], None] = lambda piece, was_there: None,
    workers: int = WORKERS,
) -> list[Claim]:
    """Run experiments, write ``report.html`` with all that belongs to it, and give the claims.

    Parameters
    ----------
    names : sequence of str
        Which of ``EXPERIMENTS``.
    out : path of a folder
        Pieces that are there already are not computed again.
    data : path of a folder, optional
        Where real data sets are.
    scale : float, optional
        1 for the paper's sizes. By default all is whole but the wider stand-ins.
    sets : sequence of str, optional
        Which data sets of the benchmarks; all by default.
    started : callable
        Told how many pieces there are.
    done : callable
        Told of each piece, and whether it was there already.
    workers : int
        How many processes to use.
    """
    folder = Path(out)
    modules: dict[str, Any] = {name: import_module(EXPERIMENTS[name]) for name in names}
    pieces = _pieces(modules, data, scale, sets)
    everything = [piece for several in pieces.values() for piece in several]
    started(len(everything))
    results = run_pieces(everything, folder / "pieces", done, workers)
    chapters = []
    for name, module in modules.items():
        own = {piece.name: results[piece.name] for piece in pieces[name]}
        chapter = _chapter(name, module, own)
        _write(chapter.figures, chapter.tables, folder)
        chapters.append(chapter)
    claims = [claim for chapter in chapters for claim in chapter.claims]
    _write_claims(claims, numbers_of(chapters), folder)
    _write_shown(chapters, folder)
    write_about(folder, everything, sizes_in_words(scale))
    write_report(chapters, folder, sizes_in_words(scale))
    return claims


def _pieces(
    modules: dict[str, Any], data: str | None, scale: float | None, sets: Sequence[str] | None
) -> dict[str, list[Piece]]:
    """Return the pieces in which each experiment is computed."""
    if scale is not None and not scale > 0:
        raise ValueError(f"the scale must be above zero, not {scale}")
    drawn = DEFAULT_SCALE if scale is None else scale
    return {
        name: list(
            module.pieces(scale, data, sets) if name == BENCHMARKS else module.pieces(drawn, data)
        )
        for name, module in modules.items()
    }


def sizes_in_words(scale: float | None) -> str:
    """Return the size of a run as text.

    Examples
    --------
    >>> sizes_in_words(0.04)
    "Run at scale 0.04: drawn data and real sets whole, stand-ins with 4% of the paper's rows."
    """
    share = WIDE_SHARE if scale is None else scale
    at = "the default sizes" if scale is None else f"scale {scale:g}"
    if share >= 1:
        return f"Run at {at}: all of the paper's sizes."
    drawn = "whole" if share >= WHOLE_FROM else f"with {share / WHOLE_FROM:.2g} of their rows"
    narrow = f"stand-ins of up to {NARROW} features whole, wider ones "
    if share < WIDE_SHARE:
        narrow = "stand-ins "
    return (
        f"Run at {at}: drawn data and real sets {drawn}, {narrow}with {100 * share:.2g}% of the "
        "paper's rows."
    )


def _write_shown(chapters: list[Chapter], folder: Path) -> None:
    """List all figures and tables, in their order, with what stands above and below them."""
    numbers = numbers_of(chapters)
    every: dict[str, Figure | Table] = {}
    for chapter in chapters:
        every |= {figure.name: figure for figure in chapter.figures}
        every |= {f"table-{table.name}": table for table in chapter.tables}
    lines = [[name, numbers[name], one.title, one.caption] for name, one in every.items()]
    text = as_csv(["name", "number", "title", "caption"], lines)
    (folder / "shown.csv").write_text(text, "utf-8")


def _write_claims(claims: list[Claim], numbers: dict[str, str], folder: Path) -> None:
    heads = ["claim", "where", "measured", "verdict", "shown in", "figure or table"]
    lines = [
        [c.text, c.where, c.measured, c.verdict, numbers.get(c.figure or "", ""), c.figure or ""]
        for c in claims
    ]
    (folder / "claims.csv").write_text(as_csv(heads, lines), "utf-8")


def _chapter(name: str, module: Any, results: dict[str, Any]) -> Chapter:
    return Chapter(
        name=name,
        title=module.TITLE,
        about=module.ABOUT,
        claims=list(module.claims(results)),
        figures=list(module.figures(results)),
        tables=list(module.tables(results)),
    )


def _write(figures: Sequence[Figure], tables: Sequence[Table], folder: Path) -> None:
    for kind in ("figures", "tables"):
        (folder / kind).mkdir(exist_ok=True)
    thresholds_table().write(folder / "tables")
    for figure in figures:
        figure.write(folder / "figures")
    for table in tables:
        table.write(folder / "tables")

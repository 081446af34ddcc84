"""Results on the screen: one table per contest, followed by its targets."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.runner import Contest, Results


def show(contest: Contest, results: Results, console: Console) -> None:
    """Print a contest's table."""
    names = list(dict.fromkeys(name for r in results.values() for name in r.figures))
    table = Table(title=contest.title, title_justify="left", title_style="bold", expand=False)
    table.add_column("contestant")
    for heading in ("best s", "median s", f"× {contest.reference}", "peak MB", *names):
        table.add_column(heading, justify="right", overflow="fold")
    reference = results[contest.reference].best
    for label, result in results.items():
        if result.problem:
            table.add_row(label, "–", style="dim")
            continue
        table.add_row(
            label,
            _number(result.best),
            _number(result.median),
            _number(result.best / reference),
            _number(result.peak_mb),
            *(_number(result.figures[n]) if n in result.figures else "" for n in names),
        )
    console.print(table)
    for label, result in results.items():
        if result.problem:
            console.print(f"  [red]absent[/] {label}: {escape(result.problem)}")
    for target in contest.targets:
        value = target.value(results)
        mark = "[green]kept[/]   " if target.kept(value) else "[red]missed[/] "
        mark = "[dim]unknown[/]" if value != value else mark
        bound = f"≥ {target.at_least}" if target.at_least is not None else f"≤ {target.at_most}"
        console.print(f"  {mark} {target.promise}: {_number(value)} (promised {bound})")
    console.print()


def _number(value: float) -> str:
    """Return a number with four digits."""
    if value != value:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

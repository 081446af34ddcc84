"""The pages people read, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "benchmarks" / "NOTES.md",
    ]
)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
SHELL = ("sh", "bash", "console", "shell")


class Block(NamedTuple):
    """A block of code: its language, the line it begins on, and its text."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    """Find the fenced blocks of a page, and the indented ones, whose language is the shell's.

    Only what begins like a command counts as indented code: formulas are indented too.
    """
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE):
        inner = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        found.append(Block(match[2], text[: match.start()].count("\n") + 1, inner))
    outside = re.sub(
        r"^( *)```.*?^\1```",
        lambda match: "\n" * match[0].count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    for number, line in enumerate(outside.splitlines(), 1):
        if re.match(r" {4}(polyak|make|python -m) ", line):
            found.append(Block("sh", number, line.strip()))
    return found

"""MkDocs hooks: pages from the root of the repository, and links to source files.

The changelog and similar files are at the root of the repository and are pages of the site too. A
link from ``docs/`` to a source file leads to a copy of that file within the site, so that no link
needs the network.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from places import line_of

ROOT = Path(__file__).parent.parent.parent
AT_THE_ROOT = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
}
NAMED = re.compile(r"\[(`([A-Za-z_][\w.]*)`)\]\(([^)\s#:]+)\)")
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from the root, and the source files that pages link to."""
    for page, name in AT_THE_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api/command-line.md", content=_command_line()))
    sources = set()
    for file in files.documentation_pages():
        text = file.content_string
        for match in LINK.finditer(text):
            source = _source(match[2], file.src_uri)
            if source is not None:
                sources.add(source)
    for source in sorted(sources):
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, f"source/{source}.txt", content=text))
    return files


def _command_line() -> str:
    """Return the reference of the commands, from their parsers."""
    os.environ["COLUMNS"] = "88"
    from polyak.cli.commands import COMMANDS, command_module

    parts = ["# Command line\n\nThe output of `polyak COMMAND --help-all` for every command.\n"]
    for name, what in COMMANDS.items():
        text = command_module(name).parser().format_help(everything=True)
        parts.append(f"## polyak {name}\n\n{what.capitalize()}.\n\n```text\n{text}```\n")
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links out of ``docs/`` to their target within the site.

    If the text of a link is a name that its file defines, add the file and the line.
    """
    here = page.file.src_uri

    def placed(match: re.Match[str]) -> str:
        source = _source(match[3], here)
        line = None if source is None else line_of(ROOT / source, match[2])
        if line is None:
            return match[0]
        name = posixpath.basename(match[3]).replace("_", r"\_")  # or __init__ would be bold
        return f"[{match[1]} ({name}:{line})]({match[3]})"

    def moved(match: re.Match[str]) -> str:
        target = _inside(match[2], here)
        return match[0] if target is None else f"{match[1]}{target}{match[3]}"

    return LINK.sub(moved, NAMED.sub(placed, markdown))


def _inside(link: str, here: str) -> str | None:
    source = _source(link, here)
    if source is not None:
        return posixpath.relpath(f"source/{source}.txt", posixpath.dirname(here) or ".")
    at_root = _from_root(link, here)
    for page, name in AT_THE_ROOT.items():
        if at_root == name:
            return posixpath.relpath(page, posixpath.dirname(here) or ".")
    if here in AT_THE_ROOT and at_root.startswith("docs/"):
        return at_root.removeprefix("docs/")
    return None


def _source(link: str, here: str) -> str | None:
    """Return the file outside ``docs/`` that a link leads to, if there is one."""
    path = _from_root(link, here)
    if path.startswith("docs/") or path in AT_THE_ROOT.values():
        return None
    if path.startswith(".."):
        return None
    if (ROOT / path).is_dir():
        path += "/__init__.py"  # its docstring describes the folder
    return path if (ROOT / path).is_file() else None


def _from_root(link: str, here: str) -> str:
    folder = "." if here in AT_THE_ROOT else posixpath.join("docs", posixpath.dirname(here))
    return posixpath.normpath(posixpath.join(folder, link))

"""What MkDocs cannot do by itself: pages that live at the root, and links to the source.

The changelog and its like stand at the root of the repository, where people look for them, and are
pages of the site too. A link that leaves ``docs/`` for a source file leads to a copy of that file
within the site, so that no link needs the network or breaks when a repository moves.
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
    """Add the pages that live at the root, and the source files that pages link to."""
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
    """Write the reference of the commands from their own parsers."""
    os.environ["COLUMNS"] = "88"
    from polyak.cli.commands import COMMANDS, command_module

    parts = ["# Command line\n\nWhat `polyak COMMAND --help-all` says, for every command.\n"]
    for name, what in COMMANDS.items():
        text = command_module(name).parser().format_help(everything=True)
        parts.append(f"## polyak {name}\n\n{what.capitalize()}.\n\n```text\n{text}```\n")
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave ``docs/`` to where their target stands in the site.

    Where the words of a link are a name that its file defines, file and line are told too.
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
    """Name the file outside ``docs/`` that a link leads to, if it leads to one."""
    path = _from_root(link, here)
    if path.startswith("docs/") or path in AT_THE_ROOT.values():
        return None
    if path.startswith(".."):
        return None
    if (ROOT / path).is_dir():
        path += "/__init__.py"  # which says what the folder is about
    return path if (ROOT / path).is_file() else None


def _from_root(link: str, here: str) -> str:
    folder = "." if here in AT_THE_ROOT else posixpath.join("docs", posixpath.dirname(here))
    return posixpath.normpath(posixpath.join(folder, link))

"""Checks that a command does not write over what it reads, under any name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from polyak.cli.errors import UsageError

Named = Mapping[str, str | Iterable[str] | None]
"""Paths by what they are to the user; ``-`` is standard input or output."""


def check_outputs(written: Named, read: Named) -> None:
    """Refuse to write over what is read, or to write two things to one file.

    Paths, links and hard links to one file are that file. Nothing is opened, and nothing imported
    that takes time: a command asks this before it begins to read.
    """
    outputs = [(what, path) for what, paths in written.items() for path in _each(paths)]
    for place, (what, output) in enumerate(outputs):
        if output == "-":
            continue
        for source_is, sources in read.items():
            if any(_is_read_from(output, source) for source in _each(sources)):
                raise UsageError(f"{output} is the {source_is} itself; name another file to write")
        for other_is, other in outputs[:place]:
            if other != "-" and _is_same(output, other):
                raise UsageError(f"the {what} and the {other_is} are both {output}: name another")


def check_folder_is_no_source(folder: str, sources: Iterable[str]) -> None:
    """Refuse to keep files in a folder that is read whole: they would be read as rows."""
    for source in sources:
        if not os.path.isdir(source):
            continue
        within = os.path.relpath(os.path.realpath(folder), os.path.realpath(source))
        names = within.split(os.sep)
        hidden = any(name[0] in "._" for name in names) and within != "."
        if not hidden:  # which includes ".."
            raise UsageError(f"{folder} is among the rows in {source}; name another folder")


def _each(paths: str | Iterable[str] | None) -> Iterable[str]:
    return () if paths is None else (paths,) if isinstance(paths, str) else paths


def _is_read_from(output: str, source: str) -> bool:
    if source == "-":
        try:
            state = os.fstat(0)
            return stat.S_ISREG(state.st_mode) and os.path.samestat(state, os.stat(output))
        except OSError:
            return False
    return any(_is_same(output, file) for file in _files_of(source))


def _files_of(source: str) -> Iterator[str]:
    if os.path.isdir(source):
        for folder, _, names in os.walk(source):
            yield from (os.path.join(folder, name) for name in names)
    elif os.path.exists(source) or not set(source) & set("*?["):
        yield source
    else:
        from glob import iglob

        yield from iglob(source, recursive=True)


def _is_same(one: str, other: str) -> bool:
    try:
        # A terminal or another device may well be read and written.
        return os.path.samefile(one, other) and os.path.isfile(one)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)

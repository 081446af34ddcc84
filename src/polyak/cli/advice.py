"""Options that messages name as Python does, spelled as the options of a command.

What is advised can be pasted into a shell. Advice that a command has no option for is left out.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Any

_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_OPTION = re.compile(
    rf"(?<![\w/.=-])([a-z]\w*)=({_TEXT}|\((?:{_TEXT}|[, ])*\)|\d+|[A-Z]|True|False)?(?![^\s,;:.)])"
)
_NOT_HERE = "\0"
_IN_BRACKETS = re.compile(r" \([^()\0]*\0[^()]*\)")
_CLAUSE = re.compile(r"[;:] [^;:\0]*\0[^;]*")
_OTHER_NAMES = {("positive", bool): "non_negative", ("positive", tuple): "positive_columns"}


def spelled(text: str, parser: ArgumentParser) -> str:
    """Return a message with the options of a command in place of Python's parameters.

    Examples
    --------
    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("--missing", action="append")
    >>> spelled("it is 'n/a'; missing=('n a',) reads it; categorical=('x',) does too", parser)
    "it is 'n/a'; --missing 'n a' reads it"
    """

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        return _option(name, value, parser, found[0])

    return _CLAUSE.sub("", _IN_BRACKETS.sub("", _OPTION.sub(option, text)))


def _option(name: str, value: str | None, parser: ArgumentParser, as_it_is: str) -> str:
    given: Any = value if value is None or value.isupper() else _literal(value)
    name = _OTHER_NAMES.get((name, type(given)), name)
    actions = [one for one in parser._actions if one.dest == name and one.option_strings]
    if not actions:
        return _NOT_HERE if name in _reading_options() else as_it_is
    options = {one.const if one.nargs == 0 else None: one.option_strings[-1] for one in actions}
    if isinstance(given, bool):
        return options.get(given, as_it_is)
    option = options.get(None, actions[0].option_strings[-1])
    if given is None:
        return option
    words = _joined(given) if isinstance(given, tuple) else str(given)
    return _NOT_HERE if words is None else _with_value(option, words)


def _joined(words: tuple[str, ...]) -> str | None:
    """Return a list as options take it; None where a word cannot be in one."""
    if any('"' in word or word != word.strip() or not word.isprintable() for word in words):
        return None
    joined = ",".join(f'"{word}"' if "," in word else word for word in words)
    return joined if all(words) and joined != "--" else None  # which argparse takes for an end


def _with_value(option: str, value: str) -> str:
    import shlex  # for messages only: every command starts with this module

    return f"{option}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def _literal(value: str) -> Any:
    from ast import literal_eval

    return literal_eval(value)


def _reading_options() -> set[str]:
    """Return the names of all that messages about reading advise."""
    from dataclasses import fields

    from polyak.data.options import Columns, ReadOptions
    from polyak.model.dialect import Dialect

    names = {one.name for kind in (Columns, Dialect, ReadOptions) for one in fields(kind)}
    return names | {"classes", "order"}

"""What goes wrong, in one sentence, and the exit code that goes with it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FAILED, WRONG_USAGE, STOPPED = 1, 2, 130

_OF_TABLES = (
    *("target", "positive", "weight", "exposure", "drop", "only"),
    *("categorical", "text", "interact"),
    *("ngrams", "delimiter", "encoding", "decimal", "missing", "comment", "dates"),
)
# How the options are called in Python, where most sentences come from, and how here.
_SPELLINGS = {
    "order='auto'": "--order auto",
    "shuffle_buffer=": "--shuffle-buffer ",
    "categorical=": "--categorical ",
    "with classes=": "with --classes",
    "longest_line=": "--longest-line ",
    "name the target column": "name it with --target",
    "n_features=": "--n-features ",
    "encoding=": "--encoding ",
    "dates=": "--dates ",
    "with decimal=": "with --decimal",
    **{f": {name}= is for": f": --{name} is for" for name in _OF_TABLES},
    "member= says": "--member says",
    "give it with format=": "give it with --format",
    "header=False": "--no-header",
    "zero_based=True": "--zero-based",
    "multilabel=True": "--multilabel",
    "zero_based=False": "--one-based",
    "drop= ": "--drop ",
    "only= or": "--only or",
    "--categorical  names": "--categorical names",
}


class UsageError(Exception):
    """The arguments make no sense; the message says which and why."""


def say(message: str) -> None:
    """Tell the user something that is not the result."""
    print(f"polyak: {message}", file=sys.stderr, flush=True)


@contextmanager
def ending_in_a_sentence(debug: bool) -> Iterator[None]:
    """End the program with a sentence and an exit code, whatever is raised inside."""
    warnings.showwarning = _show_warning
    try:
        yield
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as error:
        _let_go_of_output()
        if isinstance(error, BrokenPipeError):  # whoever read our output has left, and knows
            sys.exit(FAILED)
        if debug:
            raise
        say(f"error: {_sentence(error)}")
        sys.exit(_exit_code(error))


def _exit_code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    return WRONG_USAGE if isinstance(error, UsageError) else FAILED


def _let_go_of_output() -> None:
    """If output cannot be written, keep the interpreter from trying once more as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return where + (error.strerror or str(error))
    if isinstance(error, UsageError | ValueError | ArithmeticError):  # ours are among them
        return _spelled(str(error))
    return f"this should not happen, and --debug shows more: {type(error).__name__}: {error}"


def _show_warning(message: Any, category: Any, *rest: Any, **more: Any) -> None:
    say(f"warning: {_spelled(str(message))}")


def _spelled(text: str) -> str:
    for python, option in _SPELLINGS.items():
        text = text.replace(python, option)
    return " ".join(text.split())

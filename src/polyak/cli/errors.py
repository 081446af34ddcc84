"""Errors as one sentence, and their exit codes."""

from __future__ import annotations

import os
import re
import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyak.cli.advice import spelled
from polyak.cli.output import escaped

FAILED, WRONG_USAGE, STOPPED = 1, 2, 130


class UsageError(Exception):
    """The arguments are not valid; the message names them and the reason."""


_parser: ArgumentParser | None = None


def advise_options_of(parser: ArgumentParser) -> None:
    """Let messages name the options of this command."""
    global _parser
    _parser = parser


def say(message: str) -> None:
    """Print a line that is not the result: options in it are those of the command that runs."""
    message = _LINE_BREAK.sub(" ", message)
    message = message if _parser is None else spelled(message, _parser)
    print(f"polyak: {escaped(message)}", file=sys.stderr, flush=True)


_LINE_BREAK = re.compile(r"\s*\n\s*")


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
        if isinstance(error, BrokenPipeError):  # the reader of our output has closed it
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
        return str(error)
    return f"this should not happen, and --debug shows more: {type(error).__name__}: {error}"


def _show_warning(message: Any, category: Any, *rest: Any, **more: Any) -> None:
    say(f"warning: {message}")

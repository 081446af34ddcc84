"""The command line: arguments in, words and progress out.

Every command is a module with a ``parser()`` and a ``run(options)``. Only that of the command
asked for is imported, and nothing numerical before it runs: starting is a good part of the time
that a small file takes. For the same reason the standard library reads the arguments. Typer was
tried first, and took longer to start (0.18 s with what it imports) than a file of 100 MB to parse.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from polyak.cli.commands import COMMANDS, command_module
from polyak.cli.errors import advise_options_of, ending_in_a_sentence
from polyak.cli.options.arguments import Parser
from polyak.optional_imports import expect_no_frames


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code.

    It is 0 for what is done, 2 for wrong usage, 130 for what was stopped by Ctrl-C or another
    signal, and 1 for anything else.
    """
    # No command multiplies matrices, so NumPy's library for that need not keep threads spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    own_process = arguments is None
    if own_process:
        _collect_rarely()
        expect_no_frames()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if words[:1] == ["--debug"]:  # after a command, its own parser reads it
        words = words[1:]
    with ending_in_a_sentence(debug):
        if words and words[0] in COMMANDS:
            command = command_module(words[0])
            parser = command.parser()
            advise_options_of(parser)
            code = command.run(parser.parse_intermixed_args(words[1:]))
        else:
            code = _without_command(words)
    if own_process:
        _end_without_collecting()
    sys.exit(code)


def _without_command(words: list[str]) -> int:
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:<{width}}{what}" for name, what in COMMANDS.items())
    parser = Parser(
        "",
        "Linear models learned in one pass.",
        usage="polyak [-h] [--version] [--debug] COMMAND ...",
        epilog=f"commands:\n{commands}\n\n"
        "'polyak COMMAND --help' shows the options of a command.\n\n"
        "example:\n  polyak train flights.csv --target delay -m flights.polyak",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    options, _ = parser.parse_known_args(words)
    if options.version:
        from importlib.metadata import version

        print(f"polyak {version('polyak')}")
        return 0
    if options.command is not None:
        parser.error(f"there is no command {options.command!r}; there are {', '.join(COMMANDS)}")
    parser.print_help(sys.stderr)
    return 2


def _collect_rarely() -> None:
    """Let the garbage collector look for cycles less often than after every 700 new objects.

    Importing makes tens of thousands of objects, all of which stay. Looking through them again and
    again took 5 of the 140 ms that a small file takes.
    """
    gc.set_threshold(100_000, *gc.get_threshold()[1:])


def _end_without_collecting() -> None:
    """Skip the search for cycles as Python ends: the system takes all memory back anyway.

    That took 14 ms. All else that happens at the end still does, unlike after ``os._exit``, which
    would have saved another 4.
    """
    gc.freeze()

"""The parser of a command's arguments, and its help: what is needed every day, on one screen."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from polyak.cli.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser whose errors are a sentence, and whose help fits a screen.

    ``--help`` shows what is needed every day, ``--help-all`` the groups of `add_rare_group` too.
    """

    def __init__(self, command: str, description: str, **more: Any) -> None:
        super().__init__(
            prog=f"polyak {command}".strip(),
            description=description,
            formatter_class=HelpFormatter,
            allow_abbrev=False,  # a new option must not change what an old command means
            **more,
        )
        self._negative_number_matcher = re.compile(r"-\.?\d")  # so that --classes -1,1 is a value
        self._rare_groups: list[Any] = []
        self.add_argument("--debug", action="store_true", help="show the traceback of an error")

    def add_rare_group(self, title: str) -> Any:
        """Add a group of options that ``--help`` only counts and ``--help-all`` shows."""
        if not self._rare_groups:
            self.add_argument(
                "--help-all", action=HelpAll, help="show all options, also rarely used ones"
            )
            shown = self._optionals._group_actions
            shown.insert(1, shown.pop())  # after --help
        group = self.add_argument_group(title)
        self._rare_groups.append(group)
        return group

    def format_usage(self) -> str:
        """Write what must be given."""
        return f"usage: {usage_of(self)}"

    def format_help(self, everything: bool = False) -> str:
        """Write the help, with or without the options that are rarely used."""
        return help_of(self, [] if everything else self._rare_groups)

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise UsageError(f"{message}; see '{self.prog} --help'")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help that asks for the terminal's width itself: argparse imports ``shutil`` to do so."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=terminal_width() - 2)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Write ``-m, --model FILE``, and not ``-m FILE, --model FILE``."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class HelpAll(argparse.Action):
    """Shows all options."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: Any, *_: Any) -> None:
        """Print the help and leave."""
        print(parser.format_help(everything=True), end="")
        parser.exit()


def help_of(parser: argparse.ArgumentParser, hidden: Sequence[Any]) -> str:
    """Write a command's help without some groups of its options, which are only named."""
    formatter = parser._get_formatter()
    formatter.add_usage(parser.usage or usage_of(parser), parser._actions, [])
    formatter.add_text(parser.description)
    for group in parser._action_groups:
        if group not in hidden:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
    if hidden:
        import textwrap  # for help only: every command starts with this module

        count = sum(len(group._group_actions) for group in hidden)
        names = ", ".join(str(group.title).split(" (")[0] for group in hidden)
        more = f"--help-all shows {count} more options: {names}."
        formatter.add_text("\n".join(textwrap.wrap(more, terminal_width() - 2)))
    formatter.add_text(parser.epilog)
    return formatter.format_help()


def usage_of(parser: argparse.ArgumentParser) -> str:
    """Return the usage line: only required arguments, since the options are listed below."""
    formatter = parser._get_formatter()
    needed = [
        f"{action.option_strings[0]} {action.metavar}"
        for action in parser._actions
        if action.option_strings and action.required
    ]
    given = [
        formatter._format_args(action, formatter._get_default_metavar_for_positional(action))
        for action in parser._actions
        if not action.option_strings
    ]
    return " ".join([parser.prog, *given, *needed, "[options]"])


def terminal_width(descriptor: int = 1) -> int:
    """Return the columns of the terminal that a file descriptor is; 80 if it is none."""
    try:
        return int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(descriptor).columns or 80
    except (OSError, ValueError):
        return 80

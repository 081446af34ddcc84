"""``polyak completion``: a script for the shell, which shtab writes from the parsers themselves."""

from __future__ import annotations

import argparse

from polyak.cli.options.arguments import Parser

HOW = """\
examples:
  bash:  eval "$(polyak completion bash)"           in ~/.bashrc
  zsh:   eval "$(polyak completion zsh)"            in ~/.zshrc, after compinit
  fish:  polyak completion fish | source            in ~/.config/fish/config.fish
"""


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("completion", "Print a script that completes polyak's arguments.", epilog=HOW)
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"))
    return parser


def run(options: argparse.Namespace) -> int:
    """Do it."""
    import shtab

    print(shtab.complete(all_commands(), options.shell))
    return 0


def all_commands() -> argparse.ArgumentParser:
    """Put the parsers of all commands into one, with files wherever there are no choices."""
    import shtab

    from polyak.cli.commands import COMMANDS, command_module

    whole = argparse.ArgumentParser("polyak")
    commands = whole.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, what in COMMANDS.items():
        command = command_module(name).parser()
        for action in command._actions:
            if action.nargs != 0 and not action.choices:
                action.complete = shtab.FILE
        commands.add_parser(name, help=what, parents=[command], add_help=False)
    return whole

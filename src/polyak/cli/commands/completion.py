"""``polyak completion``: a script for the shell, written from the parsers themselves."""

from __future__ import annotations

import argparse

from polyak.cli.arguments import Parser

HOW = """\
bash:  eval "$(polyak completion bash)"           in ~/.bashrc
zsh:   eval "$(polyak completion zsh)"            in ~/.zshrc, after compinit
fish:  polyak completion fish | source            in ~/.config/fish/config.fish
"""

# zsh reads bash's completions once told to.
_BASH = """\
_polyak() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words="{commands} --help --version"
  else
    case "$command $before" in
{choices}
      *) case "$word" in -*) case "$command" in
{options}
        esac;; esac;;
    esac
  fi
  if [ -n "$words" ]; then COMPREPLY=( $(compgen -W "$words" -- "$word") )
  else COMPREPLY=( $(compgen -f -- "$word") ); fi
}}
complete -o filenames -F _polyak polyak
"""


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("completion", "Print a script that completes polyak's arguments.", epilog=HOW)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run(options: argparse.Namespace) -> int:
    """Do it."""
    if options.shell == "fish":
        print(fish())
    else:
        start = "autoload -U +X bashcompinit && bashcompinit\n" if options.shell == "zsh" else ""
        print(start + bash())
    return 0


def bash() -> str:
    """Write the script for bash."""
    options, choices = [], []
    for command, actions in _actions().items():
        names = " ".join(name for action in actions for name in action.option_strings)
        options.append(f'        {command}) words="{names}";;')
        for action in actions:
            if action.choices:
                keys = "|".join(
                    f'"{command} {name}"' for name in action.option_strings or [command]
                )
                choices.append(f'      {keys}) words="{" ".join(map(str, action.choices))}";;')
    return _BASH.format(
        commands=" ".join(_actions()), options="\n".join(options), choices="\n".join(choices)
    )


def fish() -> str:
    """Write the script for fish."""
    from polyak.cli.commands import COMMANDS

    lines = [
        f"complete -c polyak -n __fish_use_subcommand -f -a {name} -d {_quoted(what)}"
        for name, what in COMMANDS.items()
    ]
    for command, actions in _actions().items():
        for action in actions:
            names = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            ]
            takes = [] if action.nargs == 0 or not names else ["-r"]
            among = (
                [f"-f -a {_quoted(' '.join(map(str, action.choices)))}"] if action.choices else []
            )
            if names or among:
                parts = [*names, *takes, *among, f"-d {_quoted(action.help or '')}"]
                where = f"'__fish_seen_subcommand_from {command}'"
                lines.append(f"complete -c polyak -n {where} {' '.join(parts)}")
    return "\n".join(lines)


def _actions() -> dict[str, list[argparse.Action]]:
    from polyak.cli.commands import COMMANDS, command_module

    return {name: command_module(name).parser()._actions for name in COMMANDS}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"

"""What ``--help`` shows: one screen, grouped, with an example, in plain words."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from functools import cache
from unittest.mock import patch

import pytest

from polyak.cli import main
from polyak.cli.commands import COMMANDS

SCREEN = 50
QUAINT = (
    *("a row", "found out", "so many", "of what is random", "compare notes", "a processor"),
    *("as they stand", "truths", "does not tell", "told", "read over", "endless", "apart"),
)


@cache
def help_of(*words: str) -> str:
    """Return what a command shows on a screen of 80 columns, run in this process."""
    shown = io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS="80"),
        redirect_stdout(shown),
        pytest.raises(SystemExit) as ended,
    ):
        main(list(words))
    assert ended.value.code == 0
    return shown.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_has_an_example_and_is_in_plain_words(command):
    shown = help_of(command, "--help")
    assert len(shown.splitlines()) <= SCREEN
    assert shown.startswith(f"usage: polyak {command} ")
    example = shown.split("\nexample")[1]
    assert f"polyak {command}" in example
    whole = help_of(command, "--help-all") if "--help-all" in shown else shown
    plain = " ".join(whole.split())
    assert [words for words in QUAINT if re.search(rf"\b{words}\b", plain)] == []


def test_the_help_of_polyak_itself_lists_the_commands():
    shown = help_of("--help")
    assert len(shown.splitlines()) <= SCREEN
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", shown, re.M)
    assert "example:\n  polyak train" in shown


def test_what_is_rarely_used_is_shown_when_asked_for():
    short, whole = help_of("train", "--help"), help_of("train", "--help-all")
    assert "--target" in short
    assert "--delimiter" not in short
    hidden = int(re.search(r"--help-all shows (\d+) more options", short)[1])
    listed = [
        len(set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M))) for text in (short, whole)
    ]
    assert listed[1] - listed[0] == hidden > 20
    assert "--delimiter C" in whole
    assert "--eta0 X|auto" in whole

"""Every command of a shell block exists, and its options parse. None is run here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from pages import NAMES, ROOT, SHELL, blocks

from polyak.cli.commands import COMMANDS, command_module

MAKEFILE = (ROOT / "Makefile").read_text()
ENDS = {"|", "||", "&&", ";", "&", "(", ")", ">", ">>", "<", "2>", "<<<", "|&", ">("}


def lines(text):
    """Yield the commands of a block, without prompts and output."""
    text = text.replace("\\\n", " ")
    prompted = any(line.startswith("$ ") for line in text.splitlines())
    for line in text.splitlines():
        if prompted and not line.startswith("$ "):
            continue
        line = line.removeprefix("$ ")
        if line.strip():
            yield line


def commands(line):
    """Split a line into the words of each command in it; redirections end a command."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word in ENDS or set(word) <= set("|&;()<>"):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def without_settings(words):
    """Leave out NAME=value before a command."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    return words


def everything():
    for name in NAMES:
        for block in blocks(ROOT / name):
            if block.language in SHELL:
                for line in lines(block.text):
                    for words in commands(line):
                        words = without_settings(words)
                        if words:
                            yield name, block.line, words


ALL = list(everything())


def told(item):
    name, line, words = item
    return f"{name}:{line} {' '.join(words)}"


def of(*programs):
    return [item for item in ALL if item[2][0] in programs]


@pytest.mark.parametrize("item", of("polyak"), ids=told)
def test_polyak_commands_parse(item):
    _, _, (_, command, *arguments) = item
    if command in ("--version", "--help"):
        return
    assert command in COMMANDS
    parser = command_module(command).parser()
    if "--help" not in arguments:
        parser.parse_intermixed_args(arguments)


@pytest.mark.parametrize("item", of("make"), ids=told)
def test_make_targets_exist(item):
    for target in item[2][1:]:
        if "=" not in target:
            assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE), target


@pytest.mark.parametrize("item", of("python", "python3"), ids=told)
def test_python_modules_and_scripts_exist(item):
    words = item[2][1:]
    if words[0] == "-m":
        module = words[1].split(".")
        known = ("pip", "venv", "build", "pytest", "twine")
        inside = [ROOT.joinpath(*module), ROOT.joinpath("src", *module)]
        there = any(path.is_dir() or path.with_suffix(".py").is_file() for path in inside)
        assert module[0] in known or there, words
    elif words[0].endswith(".py"):
        assert (ROOT / words[0]).is_file(), words[0]


def test_commands_are_found():
    assert len(of("polyak")) >= 20
    assert ["make", "test"] in [item[2] for item in ALL if item[0] == "README.md"]
    assert ["make", "demo"] in [item[2] for item in ALL if item[0] == "README.md"]


def test_a_wrong_option_would_be_noticed():
    parser = command_module("train").parser()
    with pytest.raises(Exception, match="no-such-option"):
        parser.parse_intermixed_args(["rows.svm", "--model", "m", "--no-such-option"])


@pytest.mark.skipif(shutil.which("awk") is None, reason="there is no awk here")
@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_a_newcomers_lines_work_as_pasted(name, tmp_path):
    """The block that makes its own data really runs, line by line, in an empty folder."""
    block = next(block for block in blocks(ROOT / name) if block.text.startswith("seq "))
    (tmp_path / "polyak").write_text(f'#!/bin/sh\nexec {sys.executable} -m polyak "$@"\n')
    (tmp_path / "polyak").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["sh", "-e", "-c", block.text]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "loss of later half" in done.stdout
    assert (tmp_path / "toy.html").read_text(encoding="utf-8").startswith("<!")
    last = [float(word) for word in done.stdout.splitlines()[-1].split()]
    assert len(last) == 2
    assert abs(sum(last) - 1) < 1e-6

"""``python -m reproduction.datasets``: what it lists, fetches and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.datasets.__main__ import main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def command(capsys):
    """Run the command in this process; return its exit code, output and messages."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


def test_list_says_what_is_here(command, tmp_path):
    (tmp_path / "beta_train.dat").write_text("")
    (tmp_path / "beta_train.lab").write_text("")
    code, table, _ = command("list", "--data", tmp_path)
    assert code == 0
    here = {line.split()[0]: line.split()[1] for line in table.splitlines()[1:]}
    assert len(here) == 12
    assert here["beta"] == "real"
    assert here["alpha"] == "stand-in"
    sets = json.loads(command("list", "dna", "--data", tmp_path, "--json")[1])
    assert [(one["name"], one["features"]) for one in sets] == [("dna", 800)]


def test_fetch_without_a_network_ends_in_a_sentence(tmp_path):
    # A proxy that does not exist; in a process of its own, since urllib remembers proxies.
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "ftp_proxy"), "http://127.0.0.1:9")
    words = [sys.executable, "-m", "reproduction.datasets", "fetch", "covtype", "--data", tmp_path]
    environment = os.environ | proxies | {"no_proxy": ""}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "covtype.data.gz could not be fetched" in done.stderr
    assert "is there a network?" in done.stderr


def test_what_is_there_is_not_fetched(command, tmp_path):
    (tmp_path / "covtype").mkdir()
    (tmp_path / "covtype/covtype.data.gz").write_bytes(b"")
    assert "was there already" in command("fetch", "covtype", "--data", tmp_path)[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fetch", "--data", "."), "name the sets to fetch"),
        (("fetch", "iris", "--data", "."), "no set 'iris'"),
        (("list", "iris"), "no set 'iris'"),
        (("fetch", "dna"), "name a folder for the files"),
    ],
)
def test_wrong_usage(command, monkeypatch, arguments, words):
    monkeypatch.delenv("POLYAK_DATA", raising=False)
    code, _, sentence = command(*arguments)
    assert code == 2
    assert words in sentence

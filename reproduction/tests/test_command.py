"""``python -m reproduction``: what it prints, what it refuses, and the page that it writes."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.report import BEGIN, END, command_of, markdown_of
from reproduction.sentences import SENTENCES
from reproduction.verdicts import Judged, Sentence

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reproduction.md"


def command(*arguments, **environment):
    """Run the command to its end in a process of its own."""
    words = [sys.executable, "-m", "reproduction", *map(str, arguments)]
    env = os.environ | environment
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


def test_it_prints_the_verdicts_and_writes_report_and_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n")
    arguments = ("step_sizes", "--quick", "--out", tmp_path / "run", "--page", page)
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"the report is in {tmp_path / 'run' / 'report.html'}\n")
    assert len(done.stdout.splitlines()) == 4  # what section 6.1 says
    assert done.stdout.startswith("holds ")  # ASGD needs a few thousand rows
    shown = page.read_text()
    assert shown.startswith("Before.\n")
    assert shown.endswith("\nAfter.\n")
    assert "](page/figures/step_sizes.svg)" in shown
    assert (tmp_path / "page" / "figures" / "step_sizes.svg").is_file()
    html = (tmp_path / "run" / "report.html").read_text()
    assert "data:image/svg+xml;base64," in html
    assert '<strong class="yes">holds</strong>' in html
    again = command(*arguments)
    assert again.stdout == done.stdout
    assert again.stderr.count("was there already") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "there is no experiment 'nonsense'; there are linear, bounds"),
        (("step_sizes", "--workers", "0"), "--workers must be at least 1, not 0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words, tmp_path):
    done = command(*arguments, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_it_says_what_to_do(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('there is no matplotlib')")
    done = command("step_sizes", "--out", tmp_path / "out", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "there is no matplotlib; `make reproduce` installs and builds" in done.stderr


def test_symbols_are_not_read_as_emphasis():
    sentence = Sentence("θ*_t | x", "section 1", "linear", {"": "x"}, "<", 1.0, "c", "m")
    text = markdown_of([Judged(sentence, "holds", "a_b*c")], [], [], "")
    assert (
        "“θ\\*\\_t \\| x” *section 1* | **holds** | a\\_b\\*c | `python -m reproduction linear` |"
        in text
    )


def test_commands_that_need_data_say_so():
    commands = {one.experiment: command_of(Judged(one, "holds", "")) for one in SENTENCES}
    assert commands["linear"] == "python -m reproduction linear"
    assert commands["benchmarks"] == "python -m reproduction benchmarks --data DIR"


def test_the_page_shows_the_verdicts_of_the_run_it_keeps():
    shown = PAGE.read_text("utf-8").split(BEGIN)[1].split(END)[0]
    with (PAGE.with_suffix("") / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert shown.count("| **") == len(lines)
    for line in lines:
        assert f"**{line['verdict']}**" in shown

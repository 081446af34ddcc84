"""``python -m reproduction``: what it prints, what it refuses, and that it can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "reproduction"]


def command(*arguments, **environment):
    """Run the command to its end in a process of its own."""
    words = [*COMMAND, *map(str, arguments)]
    env = os.environ | environment
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def test_it_prints_the_verdicts_and_says_where_the_report_is(tmp_path: Path) -> None:
    arguments = ("schedules", "--out", tmp_path / "new", "--scale", "1e-4")
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "1/2 schedules-seeds" in done.stderr
    assert done.stderr.endswith(f"the report is in {tmp_path / 'new' / 'report.html'}\n")
    verdicts = done.stdout.splitlines()
    assert len(verdicts) == 7  # three claims for each objective, and one for both
    assert all(line.startswith("cannot be told") for line in verdicts)  # 1000 rows tell nothing
    again = command(*arguments)
    assert again.stdout == done.stdout
    assert again.stderr.count("was there already") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "there is no experiment 'nonsense'; there are schedules, asymptotics"),
        (("schedules", "--scale", "0"), "'0' is not a number above zero"),
        (("schedules", "--scale", "big"), "'big' is not a number above zero"),
        (("benchmarks", "--sets", "dna,iris"), "there is no data set 'iris'; there are covtype"),
        (("schedules", "--workers", "0"), "--workers must be at least 1, not 0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], words: str, tmp_path: Path):
    done = command(*arguments, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('there is no matplotlib')")
    done = command("schedules", "--out", tmp_path / "out", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "there is no matplotlib; `make reproduce` installs and builds" in done.stderr


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    words = [*COMMAND, "theory", "--out", str(tmp_path), "--scale", "0.5"]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert "theory-" in running.stderr.readline()  # shown once a piece is finished
        running.send_signal(signal.SIGINT)
        assert "run it again to go on" in running.stderr.read()
        assert running.wait(60) == 130
    assert list((tmp_path / "pieces").glob("theory-*.json"))
    assert not (tmp_path / "report.html").exists()

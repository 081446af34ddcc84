"""``polyak reproduce``: what it prints, what it refuses, and that it can be stopped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import fails, on_terminal, polyak


def test_it_prints_the_verdicts_and_says_where_the_report_is(tmp_path: Path) -> None:
    command = ("reproduce", "schedules", "--out", tmp_path / "new", "--scale", "1e-4")
    done = polyak(*command)
    assert "1/2 schedules-seeds" in done.stderr
    assert done.stderr.endswith(f"the report is in {tmp_path / 'new' / 'report.html'}\n")
    verdicts = done.stdout.splitlines()
    assert len(verdicts) == 7  # three claims for each objective, and one for both
    assert all(line.startswith("cannot be told") for line in verdicts)  # 1000 rows tell nothing
    again = polyak(*command)
    assert again.stdout == done.stdout
    assert again.stderr.count("was there already") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "there is no experiment 'nonsense'; there are schedules, asymptotics"),
        (("schedules", "--scale", "0"), "'0' is not a number above zero"),
        (("schedules", "--scale", "big"), "'big' is not a number above zero"),
        (("benchmarks", "--sets", "dna,iris"), "there is no data set 'iris'; there are covtype"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], words: str, tmp_path: Path):
    assert words in fails("reproduce", *arguments, "--out", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')")
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    said = fails("reproduce", "schedules", "--out", tmp_path / "out", code=2, env=env)
    assert "pip install 'polyak[reproduce]'" in said


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    shown = on_terminal(
        *("reproduce", "theory", "--out", tmp_path, "--scale", "0.5"),
        code=130,
        ctrl_c_after="theory-setting",  # which is shown once a piece is finished
    )
    assert "the same command goes on" in shown
    assert list((tmp_path / "pieces").glob("theory-*.json"))
    assert not (tmp_path / "report.html").exists()

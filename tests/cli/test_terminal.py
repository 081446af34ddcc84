"""What people see: every command in a real pseudo-terminal."""

from __future__ import annotations

import re
from pathlib import Path

from commands import on_terminal


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_train_shows_a_live_line(train_file: Path, tmp_path: Path) -> None:
    as_is = ("--order", "as-is", "--block-bytes", 300)
    shown = on_terminal("train", train_file, "--model", tmp_path / "m", *as_is)
    plain = without_colours(shown)
    line = r"4,000 rows · [\d,]+ rows/s · \d+ MB/s · 100% · loss 0\.\d+ recent, 0\.\d+ overall"
    assert re.search(line, plain)
    assert "\x1b[2K" in shown  # redrawn in place
    assert re.search(r"\d+%, \d+:\d\d left", plain)
    assert re.search(r"rows +4,000", plain)  # the summary


def test_train_without_progress_prints_lines_there_too(train_file: Path, tmp_path: Path) -> None:
    shown = without_colours(
        on_terminal("train", train_file, "--model", tmp_path / "m", "--no-progress")
    )
    assert "rows/s" in shown
    assert "·" not in shown


def test_a_narrow_terminal_keeps_to_one_line(train_file: Path, tmp_path: Path) -> None:
    shown = on_terminal("train", train_file, "--model", tmp_path / "m", columns=40)
    live = [line for line in re.split(r"[\r\n]", without_colours(shown)) if "·" in line]
    assert live
    assert max(map(len, live)) <= 40


def test_inspect(model_file: Path) -> None:
    shown = without_colours(on_terminal("inspect", model_file))
    assert "squared_hinge" in shown
    assert re.search(r"feature +weight", shown)


def test_an_error_is_one_sentence(tmp_path: Path) -> None:
    shown = on_terminal("train", tmp_path / "none.svm", "--model", tmp_path / "m", code=1)
    assert shown.strip() == (
        f"polyak: error: {tmp_path / 'none.svm'} cannot be read: no such file or directory"
    )

"""Pieces are computed once, kept whole, and survive whatever ends a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reproduction.pieces import Piece, finished, run_pieces

HERE = str(Path(__file__).parent)
ROOT = str(Path(__file__).parents[2])

# A run of three pieces in a process of its own, so that it can be killed.
RUN = """
import sys
from pathlib import Path
sys.path[:0] = [{here!r}, {root!r}]
from piece_functions import noted
from reproduction.pieces import Piece, run_pieces
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    pieces = [
        Piece(f"p{{i}}", noted, {{"log": str(folder / "log"), "value": i, "wait_for": wait}})
        for i, wait in enumerate([None, None, sys.argv[2]])
    ]
    print(sorted((k, v["value"]) for k, v in run_pieces(pieces, folder / "pieces").items()))
"""


@pytest.fixture(autouse=True)
def _functions_are_found(monkeypatch):
    monkeypatch.syspath_prepend(HERE)


def test_a_finished_piece_is_not_computed_again(tmp_path):
    from piece_functions import noted

    log = tmp_path / "log"
    pieces = [Piece(f"p{i}", noted, {"log": str(log), "value": i}, alone=i == 2) for i in range(3)]
    told = []
    first = run_pieces(pieces, tmp_path / "pieces", lambda p, was: told.append((p.name, was)))
    assert first == {f"p{i}": {"value": i} for i in range(3)}
    assert sorted(told) == [("p0", False), ("p1", False), ("p2", False)]
    assert told[-1][0] == "p2"  # what wants to be alone comes last
    changed = [*pieces[:2], Piece("p2", noted, {"log": str(log), "value": 7})]
    told.clear()
    assert run_pieces(changed, tmp_path / "pieces", lambda p, was: told.append((p.name, was)))[
        "p2"
    ] == {"value": 7}
    assert sorted(told) == [("p0", True), ("p1", True), ("p2", False)]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "7"]


def test_a_damaged_file_is_computed_again(tmp_path):
    from piece_functions import noted

    piece = Piece("p", noted, {"log": str(tmp_path / "log"), "value": 1})
    (tmp_path / piece.file_name).write_text('{"result": ')
    assert finished(piece, tmp_path) is None
    assert run_pieces([piece], tmp_path) == {"p": {"value": 1}}
    assert json.loads((tmp_path / piece.file_name).read_text())["parameters"]["value"] == 1


def test_what_a_piece_raises_is_raised(tmp_path):
    from piece_functions import failing

    with pytest.raises(ValueError, match="no such luck"):
        run_pieces([Piece("p", failing)], tmp_path)


def test_two_pieces_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="two pieces are called p"):
        run_pieces([Piece("p", max), Piece("p", min)], tmp_path)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on_where_it_was(tmp_path, how):
    script = tmp_path / "run.py"
    script.write_text(RUN.format(here=HERE, root=ROOT))
    gate = tmp_path / "gate"
    command = [sys.executable, str(script), str(tmp_path), str(gate)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list((tmp_path / "pieces").glob("p[01]-*.json"))) == 2)
    wait_until(lambda: "waiting" in (tmp_path / "log").read_text())
    os.kill(run.pid, how)
    run.communicate(timeout=60)
    assert run.returncode != 0
    assert not list((tmp_path / "pieces").glob("p2-*.json"))
    gate.touch()
    wait_until(lambda: not (tmp_path / "log.here").exists() or not alive(tmp_path / "log.here"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[('p0', 0), ('p1', 1), ('p2', 2)]\n"
    assert sorted((tmp_path / "log").read_text().split()) == ["0", "1", "2", "waiting"]


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not _quietly(condition):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _quietly(condition):
    try:
        return condition()
    except OSError:
        return False


def alive(file):
    try:
        os.kill(int(file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True

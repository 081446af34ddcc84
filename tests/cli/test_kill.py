"""Killed at any moment, a run goes on from its last checkpoint and ends with the same bits."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from commands import POLYAK, on_terminal, polyak, rows_of_text, write

from polyak.model.linear import LinearModel
from polyak.storage.container import read_file
from polyak.training.checkpoint import FORMAT, KIND, NEWEST, PREVIOUS

pytestmark = pytest.mark.slow

AS_IS = ("--order", "as-is")  # else a file so small is learned in memory, in no time
# Little is learned between two checkpoints, so that many kills come while one is written.
SMALL_STEPS = ("-q", "--block-bytes", "400", "--checkpoint-every", "25")
KINDS = {
    "plain": ("--recipe", "paper"),
    "gz": (),
    "shuffled": ("--shuffle-buffer", "100"),
    "passes": ("--passes", "2"),
    "late class": ("--loss", "log_loss"),
    "values": ("--loss", "squared_error", "--average", "200"),
    "terms": ("--target", "y", "--curves", "--pairs"),
}


def make_source(folder: Path, kind: str, rows: int) -> Path:
    if kind == "terms":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, 4))
        y = np.sin(2 * X[:, 0]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=rows)
        np.savetxt(folder / "rows.csv", np.c_[y, X], "%.6g", ",", header="y,a,b,c,d", comments="")
        return folder / "rows.csv"
    text = rows_of_text(rows)
    if kind == "late class":
        text = rows_of_text(rows // 2) + rows_of_text(rows - rows // 2, labels=(-1, 1, 7))
    if kind == "gz":
        (folder / "rows.svm.gz").write_bytes(gzip.compress(text.encode()))
        return folder / "rows.svm.gz"
    return write(folder / "rows.svm", text)


def kill_at_random(command: list[str], folder: Path, longest: float) -> bool:
    """Start a run and kill it a random while after its first checkpoint; tell if it was alive."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run.poll() is None and not (folder / NEWEST).exists():
        time.sleep(0.002)
    time.sleep(random.uniform(0, longest))
    run.send_signal(signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


def readable_checkpoints(folder: Path) -> int:
    """Read whatever checkpoints there are; one that cannot be read is an error."""
    paths = [folder / name for name in (NEWEST, PREVIOUS) if (folder / name).exists()]
    return sum(read_file(path, KIND, FORMAT)[0]["rows"] > 0 for path in paths)


def survives(
    tmp_path: Path,
    kind: str,
    kills: int,
    rows: int,
    longest: float,
    steps: tuple[str, ...] = SMALL_STEPS,
) -> int:
    """Kill a run ``kills`` times, let it finish, and compare with one never killed."""
    source = make_source(tmp_path, kind, rows)
    options = (str(source), *KINDS[kind])
    polyak("train", *AS_IS, *options, "-q", "--model", tmp_path / "whole")
    folder, model = tmp_path / "checkpoints", tmp_path / "killed"
    command = [
        *POLYAK,
        "train",
        *AS_IS,
        *options,
        "--model",
        str(model),
        "--checkpoint",
        str(folder),
    ]
    alive = 0
    for _ in range(kills):
        if not kill_at_random([*command, *steps], folder, longest):
            break
        alive += 1
        # None are left only by a run that was killed on its way out, its model safe.
        assert readable_checkpoints(folder) >= 1 or model.exists()
    subprocess.run([*command, *steps], check=True, stdout=subprocess.DEVNULL)
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (folder / NEWEST).exists()  # a run that is complete has nothing to go on from
    return alive


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "terms"])
def test_kills_leave_no_trace(tmp_path: Path, kind: str) -> None:
    random.seed(kind)
    assert survives(tmp_path, kind, kills=4, rows=3000, longest=0.1) >= 1


def test_kills_of_curves_and_pairs_leave_no_trace(tmp_path: Path) -> None:
    random.seed(0)
    steps = ("-q", "--block-bytes", "20000", "--checkpoint-every", "1000")
    assert survives(tmp_path, "terms", kills=6, rows=24_000, longest=0.5, steps=steps) >= 1
    report = LinearModel.load(tmp_path / "killed").report
    assert report is not None
    assert "c × d" in {term.name for term in report.terms}


def test_resuming_says_so_and_reads_only_the_rest(tmp_path: Path) -> None:
    source = make_source(tmp_path, "plain", 3000)
    folder = tmp_path / "checkpoints"
    command = ["train", *AS_IS, source, "--model", tmp_path / "m", "--checkpoint", folder]
    random.seed(1)
    assert kill_at_random([*POLYAK, *map(str, command), *SMALL_STEPS], folder, 0.1)
    done = polyak(*command)
    assert "resuming at row" in done.stderr
    assert "resumed at row" in done.stdout


class TestInterrupted:
    """Ctrl-C, SIGTERM as schedulers send it, SIGHUP as a closed terminal does: all is saved."""

    def test_ctrl_c_on_a_terminal(self, tmp_path: Path) -> None:
        text = rows_of_text(4000)
        polyak(
            "train", *AS_IS, write(tmp_path / "a.svm", text), "-q", "--model", tmp_path / "whole"
        )
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        command = (
            "train", pipe, "--model", tmp_path / "m", "--checkpoint", tmp_path / "c",
            "--block-bytes", 2000,
        )  # fmt: skip
        # The pipe stalls in the middle, and never ends by itself.
        writer = subprocess.Popen(
            ["sh", "-c", f"head -2500 {tmp_path / 'a.svm'} > {tmp_path / 'half'}; "
             f"exec 3> {pipe}; cat {tmp_path / 'half'} >&3; exec sleep 60"]
        )  # fmt: skip
        try:
            # With colours around it: neither "12,477 rows" nor "2,477 rows/s" must count.
            rows = r"m2,4\d\d\x1b\[0m rows "
            shown = on_terminal(*command, code=130, ctrl_c_after=rows)
        finally:
            writer.kill()
            writer.wait()
        assert "stopped at row 2,4" in shown
        assert str(tmp_path / "m") in shown
        assert 2400 <= LinearModel.load(tmp_path / "m").report.rows <= 2500
        # The same command, and the pipe gives everything this time.
        with subprocess.Popen(["sh", "-c", f"cat {tmp_path / 'a.svm'} > {pipe}"]):
            polyak(*command, "-q")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_signals(self, tmp_path: Path, number: int) -> None:
        source = make_source(tmp_path, "plain", 4000)
        polyak("train", *AS_IS, source, "-q", "--model", tmp_path / "whole")
        folder = tmp_path / "checkpoints"
        command = [*POLYAK, "train", *AS_IS, str(source), "--model", str(tmp_path / "m")]
        command += ["--checkpoint", str(folder)]
        before = signal.signal(number, signal.SIG_DFL)  # under nohup it would be ignored
        run = subprocess.Popen(
            [*command, *SMALL_STEPS], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        signal.signal(number, before)
        while run.poll() is None and not (folder / NEWEST).exists():
            time.sleep(0.002)
        run.send_signal(number)
        _, said = run.communicate()
        assert run.returncode == 130
        assert "stopped at row" in said
        assert "the same command resumes" in said
        assert LinearModel.load(tmp_path / "m").report.rows < 4000
        subprocess.run([*command, *SMALL_STEPS], check=True, stdout=subprocess.DEVNULL)
        assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()

    @pytest.mark.parametrize("command", ["train", "predict", "convert", "evaluate"])
    @pytest.mark.parametrize(
        "delay",
        [0, 20, 80, 300],
    )
    def test_as_it_begins(self, tmp_path: Path, model_file: Path, command: str, delay: int) -> None:
        """Killed ``delay`` milliseconds after Python begins to import polyak's dependencies."""
        words = {
            "train": ["-", "--format", "csv", "--target", "y", "-m", str(tmp_path / "m")],
            "predict": [str(model_file), "-", "-o", str(tmp_path / "m")],
            "convert": ["-", str(tmp_path / "m.npz")],
            "evaluate": [str(model_file), "-"],
        }[command]
        run = subprocess.Popen(
            [POLYAK[0], "-X", "importtime", *POLYAK[1:], command, *words],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert run.stderr is not None
        for line in run.stderr:
            if "polyak.cli" in line:
                break
        time.sleep(delay / 1000)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        # A shell shows either as 130; Python ends by the signal itself if it comes as it ends.
        assert run.returncode in (130, -signal.SIGINT), said
        assert "Traceback" not in said
        assert "polyak: " in said
        assert not list(tmp_path.iterdir())

    def test_before_anything_was_learned(self, tmp_path: Path) -> None:
        run = subprocess.Popen(
            [*POLYAK, "train", "-", "--model", str(tmp_path / "m"), "-q"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        time.sleep(1.5)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=20)
        assert run.returncode == 130
        assert "Traceback" not in said
        assert not (tmp_path / "m").exists()

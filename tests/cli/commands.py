"""How the tests run commands: as a user would, in processes of their own."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from command_server import CommandServer

POLYAK = [sys.executable, "-m", "polyak"]
SERVER = CommandServer()


def polyak(*arguments: Any, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and check its exit code."""
    words = list(map(str, arguments))
    if sys.platform == "linux" and options.keys() <= {"cwd"}:
        done = SERVER.run(words, str(options.get("cwd", os.getcwd())), 120)
    else:
        done = subprocess.run(
            [*POLYAK, *words], capture_output=True, text=True, timeout=120, **options
        )
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def fails(*arguments: Any, code: int = 1, **options: Any) -> str:
    """Run a command that must fail, and give the one sentence that it fails with."""
    done = polyak(*arguments, code=code, **options)
    errors = [line for line in done.stderr.splitlines() if line.startswith("polyak: error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0]


def on_terminal(
    *arguments: Any, code: int = 0, ctrl_c_after: str | None = None, columns: int = 160
) -> str:
    """Run a command in a pseudo-terminal of its own, and give all that the screen was sent.

    ``ctrl_c_after`` presses Ctrl-C once the screen has shown this, a regular expression.
    """
    pid, screen = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"}
        os.execv(POLYAK[0], [*POLYAK, *map(str, arguments)])
    shown, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([screen], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(screen, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        shown += data
        if ctrl_c_after is not None and re.search(ctrl_c_after.encode(), shown):
            os.write(screen, b"\x03")
            ctrl_c_after = None
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    text = shown.decode()
    assert os.waitstatus_to_exitcode(status) == code, text
    assert "Traceback" not in text
    return text


def rows_of_text(
    n_rows: int, seed: int = 0, labels: Sequence[Any] = (-1, 1), first_id: int = 1, bad: int = 0
) -> str:
    """Draw svmlight rows with labels to learn; every ``bad``-th line is malformed."""
    random = np.random.default_rng(seed)
    features, nonzeros = 100, 8
    truth = np.random.default_rng(99).normal(size=(features, len(labels)))
    ids = np.sort(np.argsort(random.random((n_rows, features)), axis=1)[:, :nonzeros], axis=1)
    values = random.normal(size=ids.shape).round(4)
    best = np.argmax((truth[ids] * values[..., None]).sum(axis=1), axis=1)
    lines = []
    for i in range(n_rows):
        pairs = zip(ids[i].tolist(), values[i].tolist(), strict=True)
        words = " ".join(f"{j + first_id}:{v}" for j, v in pairs)
        lines.append(f"{labels[best[i]]} {words}")
        if bad and i % bad == bad - 1:
            lines[-1] = f"{labels[0]} 3:x"
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> Path:
    """Write a file and give its path back."""
    path.write_text(text)
    return path

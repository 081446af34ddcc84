"""The ways to a model: learned at once, interrupted, converted before, with other sizes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sources import Source

from polyak.training.checkpoint import NEWEST

POLYAK = [sys.executable, "-m", "polyak"]
AS_IS = ("--order", "as-is")
"""What pipes and workers get; in memory there would be nothing to resume."""
SMALL_STEPS = ("--block-bytes", "5000", "--checkpoint-every", "100")
"""So that there is a middle to be killed in."""


@contextmanager
def started(source: Source, path: Path, *arguments: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a command that reads the source, from a real pipe if that is what it is.

    An argument ``SOURCE`` stands where the source is named.
    """
    named = "-" if source.is_pipe else str(path)
    words = [named if word == "SOURCE" else str(word) for word in arguments]
    writer = subprocess.Popen(["cat", path], stdout=subprocess.PIPE) if source.is_pipe else None
    run = subprocess.Popen(
        [*POLYAK, *words],
        stdin=None if writer is None else writer.stdout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        if writer is not None and writer.stdout is not None:
            writer.stdout.close()  # the command alone holds it now
        yield run
    finally:
        run.kill()
        run.communicate()
        if writer is not None:
            writer.kill()
            writer.wait()


def done(source: Source, path: Path, *arguments: Any) -> str:
    """Run such a command to its end, and give what it printed."""
    with started(source, path, *arguments) as run:
        out, said = run.communicate(timeout=120)
        assert run.returncode == 0, said
        assert "Traceback" not in said
        return out


def train(source: Source, path: Path, model: Path, *options: Any) -> bytes:
    """Learn a model, and give its file's bytes."""
    done(source, path, "train", "SOURCE", *AS_IS, "-q", "-m", model, *source.options, *options)
    return model.read_bytes()


# -- ways ------------------------------------------------------------------------------------------


def at_once(source: Source, path: Path, folder: Path, *names: str) -> bytes:
    return train(source, path, folder / "model", *names)


def small_blocks(source: Source, path: Path, folder: Path, *names: str) -> bytes:
    return train(source, path, folder / "model", "--block-bytes", 3000, *names)


def one_thread(source: Source, path: Path, folder: Path, *names: str) -> bytes:
    return train(source, path, folder / "model", "--threads", 1, *names)


def three_threads(source: Source, path: Path, folder: Path, *names: str) -> bytes:
    few = ("--block-bytes", 20_000)  # so that each of them has some
    return train(source, path, folder / "model", "--threads", 3, *few, *names)


def killed(source: Source, path: Path, folder: Path, *names: str) -> bytes:
    """Kill the run once there is a checkpoint, and run the same command again."""
    model, checkpoints = folder / "model", folder / "checkpoints"
    command = ("train", "SOURCE", *AS_IS, "-m", model, "--checkpoint", checkpoints, *SMALL_STEPS)
    command += (*source.options, *names)
    for _ in range(20):
        with started(source, path, *command, "-q") as run:
            while run.poll() is None and not (checkpoints / NEWEST).exists():
                time.sleep(0.001)
            run.send_signal(signal.SIGKILL)
            if run.wait() == -signal.SIGKILL and (checkpoints / NEWEST).exists():
                break
            _, said = run.communicate()
            assert run.returncode in (0, -signal.SIGKILL), said
        model.unlink(missing_ok=True)  # it was done before the kill came
    else:
        raise AssertionError("twenty runs were done before they could be killed")
    assert "resumed at row" in done(source, path, *command)
    return model.read_bytes()


def converted(to: str) -> Callable[..., bytes]:
    """Return a way that converts the source to format ``to`` and trains on the result."""

    def way(source: Source, path: Path, folder: Path, *names: str) -> bytes:
        between, model = folder / f"converted.{to}", folder / "model"
        done(source, path, "convert", "SOURCE", between, "-q", *source.options)
        columns = source.plain.options if source.is_table else []  # which it still has
        done(source.plain, between, "train", "SOURCE", *AS_IS, "-q", "-m", model, *columns, *names)
        return model.read_bytes()

    return way


WAYS: dict[str, Callable[..., bytes]] = {
    "at-once": at_once,
    "killed": killed,
    "small-blocks": small_blocks,
    "one-thread": one_thread,
    "three-threads": three_threads,
    "converted-npz": converted("npz"),
    "converted-parquet": converted("parquet"),
}

"""One pass over ten gigabytes that never touch the disk.

A writer draws rows and prints them as svmlight text into a pipe; `polyak train -` learns them as
they come. Its memory does not grow with the rows.

    python examples/one_pass_over_a_pipe.py                      # 20 MB
    python examples/one_pass_over_a_pipe.py --megabytes 10000    # ten gigabytes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WORDS = 20  # nonzeros per row, each one of a hundred features of its own
ROWS = 20_000  # generated at a time


def text_of(rng: np.random.Generator, truth: np.ndarray) -> bytes:
    """Generate rows as text; lines of the same length are written as one array of bytes."""
    words = rng.integers(100, size=(ROWS, WORDS)) + 100 * np.arange(1, WORDS + 1)
    values = rng.integers(1, 10, size=(ROWS, WORDS))
    score = (truth[words] * values).sum(axis=1) / 10
    positive = rng.random(ROWS) < 1 / (1 + np.exp(-score))
    line = np.frombuffer(b"+1" + b" 00000:0.0" * WORDS + b"\n", np.uint8)
    table = np.tile(line, (ROWS, 1))
    table[~positive, 0] = ord("-")
    cells = table[:, 2:-1].reshape(ROWS, WORDS, 10)
    for place in range(5):
        cells[:, :, 5 - place] += (words // 10**place % 10).astype(np.uint8)
    cells[:, :, 9] += values.astype(np.uint8)
    table[:, 2:-1] = cells.reshape(ROWS, -1)
    return table.tobytes()


def peak_megabytes(process: subprocess.Popen[bytes]) -> float | None:
    """Return the peak memory of a process, from Linux's /proc."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return None
    found = [line.split()[1] for line in status.read_text().splitlines() if "VmHWM" in line]
    return int(found[0]) / 1024 if found else None


def main() -> None:
    """Write into the pipe, and print the peak memory of the reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=20, help="how much text to write")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    truth = np.random.default_rng(1).normal(size=100 * (WORDS + 1))
    with tempfile.TemporaryDirectory() as folder:
        train = [sys.executable, "-m", "polyak", "train", "-", "--loss", "log_loss", "--json"]
        learner = subprocess.Popen(
            [*train, "--model", f"{folder}/pipe.polyak"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert learner.stdin is not None
        assert learner.stdout is not None
        written, next_report, peak = 0, 1, None
        while written < options.megabytes * 10**6:
            written += learner.stdin.write(text_of(rng, truth))
            if written >= next_report * 10**6:
                peak = peak_megabytes(learner) or peak
                print(f"{written / 1e6:>9,.0f} MB written, peak memory {peak or 0:,.0f} MB")
                next_report *= 4
        learner.stdin.close()
        learned = json.load(learner.stdout)
        if learner.wait() != 0:
            sys.exit("the learner failed")
    print(f"\n{learned['rows']:,} rows in one pass, {learned['megabytes_per_second']:.0f} MB/s")
    print(f"progressive error {learned['progressive_error']:.4f}; that of the true weights is")
    print(f"                  {error_of_the_truth(rng, truth):.4f}")


def error_of_the_truth(rng: np.random.Generator, truth: np.ndarray) -> float:
    """Return the error of the weights that the rows were generated with."""
    lines = text_of(rng, truth).split(b"\n")[:-1]
    wrong = 0
    for line in lines:
        label, *cells = line.split()
        pairs = [cell.split(b":") for cell in cells]
        score = sum(truth[int(j)] * float(value) for j, value in pairs)
        wrong += (score > 0) != (label == b"+1")
    return wrong / len(lines)


if __name__ == "__main__":
    main()

"""Kill a run in the middle, continue it, and compare the models bit by bit.

Not a polite stop but SIGKILL (on Windows, TerminateProcess), which leaves no time to save anything.

    python examples/resume_after_a_crash.py
    python examples/resume_after_a_crash.py --rows 5000000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def write_rows(path: Path, rows: int) -> None:
    """Write generated documents of 30 words each as svmlight text."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=10_000)
    with path.open("w") as file:
        for _ in range(rows):
            words = np.unique(np.minimum(rng.zipf(1.3, 30), 10_000))  # ids count from one
            label = 1 if truth[words - 1].sum() + rng.normal() > 0 else -1
            file.write(f"{label:+d} {' '.join(f'{word}:1' for word in words)}\n")


def main() -> None:
    """Train once without and once with a crash, and compare the two files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.svm", options.rows)
        train = [sys.executable, "-m", "polyak", "train", str(folder / "rows.svm")]
        train += ["--order", "as-is"]  # in memory, the run would end before it can be killed
        whole, resumed = folder / "whole.polyak", folder / "resumed.polyak"
        subprocess.run([*train, "--quiet", "--model", str(whole)], check=True, capture_output=True)

        checkpoints = folder / "checkpoints"
        careful = [*train, "--model", str(resumed), "--checkpoint", str(checkpoints), "--quiet"]
        careful += ["--checkpoint-every", str(options.rows // 20), "--block-bytes", "50000"]
        victim = subprocess.Popen(careful, stdout=subprocess.DEVNULL)
        while victim.poll() is None and not (checkpoints / "checkpoint.polyak").exists():
            time.sleep(0.001)
        victim.kill()
        print(f"killed with exit code {victim.wait()}; there is no model: {not resumed.exists()}")

        again = subprocess.run(careful, check=True, capture_output=True, text=True)
        print(again.stderr.strip())
        same = np.array_equal(np.fromfile(whole, np.uint8), np.fromfile(resumed, np.uint8))
        print(f"the two model files are {'the same, byte for byte' if same else 'different'}")
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()

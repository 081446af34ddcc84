"""Memory stays where it is, however long the input: it is read from a pipe, and never kept."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyak.data.text import BLOCKS_AHEAD

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc"),
]

FEATURES = 1 << 18

# The peak of the process itself: what the kernel tells its parent begins with the parent's.
TRAIN = """
from polyak.__main__ import main
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if "VmHWM" in line))
"""


@pytest.fixture(scope="module")
def megabyte() -> bytes:
    random = np.random.default_rng(0)
    lines = []
    while sum(map(len, lines)) < 1_000_000:
        ids = np.sort(random.choice(FEATURES, 70, replace=False)) + 1
        words = " ".join(f"{i}:{v:.5f}" for i, v in zip(ids, random.random(70), strict=True))
        lines.append(f"{random.choice((-1, 1))} {words}\n")
    lines.append(f"1 {FEATURES}:0.5\n")
    return "".join(lines).encode()


def measured(
    megabyte: bytes, times: int, model: Path, recipe: str, *more: str, head: bytes = b""
) -> tuple[float, list[float]]:
    """Train on ``times`` copies of ``megabyte`` from a pipe.

    Return the peak memory in MB, and the memory after each copy.
    """
    command = [sys.executable, "-c", TRAIN, "train", "-", "-q", "--recipe", recipe, *more]
    run = subprocess.Popen(
        [*command, "--model", str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write(head)
    after = []
    for _ in range(times):
        run.stdin.write(megabyte)
        pages = int(Path(f"/proc/{run.pid}/statm").read_text().split()[1])
        after.append(pages * resource.getpagesize() / 2**20)
    run.stdin.close()
    kilobytes = int(run.stdout.read().split()[-1])
    assert run.wait() == 0
    return kilobytes / 1024, after


@pytest.mark.parametrize("recipe", ["paper", "auto"])
def test_memory_is_flat(megabyte: bytes, tmp_path: Path, recipe: str) -> None:
    """The longer run may hold more blocks that were parsed ahead, each of some 4 MB."""
    first, _ = measured(megabyte, 500, tmp_path / "m", recipe)
    last, _ = measured(megabyte, 3000, tmp_path / "m", recipe)
    assert last < first + 4 * BLOCKS_AHEAD
    assert last < 200


@pytest.mark.parametrize("recipe", ["paper", "auto"])
def test_a_csv_of_two_gigabytes_would_take_less_than_350_mb(tmp_path: Path, recipe: str) -> None:
    """What it takes is found by a line through the memory after some 225 and 425 megabytes.

    Each is a median of 150, as blocks that are read ahead come and go. Where 270 MB are taken from
    the beginning on, the bound leaves 5 MB for every 100 MB read.
    """
    random = np.random.default_rng(0)
    rows = [
        f"{i},{random.normal():.6f},word{random.integers(5000)},2013-01-01T{i % 24:02}:00:00Z,"
        f"{random.choice(['', 'NA', '1.5'])},{random.normal():.3f}\n"
        for i in range(19_000)
    ]
    megabyte = "".join(rows).encode()
    assert len(megabyte) > 1_000_000
    options = ("--format", "csv", "--target", "y", "--loss", "squared_error")
    head = b"n,x,word,time,hole,y\n"
    peak, after = measured(megabyte, 500, tmp_path / "m", recipe, *options, head=head)
    first, last = np.median(after[150:300]), np.median(after[350:])
    assert peak + max(last - first, 0.0) / 200 * 1500 < 350

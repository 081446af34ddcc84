"""svmlight text to rows and no further, in one thread."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.cache import FOLDER
from benchmarks.contestant import Job
from benchmarks.runner import ROOT, Contest, Contestant, Figures, Result, Target, in_process
from benchmarks.scenarios.files.commands import files

OURS, LOOP = "ours, one thread", "a straightforward C++ loop"


def contests(name: str, quick: bool) -> list[Contest]:
    train, _ = files(40 if quick else 180)
    size = train.stat().st_size / 1e6

    def throughput(result: Result) -> Figures:
        return {"MB/s": size / result.best}

    return [
        Contest(
            title=f"the svmlight parser alone, {size:.0f} MB, one core",
            contestants=[
                in_process(OURS, "parser:ours", path=str(train)),
                Contestant(LOOP, (_compiled_loop(), str(train))),
                in_process("load_svmlight_file", "parser:sklearn", path=str(train)),
                in_process("a plain read", "parser:read", path=str(train)),
            ],
            reference=OURS,
            repeats=2 if quick else 5,
            derive=throughput,
            targets=[
                Target(
                    "GB/s, or two thirds of the times as fast as the loop, the larger",
                    lambda results: max(
                        size / results[OURS].best / 1e3,
                        results[LOOP].best / results[OURS].best / 1.5,
                    ),
                    at_least=1,
                )
            ],
        )
    ]


def ours(path: str) -> Job:
    from polyak.data.open import open_stream

    def work() -> None:
        with open_stream(path, threads=1) as stream:
            for _ in stream:
                pass

    return work, dict


def _compiled_loop() -> str:
    source = ROOT / "benchmarks" / "peers" / "plain_loop.cpp"
    program = FOLDER / "plain_loop"
    subprocess.run(["g++", "-O3", "-std=c++17", str(source), "-o", str(program)], check=True)
    return str(program)


def sklearn(path: str) -> Job:
    import numpy as np
    from sklearn.datasets import load_svmlight_file

    return lambda: load_svmlight_file(path, dtype=np.float32, zero_based=False), dict


def read(path: str) -> Job:
    """Read in blocks of our parser's size, so that both use the cache alike."""
    buffer = bytearray(1 << 21)

    def work() -> None:
        with Path(path).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return work, dict

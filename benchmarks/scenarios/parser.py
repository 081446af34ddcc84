"""svmlight text to rows and no further, in one thread."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, Target, in_process
from benchmarks.scenarios.commands import files

OURS = "ours, one thread"


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
                in_process("load_svmlight_file", "parser:sklearn", path=str(train)),
                in_process("a plain read", "parser:read", path=str(train)),
            ],
            reference=OURS,
            repeats=2 if quick else 5,
            derive=throughput,
            targets=[
                Target(
                    "MB/s, on a machine where a straightforward C++ loop does 660",
                    lambda results: size / results[OURS].best,
                    at_least=1000,
                )
            ],
        )
    ]


def ours(path: str) -> Job:
    from polyak.streams import open_stream

    def work() -> None:
        with open_stream(path, threads=1) as stream:
            for _ in stream:
                pass

    return work, dict


def sklearn(path: str) -> Job:
    import numpy as np
    from sklearn.datasets import load_svmlight_file

    return lambda: load_svmlight_file(path, dtype=np.float32, zero_based=False), dict


def read(path: str) -> Job:
    """Read in blocks of the size that our parser takes, so that the cache helps both alike."""
    buffer = bytearray(1 << 21)

    def work() -> None:
        with Path(path).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return work, dict

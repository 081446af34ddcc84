"""The process of one contestant: prepare untimed, run timed, evaluate, report.

``python -m benchmarks.contestant module:function '{"argument": 1}'`` calls a function of
`benchmarks.scenarios`. It returns two functions: the work, which is timed, and the judge, which is
not and gives the figures to report.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.scenarios import module_of

Job = tuple[Callable[[], object], Callable[[], dict[str, float]]]


def main() -> None:
    """Run the job given on the command line."""
    module, function = sys.argv[1].split(":")
    prepare = getattr(importlib.import_module(module_of(module)), function)
    work, judge = prepare(**json.loads(sys.argv[2]))
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    report = {"seconds": seconds, **{name: float(value) for name, value in judge().items()}}
    # A job that ran on part of the rows reports the factor by which to scale its time.
    report["seconds"] *= report.pop("scale", 1.0)
    if path := os.environ.get("BENCHMARK_REPORT"):
        Path(path).write_text(json.dumps(report))


if __name__ == "__main__":
    main()

"""Run contestants: each in its own process, on pinned cores, in turn.

Turn by turn, because a machine drifts: if every contestant runs once before any runs again, a slow
minute hits all of them alike.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
REPEAT = "@repeat"  # stands for the number of the repeat in a contestant's command
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
Figures = dict[str, float]


@dataclass(frozen=True)
class Contestant:
    """A command to time: all of it, or only the part that it reports on itself."""

    label: str
    command: tuple[str, ...]
    reports: bool = False
    judge: tuple[str, ...] | None = None  # run untimed after the last repeat, reports figures
    once: bool = False  # too long to repeat, or the same every time


def job(function: str, **arguments: Any) -> tuple[str, ...]:
    """Build the command that runs ``module:function`` of `benchmarks.scenarios`."""
    return (sys.executable, "-m", "benchmarks.contestant", function, json.dumps(arguments))


def in_process(label: str, function: str, **arguments: Any) -> Contestant:
    """Return a contestant that runs a Python function; imports and data are prepared untimed."""
    return Contestant(label, job(function, **arguments), reports=True)


@dataclass
class Result:
    """The results of one contestant's repeats; seconds are empty if it could not run."""

    label: str
    seconds: list[float] = field(default_factory=list)
    peak_mb: float = float("nan")
    figures: Figures = field(default_factory=dict)
    problem: str = ""

    @property
    def best(self) -> float:
        """The fastest run."""
        return min(self.seconds, default=float("nan"))

    @property
    def median(self) -> float:
        """The median run."""
        return statistics.median(self.seconds) if self.seconds else float("nan")


Results = dict[str, Result]


@dataclass(frozen=True)
class Target:
    """A promise about a contest's results, checked in the same run."""

    promise: str
    value: Callable[[Results], float]
    at_least: float | None = None
    at_most: float | None = None

    def kept(self, value: float) -> bool:
        """Whether the value keeps the promise; an unknown value does not."""
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most


def speedup(ours: str, theirs: str) -> Callable[[Results], float]:
    """Return a function that computes the speed-up of ours over a peer."""
    return lambda results: results[theirs].best / results[ours].best


@dataclass(frozen=True)
class Contest:
    """Contestants that do the same work, and how to compare their times."""

    title: str
    contestants: list[Contestant]
    reference: str  # the label that the others' times are divided by
    cores: int = 1
    repeats: int = 5
    derive: Callable[[Result], Figures] = lambda result: {}
    targets: list[Target] = field(default_factory=list)


def run(contest: Contest, tell: Callable[[str], None]) -> Results:
    """Run every contestant once, then every one again, until all repeats are done."""
    results = {entry.label: Result(entry.label) for entry in contest.contestants}
    collected: dict[str, list[Figures]] = {label: [] for label in results}
    for repeat in range(contest.repeats):
        for entry in contest.contestants:
            result = results[entry.label]
            if result.problem or (entry.once and repeat > 0):
                continue
            last = entry.once or repeat == contest.repeats - 1
            tell(f"{contest.title}: {entry.label} ({repeat + 1}/{contest.repeats})")
            try:
                seconds, peak_mb, figures = _launch(
                    entry.command, contest.cores, repeat, entry.reports
                )
                if entry.reports:
                    seconds = figures.pop("seconds")
                if entry.judge and last:
                    _, _, judged = _launch(entry.judge, contest.cores, repeat)
                    figures |= {name: v for name, v in judged.items() if name != "seconds"}
            except ContestantError as error:
                results[entry.label] = Result(entry.label, problem=str(error))
                continue
            result.seconds.append(seconds)
            result.peak_mb = max(peak_mb, result.peak_mb)  # max ignores NaN in this order
            collected[entry.label].append(figures)
    for result in results.values():
        if result.seconds:
            result.figures = _means(collected[result.label])
            result.figures |= contest.derive(result)
    return results


class ContestantError(Exception):
    """A contestant that is not installed, or failed; the message is one line."""


def _launch(
    command: tuple[str, ...], cores: int, repeat: int, threads: bool = True
) -> tuple[float, float, Figures]:
    """Run one command to its end: wall time, peak memory in MB, and the figures it reports.

    ``threads`` sets how many threads its libraries may start. A program that is timed as a whole
    decides that for itself; it cannot leave the cores that it is pinned to.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        report = Path(folder) / "report.json"
        environment = os.environ | {"BENCHMARK_REPORT": str(report)}
        # Otherwise Python would compile the same modules again at every start.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if threads:
            environment |= {name: str(cores) for name in THREAD_VARIABLES}
        arguments = [part.replace(REPEAT, str(repeat)) for part in command]
        with _pinned(cores):
            start = time.perf_counter()
            try:
                process = subprocess.Popen(
                    arguments,
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            except FileNotFoundError:
                raise ContestantError(f"not installed: {command[0]}") from None
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has reaped the process
        if process.returncode:
            output.seek(0)
            last = output.read().decode(errors="replace").strip().splitlines()[-1:]
            raise ContestantError(last[0] if last else f"exit code {process.returncode}")
        figures = json.loads(report.read_text()) if report.exists() else {}
        kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
        return seconds, kilobytes / 1024, figures


@contextmanager
def _pinned(cores: int) -> Iterator[None]:
    """Pin this thread, and with it the children it starts, to the last cores of the machine."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _means(reports: list[Figures]) -> Figures:
    names = dict.fromkeys(name for report in reports for name in report)
    return {name: statistics.fmean(r[name] for r in reports if name in r) for name in names}

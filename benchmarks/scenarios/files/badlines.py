"""The cost of skipping one bad line in a hundred of a text table, start-up included."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.cache import FOLDER, cached
from benchmarks.contestant import Job
from benchmarks.runner import ROOT, Contest, Contestant, Figures, Result, Target, job, speedup
from benchmarks.scenarios.files.commands import MODELS, POLYAK

EVERY = 100
FIRST = 1000  # the rows from which types are inferred; a bad cell there would make the column text
NUMBERS = ("a", "b", "c", "d", "e", "f", "g", "h")
CLEAN, BAD = "clean", "1% bad lines"

Row = dict[str, Any]
SPOILED: dict[str, tuple[Callable[[str], str], ...]] = {
    "csv": (
        lambda line: "x" + line,  # no number
        lambda line: line + ",1",  # a field too many
        lambda line: line.rsplit(",", 3)[0],  # three too few
        lambda line: line.replace("w", "\xff"),  # not UTF-8, as written below
    ),
    "jsonl": (
        lambda line: line.replace(": ", ': "x', 1).replace(", ", '", ', 1),
        lambda line: line[:-9],  # cut off
        lambda line: line + " " + line,  # two rows on one line
        lambda line: line.replace("w", "\xff"),
    ),
}


def contests(name: str, quick: bool) -> list[Contest]:
    megabytes = 20 if quick else 100
    subprocess.run(job("badlines:make_files", megabytes=megabytes), check=True, cwd=ROOT)
    MODELS.mkdir(exist_ok=True)

    def throughput(result: Result) -> Figures:
        return {"MB/s": megabytes / result.best}

    return [
        Contest(
            title=f"{megabytes} MB of {form} to model, clean and with bad lines, two cores",
            contestants=[
                Contestant(label, _train(FOLDER / _name(megabytes, form, label)))
                for label in (CLEAN, BAD)
            ],
            reference=CLEAN,
            cores=2,
            repeats=3,
            derive=throughput,
            targets=[Target("times the clean file", speedup(CLEAN, BAD), at_most=2)],
        )
        for form in SPOILED
    ]


def _train(source: Path) -> tuple[str, ...]:
    options = ("--target", "y", "--recipe", "paper", "--skip-bad-lines", "--no-progress")
    options += ("--order", "as-is")
    return (POLYAK, "train", str(source), *options, "--model", str(MODELS / "badlines.polyak"))


def _name(megabytes: int, form: str, label: str) -> str:
    return f"{'spoiled' if label == BAD else 'clean'}-{megabytes}mb.{form}"


def make_files(megabytes: int) -> Job:
    def work() -> None:
        for form in SPOILED:
            for label in (CLEAN, BAD):
                cached(
                    _name(megabytes, form, label),
                    lambda path, form=form, bad=label == BAD: _write(
                        path, megabytes * 1_000_000, form, bad
                    ),
                )

    return work, dict


def _write(path: Path, size: int, form: str, bad: bool) -> None:
    """Write rows of numbers and two words; bad lines replace good ones."""
    kinds = SPOILED[form]
    with path.open("w", encoding="latin-1") as file:
        if form == "csv":
            file.write(",".join(next(_rows())) + "\n")
        for number, row in enumerate(_rows()):
            values = map(str, row.values())
            line = ",".join(values) if form == "csv" else json.dumps(row)
            if bad and number >= FIRST and number % EVERY == 0:
                line = kinds[number // EVERY % len(kinds)](line)
            file.write(line + "\n")
            if number % 1000 == 0 and file.tell() > size:
                return


def _rows() -> Iterator[Row]:
    rng = random.Random(0)
    while True:
        row: Row = {name: round(rng.gauss(0, 1), 4) for name in NUMBERS}
        row |= {"word": f"w{rng.randrange(50)}", "place": f"w{rng.randrange(2000)}"}
        yield row | {"y": int(row["a"] + row["b"] > 0)}

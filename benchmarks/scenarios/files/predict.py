"""From a text file and a model to a file of scores, start-up included, on two cores."""

from __future__ import annotations

import subprocess

from benchmarks.runner import Contest, Contestant, Figures, Result, Target, speedup
from benchmarks.scenarios.files.commands import (
    MODELS,
    files,
    predict_ours,
    predict_vw,
    train_ours,
    train_vw,
)

OURS, VW = "ours", "Vowpal Wabbit, -t"


def contests(name: str, quick: bool) -> list[Contest]:
    train, test = files(1000 if name == "predict-1gb" else 40 if quick else 180)
    ours, vw = MODELS / "predict.polyak", MODELS / "predict.vw"
    for command in train_ours(test, ours), train_vw(test.with_suffix(".vw"), vw):
        subprocess.run(command, capture_output=True)  # a failure shows as an absent contestant
    with open(train, "rb") as file:
        rows = sum(1 for _ in file)

    def rate(result: Result) -> Figures:
        return {"rows/s": rows / result.best}

    return [
        Contest(
            title=f"text to scores, {rows:,} rows, two cores, start-up included",
            contestants=[
                Contestant(OURS, predict_ours(ours, train, MODELS / "ours.scores.txt")),
                Contestant(VW, predict_vw(vw, train.with_suffix(".vw"), MODELS / "vw.scores.txt")),
            ],
            reference=OURS,
            cores=2,
            repeats=2 if quick else 5,
            derive=rate,
            targets=[Target("times as fast as VW", speedup(OURS, VW), at_least=6)],
        )
    ]

"""Vowpal Wabbit's own text to a model, start-up included, on two cores: we and VW itself."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Contestant, Figures, Result, Target, job, speedup
from benchmarks.scenarios.files.commands import (
    MODELS,
    files,
    predict_ours,
    train_ours,
    train_vw,
)
from benchmarks.scenarios.files.text import judge_scores

OURS, VW = "ours, VW text", "Vowpal Wabbit"


def contests(name: str, quick: bool) -> list[Contest]:
    train, test = files(40 if quick else 180)
    text = train.with_suffix(".vw")
    size = text.stat().st_size / 1e6

    def entry(label: str, command: tuple[str, ...], judge: str) -> Contestant:
        return Contestant(label, command, judge=job(judge, model=command[-1], test=str(test)))

    def throughput(result: Result) -> Figures:
        return {"MB/s": size / result.best}

    return [
        Contest(
            title=f"VW text to model, {size:.0f} MB, two cores, start-up included",
            contestants=[
                entry(OURS, train_ours(text, MODELS / "ours-vw.polyak"), "vw:judge_ours"),
                entry(
                    "ours, VW text, the race",
                    train_ours(text, MODELS / "race-vw.polyak", recipe="auto"),
                    "vw:judge_ours",
                ),
                entry(VW, train_vw(text, MODELS / "vw.model"), "text:judge_vw"),
                entry(
                    "ours, svmlight", train_ours(train, MODELS / "ours.polyak"), "text:judge_ours"
                ),
            ],
            reference=OURS,
            cores=2,
            repeats=2 if quick else 5,
            derive=throughput,
            targets=[Target(f"times as fast as {VW}", speedup(OURS, VW), at_least=3)],
        )
    ]


def judge_ours(model: str, test: str) -> Job:
    """Measure the error on the test file's rows as VW text."""
    data = Path(test).with_suffix(".vw")
    return judge_scores(predict_ours(Path(model), data, Path(model + ".scores.txt")), test)

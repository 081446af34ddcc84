"""From a text file to a model file, start-up included, on two cores."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cache import FOLDER
from benchmarks.contestant import Job
from benchmarks.runner import ROOT, Contest, Contestant, Figures, Result, Target, job, speedup
from benchmarks.scenarios.ours import ALPHA

OURS, VW, LIBLINEAR, SKLEARN = "ours", "Vowpal Wabbit", "LIBLINEAR", "load_svmlight_file + SGD"
# Promised at each size in MB: times as fast as VW, LIBLINEAR and scikit-learn.
PROMISES = {180: (4, 12, 25), 1000: (8, 25, 45)}


def contests(name: str, quick: bool) -> list[Contest]:
    megabytes = 1000 if name == "text-1gb" else 60 if quick else 180
    # In a process of its own: a child's peak memory starts from its parent's, so the parent of
    # the contestants stays small.
    subprocess.run(job("text:make_files", megabytes=megabytes), check=True, cwd=ROOT)
    train, test = (FOLDER / f"{part}-{megabytes}mb.svm" for part in ("train", "test"))
    models = FOLDER / "models"
    models.mkdir(exist_ok=True)

    def entry(label: str, command: list[str], model: Path, judge: str) -> Contestant:
        judged = job(f"text:{judge}", model=str(model), test=str(test))
        return Contestant(label, (*command, str(model)), judge=judged)

    python = [sys.executable, "-m"]
    size = train.stat().st_size / 1e6
    with open(train, "rb") as file:
        penalty = 1 / (ALPHA * sum(1 for _ in file))  # LIBLINEAR's C is 1 / (λ n)
    polyak = _beside_python("polyak")
    learn = f"train {train} --recipe paper --alpha {ALPHA} --no-progress --model".split()
    vw = f"vowpalwabbit -d {train.with_suffix('.vw')} --loss_function logistic --quiet -f"
    liblinear = f"-s 1 -e 1 -B 1 -c {penalty:.4f} -q {train}".split()
    contestants = [
        entry(OURS, [polyak, *learn], models / "ours.polyak", "judge_ours"),
        entry(VW, [*python, *vw.split()], models / "vw.model", "judge_vw"),
        _liblinear(entry, liblinear, train, penalty, models),
        entry(
            SKLEARN,
            [*python, "benchmarks.peers.sklearn_file", str(train), str(ALPHA)],
            models / "sklearn.npz",
            "judge_arrays",
        ),
        Contestant("a plain read (cat)", ("sh", "-c", f"cat {train} | cat > /dev/null")),
        Contestant("wc -l", ("wc", "-l", str(train))),
        Contestant("wc -w", ("wc", "-w", str(train))),
    ]

    def throughput(result: Result) -> Figures:
        return {"MB/s": size / result.best}

    rivals = zip((VW, LIBLINEAR, SKLEARN), PROMISES.get(megabytes, ()), strict=False)
    targets = [
        Target(f"times as fast as {rival}", speedup(OURS, rival), at_least=least)
        for rival, least in rivals
    ]
    if megabytes == 1000:
        seconds = speedup("wc -l", OURS)
        targets.append(Target("times the time of wc -l", seconds, at_most=4))
    return [
        Contest(
            title=f"text to model, {size:.0f} MB, two cores, start-up included",
            contestants=contestants,
            reference=OURS,
            cores=2,
            repeats=2 if megabytes == 1000 or quick else 5,
            derive=throughput,
            targets=targets,
        )
    ]


def _beside_python(command: str) -> str:
    """Find a command where this Python's scripts are, without following a link out of its venv."""
    return str(Path(sys.executable).parent / command)


def _liblinear(
    entry: Callable[..., Contestant], options: list[str], train: Path, C: float, models: Path
) -> Contestant:
    """LIBLINEAR's own program where the system has it; its Python package otherwise.

    The package reads a file in pure Python, line by line. It would be unfair to hold that against
    the library, so scikit-learn's compiled reader feeds it.
    """
    program = shutil.which("liblinear-train") or shutil.which("train-liblinear")
    if program:
        return entry(LIBLINEAR, [program, *options], models / "liblinear.model", "judge_liblinear")
    module = [sys.executable, "-m", "benchmarks.peers.liblinear_file", str(train), f"{C:.4f}"]
    return entry(LIBLINEAR, module, models / "liblinear.npz", "judge_arrays")


def make_files(megabytes: int) -> Job:
    from benchmarks.text_files import train_and_test

    return lambda: [train_and_test(megabytes, form) for form in ("svm", "vw")], dict


# -- judges: the error on the test file, not timed ------------------------------------------------


def _nothing() -> None:
    pass


def _error(scores: Any, test: str) -> Figures:
    import numpy as np

    with open(test, "rb") as file:
        y = np.array([float(line[:2]) for line in file])
    return {"test error": float(np.mean(np.asarray(scores) * y <= 0))}


def judge_ours(model: str, test: str) -> Job:
    def judge() -> Figures:
        command = [_beside_python("polyak"), "predict", model, test, "-o", model + ".scores"]
        subprocess.run(command, check=True, capture_output=True)
        return _error([float(line) for line in open(model + ".scores")], test)

    return _nothing, judge


def judge_vw(model: str, test: str) -> Job:
    def judge() -> Figures:
        scores = model + ".scores"
        data = test.removesuffix(".svm") + ".vw"
        options = f"--testonly --quiet -d {data} -i {model} -p {scores}".split()
        subprocess.run([sys.executable, "-m", "vowpalwabbit", *options], check=True)
        return _error([float(line) for line in open(scores)], test)

    return _nothing, judge


def judge_liblinear(model: str, test: str) -> Job:
    """Read LIBLINEAR's text model: six lines of header, then a weight a line, the bias last."""
    import numpy as np

    def judge() -> Figures:
        with open(model) as file:
            header = dict(
                line.rstrip("\n").split(" ", 1) for line in (next(file) for _ in range(5))
            )
            next(file)
            weights = np.loadtxt(file)
        first = float(header["label"].split()[0])  # weights speak for the first label
        return _error(first * _scores(weights[:-1], weights[-1], test), test)

    return _nothing, judge


def judge_arrays(model: str, test: str) -> Job:
    import numpy as np

    def judge() -> Figures:
        with np.load(model) as arrays:
            return _error(_scores(arrays["coef"], float(arrays["intercept"]), test), test)

    return _nothing, judge


def _scores(coef: Any, intercept: float, test: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    X, _ = load_svmlight_file(test, n_features=len(coef), zero_based=False)
    return X @ coef + intercept

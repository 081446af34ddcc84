"""From a text file to a model file, start-up included, on two cores."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import (
    Contest,
    Contestant,
    Figures,
    Result,
    Results,
    Target,
    job,
    speedup,
)
from benchmarks.scenarios.files.commands import (
    MODELS,
    files,
    predict_ours,
    predict_vw,
    train_ours,
    train_vw,
)
from benchmarks.scenarios.in_memory.ours import ALPHA

OURS, AUTO = "ours", "ours, auto"
VW, LIBLINEAR, SKLEARN = "Vowpal Wabbit", "LIBLINEAR", "load_svmlight_file + SGD"
# The target speed-up at each size in MB: over VW, LIBLINEAR and scikit-learn.
PROMISES = {180: (4, 12, 25), 1000: (8, 25, 45)}


def contests(name: str, quick: bool) -> list[Contest]:
    megabytes = 1000 if name == "text-1gb" else 40 if quick else 180
    train, test = files(megabytes)
    size = train.stat().st_size / 1e6
    slow = megabytes == 1000  # these two take half a minute and more

    def entry(label: str, command: tuple[str, ...], judge: str, once: bool = False) -> Contestant:
        # Every command names its model last.
        judged = job(f"text:{judge}", model=command[-1], test=str(test))
        return Contestant(label, command, judge=judged, once=once)

    sklearn = (sys.executable, "-m", "benchmarks.peers.sklearn_file", str(train), str(ALPHA))
    contestants = [
        entry(OURS, train_ours(train, MODELS / "ours.polyak"), "judge_ours"),
        entry(AUTO, train_ours(train, MODELS / "auto.polyak", "auto"), "judge_ours"),
        entry(VW, train_vw(train.with_suffix(".vw"), MODELS / "vw.model"), "judge_vw"),
        entry(LIBLINEAR, *_liblinear(train), once=slow),
        entry(SKLEARN, (*sklearn, str(MODELS / "sklearn.npz")), "judge_arrays", once=slow),
        Contestant("a plain read (cat)", ("sh", "-c", f"cat {train} | cat > /dev/null")),
        Contestant("wc -l", ("wc", "-l", str(train))),
        Contestant("wc -w", ("wc", "-w", str(train))),
    ]

    def throughput(result: Result) -> Figures:
        return {"MB/s": size / result.best}

    targets = [
        Target(f"times as fast as {rival}", speedup(OURS, rival), at_least=least)
        for rival, least in zip((VW, LIBLINEAR, SKLEARN), PROMISES.get(megabytes, ()), strict=False)
    ]
    targets.append(Target("cost of auto, times the plain pass", speedup(OURS, AUTO), at_most=1.5))
    targets.append(Target("log-loss of auto over Vowpal Wabbit's", _log_loss_ratio, at_most=1.0))
    if megabytes == 1000:
        targets.append(Target("times the time of wc -l", speedup("wc -l", OURS), at_most=4))
    return [
        Contest(
            title=f"text to model, {size:.0f} MB, two cores, start-up included",
            contestants=contestants,
            reference=OURS,
            cores=2,
            repeats=2 if quick else 5,
            derive=throughput,
            targets=targets,
        )
    ]


def _liblinear(train: Path) -> tuple[tuple[str, ...], str]:
    """LIBLINEAR's own program where the system has it; its Python package otherwise.

    The package reads a file in pure Python, line by line. It would be unfair to hold that against
    the library, so scikit-learn's compiled reader feeds it.
    """
    with open(train, "rb") as file:
        C = f"{1 / (ALPHA * sum(1 for _ in file)):.4f}"  # C is 1 / (λ n)
    program = shutil.which("liblinear-train")
    if program:
        options = ("-s", "1", "-e", "1", "-B", "1", "-c", C, "-q")
        return (program, *options, str(train), str(MODELS / "liblinear.model")), "judge_liblinear"
    module = (sys.executable, "-m", "benchmarks.peers.liblinear_file")
    return (*module, str(train), C, str(MODELS / "liblinear.npz")), "judge_arrays"


# -- judges: errors and losses on the test file, not timed ---------------------------------------


def judge_ours(model: str, test: str) -> Job:
    return judge_scores(predict_ours(Path(model), Path(test), Path(model + ".scores.txt")), test)


def judge_vw(model: str, test: str) -> Job:
    data = Path(test).with_suffix(".vw")
    return judge_scores(predict_vw(Path(model), data, Path(model + ".scores.txt")), test)


def judge_liblinear(model: str, test: str) -> Job:
    """Read LIBLINEAR's text model: six lines of header, then a weight a line, the bias last."""
    import numpy as np

    def judge() -> Figures:
        with open(model) as file:
            header = dict(next(file).split(maxsplit=1) for _ in range(5))
            next(file)
            weights = np.loadtxt(file)
        first = float(header["label"].split()[0])  # positive scores mean the first label
        return _error(first * _scores(weights[:-1], weights[-1], test), test)

    return _nothing, judge


def judge_arrays(model: str, test: str) -> Job:
    import numpy as np

    def judge() -> Figures:
        with np.load(model) as arrays:
            return _error(_scores(arrays["coef"], float(arrays["intercept"]), test), test)

    return _nothing, judge


def judge_scores(command: tuple[str, ...], test: str) -> Job:
    def judge() -> Figures:
        subprocess.run(command, check=True, capture_output=True)
        with open(command[-1]) as file:
            scores = [float(line) for line in file]
        return _error(scores, test) | _log_loss(scores, test)

    return _nothing, judge


def _log_loss_ratio(results: Results) -> float:
    ours, theirs = (results[label].figures.get("log-loss", math.nan) for label in (AUTO, VW))
    return ours / theirs


def _nothing() -> None:
    pass


def _error(scores: Any, test: str) -> Figures:
    import numpy as np

    return {"test error": float(np.mean(np.asarray(scores) * _labels(test) <= 0))}


def _log_loss(scores: Any, test: str) -> Figures:
    """Treat scores as log-odds, as those of the logistic loss are."""
    import numpy as np

    return {"log-loss": float(np.mean(np.logaddexp(0, -np.asarray(scores) * _labels(test))))}


def _labels(test: str) -> Any:
    import numpy as np

    with open(test, "rb") as file:
        return np.array([float(line[:2]) for line in file])


def _scores(coef: Any, intercept: float, test: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    X, _ = load_svmlight_file(test, n_features=len(coef), zero_based=False)
    return X @ coef + intercept

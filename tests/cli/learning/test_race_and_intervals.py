"""What ``train`` and ``inspect`` say of the race and of intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak, rows_of_text, write

from polyak.model.intervals import weight_interval
from polyak.model.linear import LinearModel


def test_the_summary_names_the_winner(train_file: Path, tmp_path: Path) -> None:
    options = ("--model", tmp_path / "m", "--recipe", "sgd")
    said = polyak("train", train_file, "-q", *options).stdout
    report = LinearModel.load(tmp_path / "m").report
    lines = {line[:20].strip(): line[20:].strip() for line in said.splitlines()}
    (winner,) = (line for line in said.splitlines() if line.startswith("winner"))
    assert f"averaged SGD, preconditioner {report.winner.precondition:g}, " in winner
    assert f"learning rate {report.winner.schedule.gamma0:.3g}, " in winner
    assert f"alpha {report.winner.alpha:.3g}" in winner
    assert "55 candidates, " in lines["race"]
    assert "at row 4,000" in lines["race"]
    assert f"{report.recent.loss:.6g} ± " in said
    found = json.loads(polyak("train", train_file, *options, "--json").stdout)
    assert found["winner"]["candidates"] == 55
    assert found["recent"]["loss_std_err"] > 0


def test_the_summary_says_that_newton_steps_won(train_file: Path, tmp_path: Path) -> None:
    said = polyak("train", train_file, "-q", "--model", tmp_path / "m").stdout
    report = LinearModel.load(tmp_path / "m").report
    assert f"block Newton steps, penalty {report.winner.penalty:g}" in said
    found = json.loads(polyak("train", train_file, "--model", tmp_path / "m", "--json").stdout)
    assert found["winner"]["method"] == "newton"
    assert found["winner"]["penalty"] == report.winner.penalty


def test_the_paper_has_no_race(train_file: Path, tmp_path: Path) -> None:
    options = ("-q", "--model", tmp_path / "m", "--recipe", "paper")
    assert "winner" not in polyak("train", train_file, *options).stdout
    done = polyak("inspect", tmp_path / "m", "--candidates").stdout
    assert "winner" in done.splitlines()[-1]


def test_candidates_are_listed(model_file: Path) -> None:
    lines = polyak("inspect", model_file, "--candidates").stdout.split("\n\n")[1].splitlines()
    assert len(lines) == 10  # the head, eight penalties and the constant
    assert lines[0].split()[:3] == ["rows", "loss", "method"]
    assert lines[1].split()[:2] == ["winner", "4,000"]
    words = [line.replace("running", "").split() for line in lines[2:]]
    rows = [int(word[0].replace(",", "")) for word in words]
    assert rows == sorted(rows, reverse=True)


def test_intervals_are_shown(train_file: Path, tmp_path: Path) -> None:
    # A hyperplane separates these classes: log_loss would have no finite optimum.
    options = ("-q", "--model", tmp_path / "m", "--intervals", "--loss", "squared_error")
    polyak("train", train_file, *options)
    low, high = weight_interval(LinearModel.load(tmp_path / "m"))
    found = json.loads(polyak("inspect", tmp_path / "m", "--json", "--top", 200).stdout)
    assert len(found["heaviest"]) > 10
    for one in found["heaviest"]:
        place = one["feature"] - 1
        assert (one["low"], one["high"]) == (low[place, 0], high[place, 0])
        assert one["excludes_zero"] == (one["low"] > 0 or one["high"] < 0)
    heads, first, _ = polyak("inspect", tmp_path / "m", "--top", 1).stdout.splitlines()[-3:]
    names = ["feature", "weight", "effect", "std", "err", "z", "p", "95%", "from", "to"]
    assert heads.split() == names
    assert first.split()[0] == "intercept"


@pytest.mark.slow
def test_intervals_of_several_classes(tmp_path: Path) -> None:
    source = write(tmp_path / "three.svm", rows_of_text(2000, labels=(1, 2, 5)))
    polyak("train", source, "-q", "--model", tmp_path / "m", "--intervals")
    sandwich = LinearModel.load(tmp_path / "m").sandwich
    assert sandwich is not None
    assert sandwich.covariance.shape[0] == 3
    assert np.isfinite(sandwich.covariance).all()
    said = polyak("inspect", tmp_path / "m", "--top", 2).stdout
    assert "sandwich covariance" in said
    assert said.splitlines()[-6].split()[:3] == ["feature", "class", "weight"]


def test_replicas_stay_for_hinge(tmp_path: Path) -> None:
    source = write(tmp_path / "two.svm", rows_of_text(2000))
    polyak("train", source, "-q", "--model", tmp_path / "m", "--intervals", "--loss", "hinge")
    model = LinearModel.load(tmp_path / "m")
    assert model.sandwich is None
    assert model.replicas is not None
    assert "replicas of averaged SGD" in polyak("inspect", tmp_path / "m").stdout


def test_intervals_that_cannot_be_trusted_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{1 if number % 300 == 0 else -1} "
        + " ".join(f"{place}:{value:.4f}" for place, value in enumerate(rng.normal(size=8), 1))
        + "\n"
        for number in range(1500)
    )
    source = write(tmp_path / "rare.svm", rows)
    options = ("-q", "--model", tmp_path / "m", "--loss", "log_loss")
    done = polyak("train", source, *options, "--intervals")
    assert done.stderr.count("too few of a class, for 9 weights") == 1
    assert "too few of a class" in polyak("inspect", tmp_path / "m").stderr
    polyak("report", tmp_path / "m", "-o", tmp_path / "m.html")
    assert "too few of a class" in (tmp_path / "m.html").read_text()
    assert "too few of a class" not in polyak("train", source, *options).stderr


def test_intervals_are_for_one_pass_of_the_race(train_file: Path, tmp_path: Path) -> None:
    command = ("train", train_file, "--model", tmp_path / "m", "--intervals")
    assert "one pass" in fails(*command, "--passes", 2, code=2)
    assert "--recipe auto" in fails(*command, "--recipe", "paper", code=2)


def test_every_summary_has_the_constants_loss_beside_ours(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=3000)
    data = tmp_path / "data.svm"
    rows = zip(y, X, strict=True)
    lines = (f"{t:.6f} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(x)) for t, x in rows)
    data.write_text("\n".join(lines) + "\n")
    options = ("--loss", "squared_error", "--model", tmp_path / "m")
    said = polyak("train", data, "-q", *options, "--report", tmp_path / "r.html").stdout
    recent = LinearModel.load(tmp_path / "m").report.recent
    assert recent.loss < 0.1 * recent.constant_loss
    for text in (said, polyak("inspect", tmp_path / "m").stdout):
        told = " ".join(text.split())
        assert f"loss on rows left out {recent.loss:.6g} ± " in told
        assert f"loss of a constant {recent.constant_loss:.6g} r2 {recent.r2:.6g} " in told
        assert "since first row" not in told  # which had no say in the choice
        assert "progressive loss" not in told
    assert "A constant" in (tmp_path / "r.html").read_text()
    measured = json.loads(polyak("evaluate", tmp_path / "m", data, "--json").stdout)
    assert abs(measured["constant_loss"] - 0.5 * y.var()) < 1e-3 * y.var()

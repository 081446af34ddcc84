"""The experiments, scaled down: they run, agree with themselves, and say what they found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from reproduction.claims import Claim
from reproduction.experiments import (
    asymptotics,
    schedules,
    second_order,
)
from reproduction.experiments.theory import largest_rate
from reproduction.figures import Figure, Panel, Series
from reproduction.report import Chapter, write_report
from reproduction.run import EXPERIMENTS, reproduce
from reproduction.tables import Table

OURS = ("schedules", "asymptotics", "theory", "second-order")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run the experiments on made-up data once, as small as they go."""
    folder = tmp_path_factory.mktemp("reproduction")
    return folder, reproduce(OURS, folder, scale=1e-4)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_everything_is_written(run):
    folder, claims = run
    names = set(files(folder))
    assert {"report.html", "claims.csv", "tables/schedules.csv"} <= names
    drawn = ("schedules", "asymptotics", "theory-terms", "theory-settings", "theory-rates")
    for figure in (*drawn, "second-order"):
        assert {f"figures/{figure}.{kind}" for kind in ("svg", "png", "csv")} <= names
    page = (folder / "report.html").read_text("utf-8")
    assert page.index("The claims") < page.index(schedules.TITLE)
    for claim in claims:
        assert claim.figure is not None
        assert f'href="#{claim.figure}"' in page
        assert page.count(f'id="{claim.figure}"') == 1
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "<script" not in page


@pytest.mark.slow
def test_a_second_run_agrees_and_computes_only_what_is_missing(run, tmp_path):
    folder, _ = run
    before = files(folder)
    shutil.copytree(folder, tmp_path / "again")
    gone = ("schedules-seeds0", "asymptotics-seed1", "theory-setting3-")
    for path in (tmp_path / "again" / "pieces").iterdir():
        if path.name.startswith(gone):
            path.unlink()
    computed = []
    reproduce(
        OURS,
        tmp_path / "again",
        scale=1e-4,
        done=lambda piece, was_there: None if was_there else computed.append(piece.name),
    )
    assert sorted(computed) == ["asymptotics-seed1", "schedules-seeds0", "theory-setting3"]
    after = files(tmp_path / "again")
    assert after.keys() == before.keys()
    for name, content in after.items():
        if name.startswith("pieces/"):  # these say how long they took
            assert json.loads(content)["result"] == json.loads(before[name])["result"]
        elif name == "run.json":  # so does this
            assert json.loads(content)["machine"] == json.loads(before[name])["machine"]
        else:
            assert content == before[name], name


def test_a_run_too_small_says_that_it_cannot_tell(run):
    _, claims = run
    assert None in {claim.holds for claim in claims}
    theorem = next(claim for claim in claims if "ThmLinearAvg" in claim.where)
    assert theorem.holds is True  # that one needs no scale


def test_the_scale_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="scale must be above zero"):
        reproduce(["schedules"], tmp_path, scale=0.0)


def test_every_experiment_is_there():
    assert set(OURS) <= set(EXPERIMENTS)


@pytest.mark.parametrize(("objective", "factor"), [("gradient 2A", 2.0), ("gradient A", 1.0)])
def test_schedules_agree_with_the_recursion_written_out(objective, factor):
    result = schedules.simulate(first=3, rows=300, seeds=1)
    random = np.random.default_rng([20111107, 3])
    x = random.standard_normal((schedules.BLOCK, 100))
    theta, total, risks = np.ones(100), np.zeros(100), []
    for t in range(1, 179):
        gradient = factor * schedules.CURVATURE * (theta - x[t - 1])
        theta = theta - (1 + 0.02 * t) ** (-2 / 3) * gradient
        total += theta
        if t in schedules.rows_before(178):
            risks.append((total / t) ** 2 @ schedules.CURVATURE)
    place = result["rows"].index(178)
    risks_here = result["risks"][objective]
    assert risks_here["ASGD"][place][0] == pytest.approx(np.mean(risks))
    mean = np.mean([x[:t].mean(0) ** 2 @ schedules.CURVATURE for t in schedules.rows_before(178)])
    assert risks_here["batch"][place][0] == pytest.approx(mean)


def test_what_holds_and_what_does_not_is_said_plainly(tmp_path):
    figure = Figure("f", "A <figure>", "Lines.", [Panel("", "x", "y", [Series("ASGD", [1], [2])])])
    (tmp_path / "figures").mkdir()
    figure.write(tmp_path / "figures")
    claims = [
        Claim("It is so.", "here", "1 < 2", True, "f"),
        Claim("It is otherwise.", "there", "2 > 1", False, "f"),
        Claim("Who knows.", "nowhere", "too small", None, "f"),
        Claim("It is so, but later.", "there", "at 20,000 rows", "weaker", "table-t"),
        Claim("It is so or not.", "there", "1.0 ± 0.9", "undecided", "f"),
    ]
    table = Table("t", "T", "Numbers.", ["a", "b"], [[1234, None], ["x", 0.5]])
    write_report([Chapter("c", "C", "About.", claims, [figure], [table])], tmp_path, 0.1)
    page = (tmp_path / "report.html").read_text("utf-8")
    words = "holds 1, holds later or weaker 1, does not hold 1, undecided 1, cannot be told 1."
    assert f"5 claims checked: {words}" in page
    assert page.index(">holds<") < page.index(">does not hold<") < page.index(">cannot be told<")
    assert '<a href="#table-t">Table A1</a>' in page
    assert 'id="table-t"' in page
    assert "Figure A1. A &lt;figure&gt;" in page
    assert "“clearly outperforms”" in page  # what words mean is on the page
    assert "A &lt;figure&gt;" in page
    assert "<td>1,234</td><td>–</td>" in page


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run the first two experiments whole."""
    folder = tmp_path_factory.mktemp("whole")
    claims = reproduce(["schedules", "asymptotics"], folder)
    results = {
        page["piece"]: page["result"]
        for page in (json.loads(path.read_bytes()) for path in (folder / "pieces").iterdir())
    }
    return claims, results


@pytest.mark.slow
def test_schedules_as_the_paper_has_them(whole):
    mine = {name: whole[1][f"schedules-seeds{name}"] for name in (0, 5)}
    for objective in schedules.OBJECTIVES:
        rows, means = schedules.ratios(mine, objective)
        ratio = {
            name: dict(zip(rows, (value.mean for value in values), strict=True))
            for name, values in means.items()
        }
        assert ratio["ASGD"][5623] <= 2.5
        assert ratio["ASGD"][1_000_000] <= 1.05
        assert ratio["ASGD_BAD"][10_000] >= 4
        assert min(ratio["SGD"].values()) >= 6


@pytest.mark.slow
def test_asymptotics_as_the_paper_has_them(whole):
    mine = {name: r for name, r in whole[1].items() if name.startswith("asymptotics")}
    rule, row_0 = (asymptotics.ratios(mine, n, "batch") for n in ("ASGD", asymptotics.FROM_ROW_0))
    assert rule[10_000].mean < 2.6 < 3.0 < row_0[10_000].mean < 4
    assert rule[1_000_000].mean <= 1.2
    sgd = asymptotics.ratios(mine, "SGD", "ASGD")
    assert min(ratio.mean for t, ratio in sgd.items() if t >= 31_623) > 10


def test_the_start_rule_beats_averaging_from_row_0_when_the_start_is_far():
    found = asymptotics.simulate(seed=0, rows=10_000)["risks"]
    assert found["ASGD"][-1] < found[asymptotics.FROM_ROW_0][-1] < found["SGD"][-1]


def test_the_rates_of_the_theory_experiment_diverge_on_one_side_only():
    result = largest_rate.rates(rows=500, runs=5)
    ends = dict(zip(result["shares"], (curve[-1] for curve in result["distances"]), strict=True))
    assert max(ends[share] for share in (1.0, 1.5, 1.9)) < 5 < min(ends[2.5], ends[3.0])


@pytest.mark.parametrize("condition", [1, 10_000])
def test_newton_steps_are_at_the_bound_whatever_the_condition(condition):
    runs = [second_order.simulate(condition, seed, 6000) for seed in range(3)]
    late = {name: np.mean([run["over"][name][-3:] for run in runs]) for name in runs[0]["over"]}
    assert late[second_order.NEWTON] < 1.6
    assert (late["ASGD"] < 2.0) == (condition == 1)

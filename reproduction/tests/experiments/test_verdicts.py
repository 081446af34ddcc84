"""Verdicts hang on standard errors, words on one table, and the page on a run's own files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reproduction.claims import VERDICTS
from reproduction.experiments import asymptotics, schedules
from reproduction.experiments.benchmark_claims import share_decides
from reproduction.experiments.theory import overtaking
from reproduction.page import BEGIN, END, keep, made, with_run
from reproduction.paired import Difference, difference, mean_of
from reproduction.run import EXPERIMENTS, reproduce
from reproduction.thresholds import THRESHOLDS

DOCS = Path(__file__).parents[3] / "docs"


def test_differences_are_paired():
    ours = np.array([0.10, 0.20, 0.30, 0.40])
    found = difference(
        ours, ours + np.array([0.011, 0.009, 0.010, 0.010])
    )  # clear, though orders differ
    assert found.word == "better"
    assert found.mean == pytest.approx(-0.01)
    assert found.error == pytest.approx(np.std([11, 9, 10, 10], ddof=1) / 2 / 1000)
    assert difference(ours, ours[::-1]).word == "ties"
    assert difference([0.1, 0.1], [0.1, 0.1]).word == "ties"
    assert difference([0.3], [0.1]).word == "ties"  # one order tells nothing


def test_who_diverged_lost():
    assert difference([0.1, 0.1], [None, 0.1]).word == "better"
    assert difference([None, None], [0.1, 0.1]).word == "worse"


def test_a_mean_near_its_limit_is_undecided():
    assert mean_of([1.8, 1.9, 1.7]).below(2.0) is True
    assert mean_of([2.4, 1.9, 1.9]).below(2.0) == "undecided"
    assert mean_of([2.4, 2.5, 2.6]).below(2.0) is False


def test_ties_leave_a_majority_undecided():
    assert share_decides(5, 0, 9, 0.5) is True
    assert share_decides(4, 1, 9, 0.5) == "undecided"
    assert share_decides(3, 1, 9, 0.5) is False


ROWS = [1000, 10_000, 100_000, 1_000_000]


def differences(means):
    return [Difference(mean, 0.01) for mean in means]


@pytest.mark.parametrize(
    ("asgd", "verdict"),
    [
        ([5.0, 1.5, 1.0, 1.0], "holds"),
        ([5.0, 2.01, 1.0, 1.0], "undecided"),
        ([5.0, 2.5, 1.0, 1.0], "holds later or weaker"),
        ([5.0, 2.5, 2.5, 2.5], "does not hold"),
    ],
)
def test_a_few_thousands(asgd, verdict):
    assert VERDICTS[schedules.within(ROWS, differences(asgd))] == verdict


@pytest.mark.parametrize(
    ("bad", "asgd", "verdict"),
    [
        ([50.0, 20.0, 5.0, 1.5], [1.0] * 4, "holds"),
        ([50.0, 20.0, 5.0, 3.0], [1.0] * 4, "holds later or weaker"),
        (
            [50.0, 5.0, 1.5, 1.1],
            [1.0] * 4,
            "holds later or weaker",
        ),  # fewer, yet far more than ASGD
        ([50.0, 1.5, 1.2, 1.1], [5.0, 1.0, 1.0, 1.0], "does not hold"),
        ([50.0, 20.0, 2.01, 1.1], [1.0] * 4, "undecided"),
    ],
)
def test_hundreds_of_thousands(bad, asgd, verdict):
    values = {"ASGD": differences(asgd), "ASGD_BAD": differences(bad)}
    when = schedules.reached(ROWS, values)
    assert VERDICTS[schedules.not_before(ROWS, values["ASGD_BAD"], when)] == verdict


@pytest.mark.parametrize(
    ("sgd", "verdict"),
    [
        ([5.0, 9.0, 12.0, 20.0], "holds"),  # as late as ASGD may be close to batch
        ([5.0, 12.0, 10.01, 20.0], "undecided"),
        ([5.0, 12.0, 8.0, 20.0], "holds later or weaker"),
        ([5.0, 12.0, 12.0, 8.0], "does not hold"),
    ],
)
def test_more_than_ten_times(sgd, verdict):
    ratios = dict(zip([1000, 10_000, 31_623, 1_000_000], differences(sgd), strict=True))
    assert VERDICTS[asymptotics.remains(ratios)] == verdict


@pytest.mark.parametrize(
    ("near", "far", "verdict"),
    [
        ([0.4, 0.04], [3.0, 9.0], "holds"),
        ([0.4, 0.04], [320.0, None], "holds later or weaker"),
        ([0.4, 20.0], [3.0, 9.0], "does not hold"),
    ],
)
def test_when_the_average_overtakes(near, far, verdict):
    assert VERDICTS[overtaking._in_time(near, far)] == verdict


@pytest.mark.slow
def test_every_claim_is_a_sentence_of_the_paper(tmp_path):
    drawn = [name for name in EXPERIMENTS if name != "benchmarks"]
    claims = reproduce(drawn, tmp_path, scale=1e-4)
    assert len(claims) > 20
    for claim in claims:
        assert re.search("“.+”", claim.text), claim.text
        assert claim.where.startswith(("section", "appendix")), claim.where
        assert claim.figure


def test_every_threshold_gives_its_words_and_its_reason():
    for threshold in THRESHOLDS.values():
        assert "“" in threshold.words
        assert threshold.where.startswith("section")
        assert threshold.meaning
        assert threshold.reason


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    reproduce(["schedules"], folder, scale=1e-4)
    return folder


def test_the_page_is_made_by_a_command(run, tmp_path):
    page = tmp_path / "paper.md"
    page.write_text(f"# By hand\n\n{BEGIN}\nSTALE\n{END}\n\nand after\n")
    command = [sys.executable, "-m", "reproduction.page", str(run), str(page)]
    subprocess.run(command, check=True)
    text = page.read_text("utf-8")
    assert text.startswith("# By hand")
    assert text.endswith("and after\n")
    assert "STALE" not in text
    assert "“it takes only a few thousands example" in text
    assert "**Figure 1. ASGD with the proposed learning rate" in text
    assert "(paper/figures/schedules.svg)" in text
    kept = tmp_path / "paper"
    for name in ("figures/schedules.svg", "figures/schedules.csv", "tables/schedules.csv"):
        assert (kept / name).is_file()
    assert not (kept / "pieces").exists()
    assert with_run(text, tmp_path / "paper") == text  # once more changes nothing


def test_a_changed_number_changes_the_page(run, tmp_path):
    keep(run, tmp_path)
    before = made(tmp_path)
    claims = tmp_path / "claims.csv"
    claims.write_text(claims.read_text("utf-8").replace("cannot be told", "holds", 1), "utf-8")
    assert made(tmp_path) != before
    assert "## Holds" in made(tmp_path)


def test_the_documentations_page_is_that_of_the_run_kept_beside_it():
    page = DOCS / "reproduction.md"
    text = page.read_text("utf-8")
    assert with_run(text, page.with_suffix("")) == text
    assert any(f"## {v[0].upper()}{v[1:]}" in text for v in VERDICTS.values())


def test_every_claim_of_the_page_is_linked_to_what_it_rests_on():
    text = (DOCS / "reproduction.md").read_text("utf-8")
    links = re.findall(r"\[((?:Figure|Table)[^\]]*)\]\(#([\w-]+)\) \|$", text, re.MULTILINE)
    assert len(links) == sum(line.startswith("| “") and "](#" in line for line in text.splitlines())
    for number, name in links:  # it goes where the number stands
        assert f'<a id="{name}"></a>**{number}. ' in text


def test_what_is_kept_says_nothing_of_whose_machine_it_was():
    told = (DOCS / "reproduction" / "run.json").read_text("utf-8")
    assert "cores" in told
    for path in (DOCS / "reproduction").rglob("*.*"):
        content = path.read_bytes()
        assert b"/home/" not in content
        assert b"/tmp/" not in content
        assert len(content) < 500_000, path

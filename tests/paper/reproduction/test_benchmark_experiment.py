"""The benchmarks at a tiny scale: every set, loss and algorithm, to the claims and figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyak.paper.datasets import PAPER_SETS, load_benchmark
from polyak.paper.reproduction.experiments.benchmark_claims import after_one_pass, claims
from polyak.paper.reproduction.experiments.benchmark_figures import figures
from polyak.paper.reproduction.experiments.benchmark_tables import tables
from polyak.paper.reproduction.experiments.benchmarks import pieces, run_set
from polyak.paper.reproduction.experiments.contest import (
    ALGORITHMS,
    MARKS,
    PAPERS,
    _median,
    compete,
    measure,
)
from polyak.paper.reproduction.run import reproduce


@pytest.fixture(scope="module")
def results():
    """Every piece; of those with three losses only dna's is computed, and lent to the others.

    Nowhere is a folder without real sets.
    """
    planned = [
        replace(p, parameters=p.parameters | {"orders": 1}) for p in pieces(0.0005, "/nowhere")
    ]
    found = {
        p.name: p.function(**p.parameters)
        for p in planned
        if p.alone or p.parameters["name"] == "dna"
    }
    for p in planned:
        name = p.parameters["name"]
        about = {"name": name, "title": f"{name} (stand-in)"}
        lent = found["benchmarks-losses-dna-stand-in"]
        found.setdefault(p.name, {**lent, "about": {**lent["about"], **about}})
    return {p.name: found[p.name] for p in planned}


def test_medians_over_orders():
    data = load_benchmark("alpha", "/nowhere", scale=0.003)
    found = compete(data, "squared_hinge", ("SGD2",), orders=3)
    runs = [run["SGD2"]["cost"] for run in found["orders"]]
    assert len(runs) == 3
    assert runs[0] != runs[1] != runs[2]
    np.testing.assert_array_equal(found["curves"]["SGD2"]["cost"], np.median(runs, axis=0))
    # The first order is the rows as they stand.
    alone = compete(data, "squared_hinge", ("SGD2",))
    assert alone["curves"]["SGD2"]["cost"] == runs[0]


def test_what_diverged_is_worse_than_any_number():
    run = {"passes": [1.0], "error": [0.1], "cost": [0.1]}
    lost = {"passes": [1.0], "error": [None], "cost": [None]}
    assert _median([run, lost, run])["error"] == [0.1]
    assert _median([run, lost, lost])["cost"] == [None]


def test_every_set_has_its_piece(results):
    assert len(results) == 13  # delta twice: with its time, and with three losses
    assert {result["about"]["name"] for result in results.values()} == set(PAPER_SETS)
    assert all("-stand-in" in name for name in results)
    alone = {p.name for p in pieces(1.0, "/nowhere") if p.alone}
    assert alone == {
        f"benchmarks-time-{n}-stand-in" for n in ("covtype", "delta", "rcv1", "mnist9")
    }


def test_all_algorithms_are_measured_at_all_marks(results):
    for result in results.values():
        for loss, found in result["losses"].items():
            expected = [a for a in ALGORITHMS if (a, loss) != ("LIBLINEAR", "log_loss")]
            assert list(found["curves"]) == expected
            for name, curve in found["curves"].items():
                assert curve["passes"][-1] == 2.0
                assert 1.0 in curve["passes"]
                assert len(curve["passes"]) == (2 if name == "LIBLINEAR" else len(MARKS))
                assert len(curve["error"]) == len(curve["cost"]) == len(curve["passes"])
                seconds = result["timings"][loss][name]
                assert seconds == sorted(seconds) or name == "LIBLINEAR"
                assert all(value is None or 0 <= value <= 1 for value in curve["error"])
    assert "seconds" not in results["benchmarks-time-delta-stand-in"]["losses"]["squared_hinge"]


def test_stand_ins_are_marked_everywhere(results):
    for figure in figures(results):
        assert "stand-in" in figure.name
        assert all("(stand-in)" in panel.title for panel in figure.panels)
        assert "not the real set" in figure.caption
    for table in tables(results):
        assert all("(stand-in)" in row[0] for row in table.rows)
    sets = next(table for table in tables(results) if table.name == "benchmarks-sets")
    assert [row[0] for row in sets.rows] == [f"{name} (stand-in)" for name in PAPER_SETS]
    assert all(len(row) == len(sets.heads) for row in sets.rows)


def test_claims_name_their_figures_and_numbers(results):
    found = claims(results)
    names = {figure.name for figure in figures(results)}
    assert {claim.figure for claim in found} - {None} <= names
    assert all(any(letter.isdigit() for letter in claim.measured) for claim in found)
    assert {claim.holds for claim in found} <= {True, False}


def curves_of(**errors):
    return {
        name: {"passes": [0.5, 1.0, 2.0], "error": error, "cost": error}
        for name, error in errors.items()
    }


def invented(asgd, others, name="covtype", form="real"):
    """A result of a set on which ASGD and the others had these errors."""
    curves = curves_of(ASGD=asgd, **dict.fromkeys(PAPERS[1:], others))
    seconds = {rival: [0.1, 0.2, 0.4] for rival in PAPERS} | {"oLBFGS": [1.0, 2.0, 4.0]}
    return {
        "about": {"name": name, "form": form, "title": name, "rows": 1},
        "losses": {"squared_hinge": {"curves": curves, "orders": [curves], "start": 100}},
        "timings": {"squared_hinge": seconds},
    }


@pytest.mark.parametrize("better", [True, False])
def test_claims_follow_the_numbers(better):
    low, high = [0.1, 0.1, 0.1], [0.3, 0.2, 0.3]
    result = invented(low, high) if better else invented(high, low)
    verdicts = {claim.text.split()[0]: claim.holds for claim in claims({"b-time-x": result})}
    assert verdicts == {
        "covtype:": better,  # the cost
        "ASGD": better,  # the most accurate
        "For": better,  # one pass is enough
        "The": better,  # steadier
        "A": True,  # as fast as others, and faster than oLBFGS
    }


def test_what_diverged_is_no_winner():
    curves = curves_of(ASGD=[0.1, 0.2, 0.2], SGD2=[0.1, None, None])
    assert after_one_pass(curves, "error") == {"ASGD": 0.2}


def test_measuring_by_hand():
    data = load_benchmark("covtype", "/nowhere", scale=0.001)

    class Model:
        coef_ = np.full((1, 54), 0.1)

    scores = data.X_test.astype(float) @ np.full(54, 0.1)
    error, cost = measure(Model(), data, "squared_hinge")
    assert error == np.mean(np.sign(scores) != data.y_test)
    by_hand = np.mean(0.5 * np.maximum(0, 1 - data.y_test * scores) ** 2) + 1e-6 / 2 * 54 * 0.01
    assert cost == pytest.approx(by_hand, rel=1e-6)


def test_two_passes_in_parts_are_two_passes():
    """Measuring in between changes nothing: the end is that of whole passes."""
    from polyak import ASGDClassifier

    data = load_benchmark("alpha", "/nowhere", scale=0.005)
    found = compete(data, "hinge", ("ASGD",))["curves"]["ASGD"]
    model = ASGDClassifier(
        loss="hinge", alpha=data.paper.alpha, recipe="paper", fit_intercept=False
    )
    for passes in (1.0, 2.0):
        model.partial_fit(data.X, data.y, classes=[-1.0, 1.0])
        at = found["passes"].index(passes)
        assert (found["error"][at], found["cost"][at]) == measure(model, data, "hinge")


def test_two_runs_agree():
    def run():
        result = run_set("dna", "stand-in", None, 0.001, ("squared_hinge",), 2)
        del result["timings"]
        return result

    assert run() == run()


@pytest.mark.slow
def test_from_the_command_to_the_page(tmp_path):
    reproduce(["benchmarks"], tmp_path, data="/nowhere", scale=0.0005)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "delta (stand-in)" in page
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"benchmarks-covtype-stand-in.png", "benchmarks-losses-2-stand-ins.svg"} <= drawn
    assert (tmp_path / "tables" / "benchmarks-costs.csv").read_text().count("\n") == 31

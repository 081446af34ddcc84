"""The benchmarks at a tiny scale: every set, loss and algorithm, to the claims and figures."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.sparse import issparse

from reproduction.datasets import MORE_SETS, PAPER_SETS, load_benchmark, stand_in
from reproduction.experiments import contest
from reproduction.experiments.benchmark_claims import claims
from reproduction.experiments.benchmark_figures import figures
from reproduction.experiments.benchmark_results import Contest, contests_of
from reproduction.experiments.benchmark_tables import tables
from reproduction.experiments.benchmarks import pieces, run_set, time_set
from reproduction.experiments.contest import (
    ALGORITHMS,
    LOSSES,
    MARKS,
    NEAR,
    PAPERS,
    _median,
    compete,
    measure,
)
from reproduction.run import reproduce

real_data = pytest.mark.skipif("POLYAK_DATA" not in os.environ, reason="POLYAK_DATA is not set")


@pytest.fixture(scope="module")
def results():
    """Every piece; only dna's is computed, and lent to the others. Nowhere has no real sets."""
    planned = pieces(0.0005, "/nowhere")
    learned = run_set("dna", "stand-in", None, 0.002, LOSSES, 2)
    clock = time_set("dna", "stand-in", None, 0.0005)
    found = {}
    for p in planned:
        name = p.parameters["name"]
        lent = clock if p.alone else learned
        about = {"name": name, "title": f"{name} (stand-in)", "precision": name == "dna"}
        found[p.name] = {**lent, "about": {**lent["about"], **about}}
    return found


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
    contests = {p.parameters["name"]: p for p in pieces(None, "/nowhere") if not p.alone}
    assert set(contests) == set(PAPER_SETS)  # the others have no stand-ins
    assert all(p.parameters["losses"] == LOSSES for p in contests.values())
    assert all("-stand-in" in name for name in results)
    alone = {p.name for p in pieces(1.0, "/nowhere") if p.alone}
    assert alone == {
        f"benchmarks-time-{n}-stand-in" for n in ("covtype", "delta", "rcv1", "mnist9")
    }


def test_sizes_by_default_and_by_scale():
    shares = {p.parameters["name"]: p.parameters["share"] for p in pieces(None, "/nowhere")}
    for name, share in shares.items():
        assert share == (1.0 if PAPER_SETS[name].n_features <= 500 else 0.05)
    larger = {p.parameters["name"]: p.parameters["share"] for p in pieces(0.3, "/nowhere")}
    assert larger == {name: 1.0 if share == 1.0 else 0.3 for name, share in shares.items()}
    assert {p.parameters["share"] for p in pieces(0.01, "/nowhere")} == {0.01}


def test_sets_are_chosen_by_name():
    chosen = pieces(0.1, "/nowhere", ["dna", "alpha"])
    assert [p.name for p in chosen] == ["benchmarks-alpha-stand-in", "benchmarks-dna-stand-in"]
    with pytest.raises(ValueError, match="there is no set 'iris'"):
        pieces(0.1, "/nowhere", ["iris"])


@real_data
def test_real_sets_come_first_and_in_more_orders():
    found = [p for p in pieces(0.1, os.environ["POLYAK_DATA"]) if not p.alone]
    names = [p.parameters["name"] for p in found]
    assert set(MORE_SETS) <= set(names)
    orders = [p.parameters["orders"] for p in found]
    assert orders == sorted(orders, reverse=True)
    assert {p.parameters["share"] for p in found if p.parameters["form"] != "stand-in"} == {1.0}


@real_data
def test_covtype_is_sparse_as_in_the_papers_table():
    data = load_benchmark("covtype", real_scale=0.001)
    assert issparse(data.X)
    assert issparse(data.X_test)


def test_all_algorithms_are_measured_at_all_marks(results):
    for result in results.values():
        if "losses" not in result:
            assert set(result["timings"]) == set(ALGORITHMS)
            continue
        for loss, found in result["losses"].items():
            expected = [a for a in ALGORITHMS if (a, loss) != ("LIBLINEAR", "log_loss")]
            assert list(found["curves"]) == expected
            assert set(found["skipped"]) == set(ALGORITHMS) - set(expected)
            for name, curve in found["curves"].items():
                assert curve["passes"][-1] == 2.0
                assert 1.0 in curve["passes"]
                assert len(curve["passes"]) == (2 if name == "LIBLINEAR" else len(MARKS))
                assert len(curve["error"]) == len(curve["cost"]) == len(curve["passes"])
                assert all(value is None or 0 <= value <= 1 for value in curve["error"])


def test_stand_ins_are_marked_everywhere(results):
    for figure in figures(results):
        assert "stand-in" in figure.name
        assert all("(stand-in)" in panel.title for panel in figure.panels)
        assert "not the real set" in figure.caption
    for table in tables(results):
        assert all("(stand-in)" in row[0] for row in table.rows)
        assert all(len(row) == len(table.heads) for row in table.rows)
    sets = next(table for table in tables(results) if table.name == "benchmarks-sets")
    assert [row[0] for row in sets.rows] == [f"{name} (stand-in)" for name in PAPER_SETS]


def test_every_table_of_results_has_both_decays_and_the_default_recipe(results):
    for table in tables(results):
        if table.name != "benchmarks-sets":
            assert {NEAR, "auto"} <= set(table.heads)


def test_figures_have_the_papers_numbers(results):
    numbers = [figure.paper for figure in figures(results)]
    assert numbers == [*(f"Figure 3{letter}" for letter in "abcd"), "Figure 4", "Figure 5", None]


def test_claims_are_sentences_of_the_paper_and_name_what_shows_them(results):
    found = claims(results)
    names = {f"table-{table.name}" for table in tables(results)}
    assert {claim.figure for claim in found} <= names
    assert all(claim.text.startswith("“") and claim.text.endswith("”") for claim in found)
    assert all(any(letter.isdigit() for letter in claim.measured) for claim in found)


def invented(asgd, others, name="covtype", form="real", orders=3):
    """A result of a set on which ASGD and the others had these errors, give or take a little."""
    runs = []
    for order in range(orders):
        errors = dict.fromkeys(PAPERS, others) | {"ASGD": asgd}
        runs.append(
            {
                rival: {
                    "passes": [0.5, 1.0, 2.0],
                    "error": [value + 0.0001 * order for value in values],
                    "cost": list(values),
                }
                for rival, values in errors.items()
            }
        )
    seconds = {rival: [0.1, 0.2, 0.4] for rival in PAPERS} | {"oLBFGS": [1.0, 2.0, 4.0]}
    curves = {rival: _median([run[rival] for run in runs]) for rival in PAPERS}
    found = {"curves": curves, "orders": runs, "start": 100, "skipped": {}, "lambda0": 1e-3}
    return {
        "b": {
            "about": {"name": name, "form": form, "title": name, "rows": 1},
            "losses": {"hinge": found},
            "timings": {"hinge": seconds},
        },
        "b-time": {
            "about": {"name": name, "form": form, "title": name, "rows": 1},
            "timings": {rival: values[1] for rival, values in seconds.items()},
        },
    }


@pytest.mark.parametrize("better", [True, False])
def test_claims_follow_the_numbers(better):
    low, high = [0.1, 0.1, 0.1], [0.3, 0.2, 0.3]
    results = invented(low, high) if better else invented(high, low)
    verdicts = {claim.text.split()[0]: claim.holds for claim in claims(results)}
    assert verdicts == {
        "“ASGD": better,  # the most accurate, and good with the hinge
        "“for": better,  # one pass is enough
        "“the": "undecided",  # steadier? one contest has no standard error
        "“In": True,  # as fast as others, and faster than oLBFGS
        "“which": better,  # sooner there
    }


def test_a_tie_is_undecided():
    same = [0.2, 0.2, 0.2]
    verdict = next(c for c in claims(invented(same, same)) if "clearly" in c.text)
    assert verdict.holds == "undecided"
    assert "ties with the best in 1" in verdict.measured


def test_rare_classes_are_judged_by_average_precision():
    from sklearn.metrics import average_precision_score

    data = load_benchmark("dna", "/nowhere", scale=0.002)

    class Model:
        coef_ = np.random.default_rng(0).normal(size=(1, 800))

    scores = data.X_test @ Model.coef_[0].astype(np.float32)
    error, _ = measure(Model(), data, "hinge")
    assert error == pytest.approx(1 - average_precision_score(data.y_test > 0, scores))


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


def test_contests_know_their_orders(results):
    contest = contests_of(results["benchmarks-dna-stand-in"])[0]
    assert len(contest.values("ASGD")) == 2
    assert contest.rivals == list(PAPERS[1:])


def test_stand_ins_come_from_several_kinds_of_generator():
    def eigenvalues(name):
        (X, _), _ = stand_in(name, 4000, 1)
        return np.linalg.eigvalsh(np.cov(X.T.astype(float)))[::-1]

    factors, slow = eigenvalues("alpha"), eigenvalues("delta")
    assert factors[50] / factors[400] < 3
    # As 1/k: the fiftieth over the four hundredth is eight, give or take what 4000 rows tell.
    assert 6 < slow[49] / slow[399] < 16
    (X, _), _ = stand_in("zeta", 1500, 1)
    steep = np.linalg.eigvalsh(X @ X.T.astype(float))[::-1]
    assert steep[1] / steep[40] > 200  # as 1/k²
    (X, _), _ = stand_in("gamma", 4000, 1)
    lengths = np.linalg.norm(X, axis=1)
    assert lengths.max() > 4 * np.median(lengths)  # heavy tails


@pytest.mark.slow
def test_from_the_command_to_the_page(tmp_path):
    reproduce(["benchmarks"], tmp_path, data="/nowhere", scale=0.0005, sets=["covtype", "dna"])
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "covtype (stand-in)" in page
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"benchmarks-covtype-stand-in.png", "benchmarks-losses-2-stand-ins.svg"} <= drawn
    assert (tmp_path / "tables" / "benchmarks-costs.csv").read_text().count("\n") == 7


def test_reading_a_model_before_its_sample_is_whole_is_learning(monkeypatch):
    data = load_benchmark("alpha", "/nowhere", scale=0.001)
    monkeypatch.setattr(contest, "_timed", lambda work: work() is None or 1.0)
    found = contest.compete(data, "squared_hinge", ("oLBFGS",))
    # One more for reading it, which does not add up; and one where a mark crosses a pass.
    assert found["seconds"]["oLBFGS"] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_a_stand_in_that_was_made_so_proves_nothing(results):
    claim = next(c for c in claims(results) if "beta" in c.text)
    assert claim.verdict == "cannot be told"
    assert "a stand-in that was made so" in claim.measured


def test_time_and_movement_of_curves():
    curves = {"ASGD": [0.3, 0.2, 0.1], "SGD2": [0.2, 0.101, 0.1], "Pegasos": [None, None, None]}
    seconds = {name: [1.0, 2.0, 3.0] for name in curves}
    found = {name: {"passes": [0.5, 0.75, 1.0], "error": errors} for name, errors in curves.items()}
    both = Contest({}, "hinge", {"curves": found, "orders": [found, found]}, seconds)
    assert both.near_the_best_of("SGD2") == (3.0, 2.0)  # 0.101 is near 0.1
    assert both.near_the_best_of("Pegasos") is None
    assert both.movement("ASGD") == pytest.approx(0.1)
    assert both.movement("Pegasos") is None


def test_claims_link_to_tables_that_are_there(results):
    shown = {f"table-{table.name}" for table in tables(results)}
    assert {claim.figure for claim in claims(results)} <= shown

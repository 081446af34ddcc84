"""The harness runs, reports and survives what is absent; nothing here looks at a time."""

import io
import sys

import numpy as np
import pytest
from benchmarks.runner import Contest, Contestant, Result, Target, in_process, run, speedup
from benchmarks.text_files import lines
from sklearn.datasets import load_svmlight_file

from reproduction.datasets import rcv1_like

pytestmark = pytest.mark.slow


def contest(*contestants, **options):
    return Contest("test", list(contestants), contestants[0].label, repeats=2, **options)


def quiet(message):
    pass


def test_printed_rows_are_the_rows():
    rows, y = rcv1_like(300, 2000, 30)
    text = lines(rows.indptr, rows.indices, rows.values, y, "svm")
    X, labels = load_svmlight_file(io.BytesIO(text), n_features=2000, zero_based=False)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(X.indices, rows.indices)
    np.testing.assert_allclose(X.data, rows.values, atol=6e-7)


def test_vw_gets_the_same_rows_with_a_namespace():
    rows, y = rcv1_like(50, 2000, 30)
    parts = rows.indptr, rows.indices, rows.values, y
    svm, vw = (lines(*parts, form).decode().splitlines() for form in ("svm", "vw"))
    assert [line.replace("| ", "", 1) for line in vw] == svm
    assert all(line.startswith(("1 | ", "-1 | ")) for line in vw)


def test_a_command_is_timed_each_repeat():
    results = run(contest(Contestant("python", (sys.executable, "-c", "pass"))), quiet)
    assert len(results["python"].seconds) == 2
    assert results["python"].peak_mb > 0


def test_what_is_absent_or_fails_is_named_and_the_others_run():
    results = run(
        contest(
            Contestant("nowhere", ("no-such-command",)),
            Contestant("broken", (sys.executable, "-c", "raise SystemExit('it broke')")),
            Contestant("python", (sys.executable, "-c", "pass")),
        ),
        quiet,
    )
    assert results["nowhere"].problem == "not installed: no-such-command"
    assert results["broken"].problem == "it broke"
    assert results["python"].seconds


def test_a_job_reports_the_seconds_of_its_work_and_its_figures():
    job = in_process("sum", "dense:total", rows=100, width=10)
    results = run(contest(job, derive=lambda result: {"rows": 100.0}), quiet)
    assert len(results["sum"].seconds) == 2
    assert results["sum"].figures == {"rows": 100.0}


def test_a_contestant_may_run_once():
    once = Contestant("once", (sys.executable, "-c", "pass"), once=True)
    assert len(run(contest(once), quiet)["once"].seconds) == 1


def test_a_promise_about_something_absent_is_not_kept():
    results = {"ours": Result("ours", [1.0, 2.0]), "theirs": Result("theirs", [3.0])}
    target = Target("times as fast", speedup("ours", "theirs"), at_least=2.5)
    assert target.kept(target.value(results))
    results["theirs"] = Result("theirs", problem="absent")
    assert not target.kept(target.value(results))


def test_a_probe_that_cannot_run_is_unknown():
    from benchmarks.scenarios.in_memory.probes import contests

    for each in contests("probes", quick=False):
        absent = {
            c.label: Result(c.label, problem="No module named 'torch'") for c in each.contestants
        }
        assert all(np.isnan(target.value(absent)) for target in each.targets)

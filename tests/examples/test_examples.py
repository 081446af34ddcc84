"""Every example runs as its first lines say, at the size it has by default."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def example(monkeypatch, capfd, tmp_path):
    """Run an example and give what it printed."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capfd.readouterr().out

    return run


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_demo(example):
    shown = example("demo", "--folder", "out", "--rows", "3000")
    assert "$ polyak inspect" in shown
    assert re.search(r"area +\+7\.\d+", shown)
    assert Path("out/rents.html").is_file()


def test_text_classification(example):
    shown = example("text_classification", "--files", "20")
    accuracy, progressive, most_frequent = numbers(shown)[:3]
    assert accuracy > most_frequent
    assert progressive > most_frequent
    assert "'Fit the model to the training data.': sklearn" in shown


def test_click_through(example):
    shown = example("click_through", "--rows", "60000")
    alone, crossed, best = numbers(shown)[:3]
    assert best < crossed < alone
    assert "^ad=ad-" in shown.split("the largest weights")[1]


def test_one_pass_over_a_pipe(example):
    shown = example("one_pass_over_a_pipe", "--megabytes", "6")
    assert re.search(r"\d\d,\d{3} rows in one pass", shown)
    ours, best = numbers(shown)[-2:]
    assert best < ours < 0.5


def test_pipeline_with_grid_search(example):
    shown = example("pipeline_with_grid_search", "--rows", "800")
    plain, searched = numbers(shown)[:2]
    assert plain < searched
    assert "kernel = Nystroem" in shown


def test_resume_after_a_crash(example):
    shown = example("resume_after_a_crash", "--rows", "6000")
    assert "there is no model: True" in shown
    assert "resuming at row" in shown
    assert "the same, byte for byte" in shown


@pytest.mark.skipif("POLYAK_DATA" not in os.environ, reason="POLYAK_DATA names no folder")
def test_flight_delays(example):
    shown = example("flight_delays", "--rows", "5000")
    assert numbers(shown)[0] > 0.7
    assert re.search(r"dep_delay +\+\d", shown)
    assert "95% confidence" in shown


@pytest.mark.skipif(
    not (Path(os.environ.get("POLYAK_DATA", "")) / "insurance.parquet").is_file(),
    reason="POLYAK_DATA has no insurance.parquet",
)
def test_insurance_claims(example):
    shown = example("insurance_claims", "--rows", "8000", "--without", "EBM")
    found = {
        line[:26].strip(): numbers(line)[0] for line in shown.splitlines()[3:] if numbers(line)
    }
    assert found["polyak, curves"] < found["polyak, linear"] < found["constant"]


def test_probe_layers(example):
    pytest.importorskip("torch")
    shown = example("probe_layers", "--batches", "8")
    lines = [numbers(line) for line in shown.splitlines() if line.startswith("layer")]
    assert len(lines) == 3
    assert all(lost < 1.0 and right > 0.7 for lost, right, *_ in lines)


def test_dask_cluster(example):
    shown = example("dask_cluster", "--rows", "16000")
    together, alone, best = numbers(shown)[:3]
    assert best - 0.01 < together < best + 0.01
    assert best - 0.01 < alone < best + 0.01
    assert "2,000 of them computed on the workers" in shown


def test_none_is_left_out():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested

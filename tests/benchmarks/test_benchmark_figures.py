"""The pictures of a benchmark: drawn from its results, and only where there are some."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import figures


def result(label, best, peak_mb=50.0, **more):
    return {
        "label": label,
        "seconds": [best],
        "best": best,
        "peak_mb": peak_mb,
        "figures": {name.replace("_", " "): value for name, value in more.items()},
    }


@pytest.fixture
def record():
    losses = [result(figures.BATCH, 2.0) | {"figures": {"loss / batch": 1.0}}]
    for i, label in enumerate(figures.STYLES):
        losses.append(result(label, 0.1 + i) | {"figures": {"loss / batch": 1.0 + 0.2 * i}})
    growth = [
        result(f"{n}× rows", n / 10, 40 + n / 10) | {"figures": {"MB/s": 100.0}}
        for n in (1, 10, 100)
    ]
    sparse = [result(f"ours, K = {k}", k / 10) for k in (1, 8, 32)]
    title = "sparse in memory, 300,000 × 47,000, 70 nonzeros a row, one core"
    return {
        "accuracy": [{"title": "accuracy after one pass, a9a, one core", "results": losses}],
        "growth": [{"title": "growth: 10 MB of svmlight text on a pipe", "results": growth}],
        "sparse": [{"title": title, "results": sparse}],
    }


def test_points_are_read_from_the_results(record):
    assert figures._growth(record, lambda r: r["peak_mb"]) == [(10, 40.1), (100, 41), (1000, 50)]
    assert figures._models(record)[0] == (1, pytest.approx(3e6))
    assert figures._nonzeros(record) == [(70, pytest.approx(3e6))]


@pytest.mark.slow
def test_every_figure_is_drawn(record, tmp_path, monkeypatch, capsys):
    source = tmp_path / "latest.json"
    source.write_text(json.dumps({"scenarios": record}))
    words = ["figures", str(source), "--output", str(tmp_path / "drawn")]
    monkeypatch.setattr(sys, "argv", words)
    figures.main()
    drawn = {path.name: path.read_text() for path in (tmp_path / "drawn").glob("*.svg")}
    assert set(drawn) == {"loss-against-time.svg", "speed.svg", "memory-against-rows.svg"}
    assert ">polyak, auto<" in drawn["loss-against-time.svg"]
    assert ">a9a<" in drawn["loss-against-time.svg"]
    assert ">peak memory, MB<" in drawn["memory-against-rows.svg"]
    figures.main()
    again = (tmp_path / "drawn" / "speed.svg").read_text()
    assert again == drawn["speed.svg"]  # the same results give the same picture
    assert "not drawn" not in capsys.readouterr().out


def test_what_was_not_run_is_not_drawn(record):
    assert figures.loss_against_time({}) is None
    assert figures.speed({}) is None
    assert figures.memory({"growth": []}) is None
    absent = [entry | {"seconds": []} for entry in record["accuracy"][0]["results"]]
    assert figures.loss_against_time({"accuracy": [{"title": "", "results": absent}]}) is None

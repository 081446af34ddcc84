"""Losses with parameters and links, from the command line."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from commands import fails, polyak

LOSSES = {
    "huber": ("amount",),
    "huber, delta given": ("amount", "--delta", "1.5"),
    "epsilon_insensitive": ("amount", "--epsilon", "0.5"),
    "quantile": ("amount", "--quantile", "0.05,0.5,0.95"),
    "poisson": ("count",),
    "gamma": ("positive",),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table of two columns, an amount with outliers, a count and a positive number."""
    drawn = random.Random(0)
    lines = ["a,b,amount,count,positive"]
    for row in range(6000):
        a, b, noise = drawn.gauss(3, 1), drawn.gauss(0, 2), drawn.gauss(0, 1)
        amount = 5 + 2 * a - b + noise * (30 if row % 20 == 0 else 1)
        mean = math.exp(0.3 * a - 0.2 * b)
        count = int(drawn.expovariate(1) * mean)
        lines.append(
            f"{a:.5g},{b:.5g},{amount:.6g},{count},{drawn.expovariate(1) * mean + 1e-6:.6g}"
        )
    path = tmp_path_factory.mktemp("losses") / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def arguments(name: str) -> list[str]:
    target, *parameters = LOSSES[name]
    others = sorted({"amount", "count", "positive"} - {target})
    loss = ["--loss", name.split(",")[0], *parameters]
    return ["--target", target, "--drop", ",".join(others), *loss]


@pytest.mark.parametrize("name", LOSSES)
def test_from_a_table_to_predictions(name: str, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.polyak"
    said = json.loads(polyak("train", table, *arguments(name), "-m", model, "--json").stdout)
    assert said["recent"]["loss"] < said["recent"]["constant_loss"]
    figures = json.loads(polyak("evaluate", model, table, "--json").stdout)
    assert figures["loss"] < figures["constant_loss"]
    lines = polyak("predict", model, table).stdout.split("\n")[:-1]
    numbers = [[float(word) for word in line.split()] for line in lines]
    assert len(numbers) == 6000
    if name == "quantile":
        assert all(row == sorted(row) and len(row) == 3 for row in numbers)
        for tau in (0.05, 0.5, 0.95):
            assert figures[f"share_below_{tau}"] == pytest.approx(tau, abs=0.01)
    if name in ("poisson", "gamma"):
        assert min(row[0] for row in numbers) > 0
    page = json.loads(polyak("inspect", model, "--json").stdout)
    assert page["loss"].startswith(name.split(",")[0])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (("--loss", "hubert"), "there is no loss called 'hubert'; there are squared_error"),
        (("--loss", "gamma", "--delta", "3"), "--epsilon is for the loss huber or epsilon_insens"),
        (("--loss", "quantile", "--quantile", "2"), "a quantile must be between 0 and 1, not 2"),
        (("--loss", "quantile", "--quantile", "x"), "--quantile takes numbers between 0 and 1"),
        (
            ("--loss", "quantile", "--quantile", "0.9,0.1"),
            "must be in increasing order",
        ),
    ],
)
def test_parameters_that_cannot_be(how: tuple[str, ...], sentence: str, table: Path) -> None:
    said = fails("train", table, "--target", "amount", *how, "-m", "none.polyak", code=2)
    assert sentence in said


def test_a_target_that_cannot_be_is_named_with_its_line(table: Path, tmp_path: Path) -> None:
    how = ("--target", "count", "--loss", "gamma", "-m", tmp_path / "m.polyak")
    said = fails("train", table, *how, "--order", "as-is")
    assert "table.csv, line" in said
    assert "has the target 0; gamma needs numbers above zero" in said


def test_help_names_every_loss() -> None:
    said = " ".join(polyak("train", "--help").stdout.split())
    assert "epsilon_insensitive, poisson, gamma" in said

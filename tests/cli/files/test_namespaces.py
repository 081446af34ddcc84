"""Namespaces of VW text, crossed and left out, from training to prediction."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak

ROWS = 1500


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write clicks of users who like one of two ads: neither user nor ad alone tells which."""
    random = np.random.default_rng(0)
    user, ad = random.integers(0, 8, ROWS), random.integers(0, 8, ROWS)
    clicked = np.where((user + ad) % 2 == 0, 1, -1)
    path = tmp_path_factory.mktemp("clicks") / "clicks.vw"
    rows = zip(clicked, user, ad, strict=True)
    path.write_text("".join(f"{y} |user u{u} |ad a{a} |told t{y}\n" for y, u, a in rows))
    return path


def error(model: Path, source: Path) -> float:
    return float(json.loads(polyak("evaluate", model, source, "--json").stdout)["error"])


def test_a_cross_finds_what_neither_tells(clicks: Path, tmp_path: Path) -> None:
    plain, crossed = tmp_path / "plain", tmp_path / "crossed"
    how = ["--drop", "told", "-q"]
    polyak("train", clicks, "-m", plain, *how)
    polyak("train", clicks, "-m", crossed, *how, "--interact", "user:ad", "--names", 1000)
    assert error(plain, clicks) > 0.3
    assert error(crossed, clicks) == 0.0
    shown = polyak("inspect", crossed, "--top", "5").stdout
    assert "user^u" in shown
    assert "*ad^a" in shown
    assert "told" not in shown


def test_a_converted_file_remembers_what_was_crossed(clicks: Path, tmp_path: Path) -> None:
    how = ["--drop", "told", "--interact", "user:ad", "-q"]
    model = tmp_path / "model"
    polyak("convert", clicks, tmp_path / "rows.npz", *how)
    polyak("train", tmp_path / "rows.npz", "-m", model, "-q")
    assert error(model, clicks) == 0.0
    assert error(model, tmp_path / "rows.npz") == 0.0
    polyak("train", clicks, "-m", tmp_path / "plain", "-q")
    said = fails("evaluate", tmp_path / "plain", tmp_path / "rows.npz")
    assert "2^18 slots, user:ad crossed, without told, but those of the model are of names" in said


def test_a_namespace_that_is_not_there_is_said(clicks: Path, tmp_path: Path) -> None:
    done = polyak("train", clicks, "-m", tmp_path / "m", "-q", "--drop", "tolt")
    assert f"warning: no row of {clicks} has a namespace tolt" in done.stderr

"""Additive models at the command line: what is shown of their terms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learn an additive model of a table with missing values and levels."""
    folder = tmp_path_factory.mktemp("additive")
    rng = np.random.default_rng(0)
    rows = 5000
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "size": rng.lognormal(3.0, 0.6, rows).round(3),
            "city": rng.choice(["Rome", "Ulm", "Oslo"], rows),
        }
    )
    signal = np.abs(table.age - 50) / 10 + np.log(table["size"]) * (table.age > 50)
    table["rent"] = signal + (table.city == "Rome") + 0.3 * rng.normal(size=rows)
    table["age"] = table.age.where(rng.random(rows) > 0.1)
    table.to_csv(folder / "t.csv", index=False)
    model = ["--target", "rent", "--curves", "--pairs", "-q", "-m", folder / "m.polyak"]
    polyak("train", folder / "t.csv", *model)
    return folder


def test_inspect_shows_terms_instead_of_basis_functions(folder: Path) -> None:
    shown = polyak("inspect", folder / "m.polyak").stdout
    assert "slot 2" not in shown
    heads, *lines = shown[shown.index("term") :].splitlines()
    assert heads.split() == ["term", "kind", "edf", "statistic", "p"]
    assert [line.split()[:2] for line in lines[:3]] == [
        ["age", "curve"],
        ["size", "curve"],
        ["city", "category"],
    ]
    assert "age × size pair" in " ".join(shown.split())


def test_inspect_shows_terms_as_json(folder: Path) -> None:
    shown = polyak("inspect", folder / "m.polyak", "--json", "--top", "2").stdout
    found = json.loads(shown)
    assert [term["name"] for term in found["terms"]] == ["age", "size"]
    assert set(found["terms"][0]) == {"name", "kind", "edf", "statistic", "p_value"}
    assert "heaviest" not in found
    assert "slot" not in shown


def test_contributions_add_up_to_the_prediction(folder: Path) -> None:
    out = folder / "parts.csv"
    given = [folder / "m.polyak", folder / "t.csv", "--what", "contributions"]
    polyak("predict", *given, "--keep", "age", "-o", out)
    table = pd.read_csv(out)
    parts = table.filter(like="contribution_")
    assert {"contribution_age", "contribution_intercept"} < set(parts)
    assert np.allclose(parts.sum(axis=1), table["prediction"], atol=1e-9)
    head = polyak("predict", *given).stdout.splitlines()[0]
    assert head == ",".join(["prediction", *parts])


def test_contributions_need_columns(folder: Path) -> None:
    given = [folder / "m.polyak", folder / "t.csv", "--what", "contributions"]
    assert "contributions" in fails("predict", *given, "-o", folder / "parts.txt", code=2)
    assert "intervals" in fails("predict", *given, "--intervals", code=2)


def test_rows_converted_for_a_model_are_those_of_its_export(folder: Path) -> None:
    from onnxruntime import InferenceSession
    from scipy.sparse import csr_matrix

    model, table = folder / "m.polyak", folder / "t.csv"
    polyak("export", model, folder / "m.onnx")
    polyak("convert", table, folder / "rows.npz", "--for", model, "-q")
    stored = np.load(folder / "rows.npz")
    session = InferenceSession(folder / "m.onnx")
    width = session.get_inputs()[0].shape[1]
    parts = [stored[name] for name in ("data", "indices", "indptr")]
    rows = csr_matrix(tuple(parts), shape=(len(parts[2]) - 1, width)).toarray()
    found = session.run(None, {"X": rows.astype(np.float64)})[0]
    shown = polyak("predict", model, table).stdout.split()
    assert np.allclose(found, np.array(shown, dtype=float), rtol=1e-6, atol=1e-6)

"""Labels that are named before they come: between commas, as JSON, or in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import fails, polyak

LABELS = ["art, music", "sport", "politics; law"]


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.csv"
    rows = [f'{i % 3},{i % 7},"{LABELS[i % 3]}"' for i in range(300)]
    path.write_text("a,b,topic\n" + "\n".join(rows) + "\n")
    return path


def trained(news: Path, model: Path, *options: str | Path) -> list[str]:
    polyak("train", news, "--target", "topic", "-m", model, "-q", "--order", "as-is", *options)
    found: list[str] = json.loads(polyak("inspect", model, "--json").stdout)["classes"]
    return found


def test_labels_with_commas(news: Path, tmp_path: Path) -> None:
    every = [*LABELS, "weather"]  # one that has not come yet
    lines, page = tmp_path / "labels.txt", tmp_path / "labels.json"
    lines.write_text("\n".join(every) + "\n\n")
    page.write_text(json.dumps(every, indent=1))
    for option in (
        ["--classes-file", lines],
        ["--classes-file", page],
        ["--classes", json.dumps(every)],
    ):
        assert trained(news, tmp_path / "m", *option) == sorted(every)
    assert trained(news, tmp_path / "m") == sorted(LABELS)


def test_numbers(tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    rows.write_text("".join(f"{i % 3} {i % 3 + 1}:1\n" for i in range(90)))
    (tmp_path / "labels").write_text("0\n1\n2\n3\n")
    for option in (["--classes-file", tmp_path / "labels"], ["--classes", "[0, 1, 2, 3]"]):
        polyak("train", rows, "-m", tmp_path / "m", "-q", *option)
        found = json.loads(polyak("inspect", tmp_path / "m", "--json").stdout)["classes"]
        assert [float(label) for label in found] == [0, 1, 2, 3]


def test_what_cannot_be(news: Path, tmp_path: Path) -> None:
    how = ["train", news, "--target", "topic", "-m", tmp_path / "m", "-q"]
    one, odd = tmp_path / "one", tmp_path / "odd"
    one.write_text("sport\n")
    odd.write_text('["sport", 1]')
    assert f"{one} needs two labels or more" in fails(*how, "--classes-file", one, code=2)
    assert f"{odd} needs a list of words, or one of numbers" in fails(
        *how, "--classes-file", odd, code=2
    )
    assert "none: No such file" in fails(*how, "--classes-file", tmp_path / "none")
    both = fails(*how, "--classes-file", one, "--classes", "a,b", code=2)
    assert "not allowed with" in both

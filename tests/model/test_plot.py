"""Effects drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_effects import additive

import polyak
from polyak import plot


def test_every_term_has_a_panel(tmp_path: Path) -> None:
    figure = plot.effects(additive())
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles[:4] == ["age", "size", "city", "new"]
    assert "age × size" in titles
    figure.savefig(tmp_path / "effects.png")
    assert (tmp_path / "effects.png").stat().st_size > 10_000


def test_a_panel_shows_the_effect_and_its_band() -> None:
    (axes,) = plot.effects(additive(), ["age"]).axes
    found = additive().effect("age")
    assert np.array_equal(axes.lines[0].get_ydata(), found.value)
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.min() == found.lower.min()
    assert corners.max() == found.upper.max()


def test_a_class_is_chosen() -> None:
    model = additive("classes")
    (axes,) = plot.effects(model, ["age"], output="low").axes
    assert axes.get_title() == "age · low"
    assert np.array_equal(axes.lines[0].get_ydata(), model.effect("age").value[:, 1])


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"no term 'size of it'; there are age, size"):
        plot.effects(additive(), ["size of it"])
    with pytest.raises(ValueError, match=r"no output 'none'; there are high, low, mid"):
        plot.effects(additive("classes"), output="none")


def test_type_checkers_know_what_is_imported_lazily() -> None:
    stub = (Path(polyak.__file__).parent / "__init__.pyi").read_text()
    known = {line.split()[-1] for line in stub.splitlines() if line.startswith("from ")}
    assert known == {*polyak.__all__, "plot"}

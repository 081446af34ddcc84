"""Words keep their names in a model: by default in tables, up to a bound, and by every way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import polyak, write

from polyak import ASGDRegressor, LinearModel

CITIES = [f"town{number}" for number in range(60)]


def table(rows: int = 1500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    city = rng.choice(CITIES, rows)
    effect = dict(zip(CITIES, np.random.default_rng(9).normal(size=60), strict=True))
    x = rng.normal(size=rows).round(3)
    noise = 0.1 * rng.normal(size=rows)
    y = (x + np.array([effect[name] for name in city]) + noise).round(4)
    return pd.DataFrame({"city": city, "x": x, "y": y})


def heaviest(model: Path) -> list[str | None]:
    page = json.loads(polyak("inspect", model, "--json", "--top", 500).stdout)
    names = page["feature_map"]["names"]
    assert all(
        entry["name"] in names.values()
        for entry in page["heaviest"]
        if "=" in entry.get("name", "")
    )
    return [entry.get("name") for entry in page["heaviest"]]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_words_of_a_table_have_their_names(form: str, tmp_path: Path) -> None:
    source = tmp_path / f"t.{form}"
    frame = table()
    if form == "csv":
        frame.to_csv(source, index=False)
    else:
        frame.to_json(source, orient="records", lines=True)
    polyak("train", source, "--target", "y", "-m", tmp_path / "m", "-q")
    assert set(heaviest(tmp_path / "m")) == {"x", *(f"city={name}" for name in CITIES)}

    few = tmp_path / "few"
    polyak("train", source, "--target", "y", "-m", few, "-q", "--names", 5)
    assert sum(name is not None for name in heaviest(few)) == 6  # x is no word
    polyak("train", source, "--target", "y", "-m", tmp_path / "none", "-q", "--names", 0)
    assert {*heaviest(tmp_path / "none")} == {"x", None}
    # Weights do not know of names.
    weights = [LinearModel.load(tmp_path / name).weights for name in ("m", "few", "none")]
    assert weights[0].tobytes() == weights[1].tobytes() == weights[2].tobytes()
    words = [name for name in heaviest(tmp_path / "m") if name != "x"]
    assert set(heaviest(few)) - {"x", None} == set(words[:5])


def test_names_of_vw_text_are_for_the_asking(tmp_path: Path) -> None:
    frame = table()
    lines = zip(frame.y, frame.city, frame.x, strict=True)
    source = write(tmp_path / "t.vw", "".join(f"{y} |c {c} x:{x}\n" for y, c, x in lines))
    polyak("train", source, "-m", tmp_path / "none", "-q", "--loss", "squared_error")
    assert set(heaviest(tmp_path / "none")) == {None}
    options = ("--loss", "squared_error", "--names", 1000)
    polyak("train", source, "-m", tmp_path / "m", "-q", *options)
    assert set(heaviest(tmp_path / "m")) == {"c^x", *(f"c^{name}" for name in CITIES)}


def test_an_estimator_names_the_features_of_frames_and_arrays() -> None:
    frame = table()
    mixed = ASGDRegressor(random_state=0).fit(frame[["city", "x"]], frame.y)
    coefficients = mixed.coefficients()
    assert {f"city={name}" for name in CITIES} <= set(coefficients.feature)
    names = mixed.get_feature_names_out()
    assert len(names) == len(mixed.coef_)
    (place,) = np.flatnonzero(names == "city=town7")
    row = coefficients[coefficients.feature == "city=town7"]
    assert mixed.coef_[place] == row.weight.item()

    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"])
    fitted = ASGDRegressor(random_state=0).fit(numbers, numbers.a)
    assert fitted.get_feature_names_out().tolist() == ["a", "b"]
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    plain = ASGDRegressor(random_state=0).fit(numbers.to_numpy(), numbers.a)
    assert plain.get_feature_names_out().tolist() == ["x0", "x1"]


def test_words_that_come_in_later_batches_have_names_too() -> None:
    frame = table()
    early = frame[frame.city.isin(CITIES[:30])]
    late = frame[~frame.city.isin(CITIES[:30])]
    model = ASGDRegressor(random_state=0)
    for part in (early, late):
        model.partial_fit(part[["city", "x"]], part.y)
    assert {f"city={name}" for name in CITIES} <= set(model.coefficients().feature)


def test_too_many_names_leave_those_of_some_slots(tmp_path: Path) -> None:
    """Half of the slots go when there are too many, whatever the size of the blocks."""
    from polyak.data.open import open_stream
    from polyak.data.options import Columns
    from polyak.storage.feature_names import names_to_see

    words = 400_000
    source = tmp_path / "many.vw"
    source.write_text("".join(f"{n % 4} | w{n} w{n + 1}\n" for n in range(0, words, 2)))
    found = []
    for block_bytes in (1 << 16, 1 << 22):
        columns = Columns(names=1, bits=22)
        with open_stream(str(source), columns=columns, block_bytes=block_bytes) as stream:
            assert sum(map(len, stream)) == words // 2
            found.append(stream.names())
    assert found[0] == found[1]
    assert names_to_see(1) // 2 < len(found[0]) <= names_to_see(1)
    assert max(found[0]) < 1 << 21

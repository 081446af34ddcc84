"""The page that ``polyak train --report`` and ``polyak report`` write, read as a person would."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.in_process import polyak as command

import polyak
from polyak.data.options import Columns, ReadOptions
from polyak.learn.recipes import Recipe
from polyak.model.linear import LinearModel
from polyak.training.job import Job
from polyak.training.loop import train

LONG = "a long name that says what the column measures, and in which units"


def text_of(page: str) -> str:
    """Return what a person can read, tags being spaces; not what only shows under the pointer."""
    body = re.sub(r"<(title|desc)[^>]*>.*?</\1>", " ", page.split("</style>")[-1], flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def section(page: str, heading: str) -> str:
    return page.split(f"<h2>{heading}</h2>")[1].split("</section>")[0]


def houses(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, rows),
            "metres": rng.normal(120_000, 40_000, rows).round(),
            LONG: rng.normal(0, 0.001, rows),
            "city": rng.choice(["Rome", "Paris"], rows),
        }
    )
    frame["price"] = 10 * frame.rooms + frame.metres / 1000 + rng.normal(0, 5, rows)
    frame.loc[: rows // 4 - 1, "metres"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    houses(400, 0).to_csv(folder / "houses.csv", index=False)
    houses(100, 1).to_csv(folder / "new.csv", index=False)
    rng = np.random.default_rng(0)
    flowers = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    flowers["kind"] = np.array(["daisy", "rose", "tulip"])[flowers.to_numpy().argmax(axis=1)]
    flowers.to_csv(folder / "flowers.csv", index=False)
    clicks = pd.DataFrame(rng.normal(size=(5000, 2)), columns=["x", "z"])
    clicks["bought"] = np.where(clicks.x + rng.logistic(size=5000) > 0, "yes", "no")
    clicks.to_csv(folder / "clicks.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def price_page(folder: Path) -> str:
    page = folder / "price.html"
    command(
        *("train", folder / "houses.csv", "--target", "price", "-m", folder / "price.polyak"),
        *("--report", page, "-q"),
    )
    return page.read_text("utf-8")


@pytest.fixture(scope="module")
def kind_page(folder: Path) -> str:
    page = folder / "kind.html"
    command(
        *("train", folder / "flowers.csv", "--target", "kind", "-m", folder / "kind.polyak"),
        *("--report", page, "-q"),
    )
    return page.read_text("utf-8")


@pytest.fixture(scope="module")
def bought_page(folder: Path) -> str:
    page = folder / "bought.html"
    command(
        *("train", folder / "clicks.csv", "--target", "bought", "-m", folder / "bought.polyak"),
        *("--report", page, "-q", "--intervals"),
    )
    return page.read_text("utf-8")


def test_it_says_source_and_target(price_page):
    text = text_of(price_page)
    assert "Predicting price" in text
    assert "400 rows of houses.csv" in text
    assert "Source houses.csv Target price" in text


def test_columns_are_listed_as_they_were_read(price_page):
    text = text_of(section(price_page, "Columns"))
    assert "rooms number 1 to 8" in text
    assert re.search(r"metres number [-\d.]+ to [\d.]+ 25%", text)
    assert "city words 2 different" in text
    assert re.search(r"price target [-\d.]+ to [\d.]+", text)


def test_a_model_that_was_not_looked_at_lists_its_columns_too(folder):
    outcome = train(Job(source=str(folder / "flowers.csv"), reading=reading("kind"), order="as-is"))
    text = text_of(section(polyak.report(outcome.model), "Columns"))
    assert "a number b number c number kind target" in text


def reading(target: str):
    return ReadOptions(columns=Columns(target=target))


def test_figures_of_regression(price_page):
    text = text_of(price_page)
    for name in ("A constant's loss", "R²", "RMSE", "Mean absolute error"):
        assert re.search(rf"{name} [\d.]+ on ", text), name
    r2 = float(re.search(r"R² ([\d.]+)", text)[1])
    assert 0.5 < r2 < 1


def test_passes_are_told_from_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(442, 4))
    model = polyak.ASGDRegressor(recipe="sgd", max_iter=7).fit(X, X @ [1, 2, 3, 4])
    text = text_of(polyak.report(model))
    assert "442 rows, learned 7 times each" in text
    assert "442 in 7 passes" in text
    assert "3,094" not in text


def test_residuals_are_drawn_against_predictions(price_page, kind_page):
    drawn = section(price_page, "Residuals against predictions").split("</svg>")[0]
    assert drawn.count('class="point"') > 100
    assert "Residuals" not in kind_page


def test_the_confusion_matrix_counts_rows_predicted_before_they_were_learned(kind_page, folder):
    check = LinearModel.load(folder / "kind.polyak").report.check
    shown = text_of(section(kind_page, "Confusion matrix"))
    assert "daisy rose tulip correct" in shown
    for name, row in zip(("daisy", "rose", "tulip"), check.confusion, strict=True):
        assert f"{name} {' '.join(f'{x:g}' for x in row)} " in shown
    assert sum(map(sum, check.confusion)) == check.rows
    assert 150 <= check.rows < 300


def test_what_is_compared_for_the_page_leaves_the_model_as_it_is(folder):
    for table, target in (("houses.csv", "price"), ("flowers.csv", "kind")):
        recipe = Recipe(loss="squared_error" if target == "price" else "log_loss", recipe="paper")
        how = {"source": str(folder / table), "reading": reading(target), "order": "auto"}
        how["recipe"] = recipe
        plain, checked = (train(Job(**how, check=check)).model for check in (False, True))
        assert plain.report.check is None
        assert checked.report.check is not None
        np.testing.assert_array_equal(plain.weights, checked.weights)
        np.testing.assert_array_equal(plain.intercept, checked.intercept)


def test_two_classes_have_an_auc_and_a_calibration(bought_page):
    auc = float(re.search(r"ROC AUC ([\d.]+)", text_of(bought_page))[1])
    assert 0.7 < auc < 0.9
    assert "How often yes was true" in text_of(section(bought_page, "Calibration"))


def test_several_classes_have_a_calibration_too(kind_page, folder):
    assert "How often each class was true" in text_of(section(kind_page, "Calibration"))
    check = LinearModel.load(folder / "kind.polyak").report.check
    assert sum(check.calibration.total) == pytest.approx(3 * check.rows)  # each row has 3 classes
    assert sum(check.calibration.positive) == pytest.approx(check.rows)  # one of which is true


def test_without_being_asked_an_auc_is_known_too(folder, tmp_path):
    command("train", folder / "clicks.csv", "--target", "bought", "-m", tmp_path / "m.polyak", "-q")
    model = LinearModel.load(tmp_path / "m.polyak")
    assert model.report.check is None
    assert 0.7 < model.report.recent.roc_auc < 0.9
    assert "ROC AUC" in text_of(polyak.report(model))


LABEL = (
    r'<text x="0"[^>]*><title>([^<]*): effect ([^,]+), weight (.+?) per unit[^<]*</title>([^<]*)<'
)


def labels(page: str) -> list[tuple[str, float, float, str]]:
    """Return name, effect, weight and the name as shown, in the order of the chart."""
    drawn = section(page, "What matters most").split('class="narrow"')[0]
    found = re.findall(LABEL, drawn)
    return [
        (unescape(name), size(effect), size(weight), cut) for name, effect, weight, cut in found
    ]


def size(text: str) -> float:
    small = text.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    return float(text.translate(small).replace("−", "-").replace(" × 10", "e"))


def test_weights_are_in_the_order_of_their_effect(price_page):
    found = labels(price_page)
    assert [name for name, *_ in found[:2]] == ["metres", "rooms"]
    sizes = [abs(effect) for _, effect, _, _ in found]
    assert sizes == sorted(sizes, reverse=True)
    weights = {name: weight for name, _, weight, _ in found}
    assert weights["rooms"] == pytest.approx(10, rel=0.1)  # in the units of the column
    assert weights["metres"] == pytest.approx(0.001, rel=0.1)
    shown = text_of(section(price_page, "What matters most").split('class="narrow"')[0])
    assert "weight per unit" in shown
    assert re.search(r"weight per unit 9\.\d+ × 10⁻⁴", shown)


def test_names_keep_their_beginning(price_page):
    shown = {name: shown for name, _, _, shown in labels(price_page)}
    assert shown["rooms"] == "rooms"
    assert shown[LONG].endswith("…")
    assert LONG.startswith(shown[LONG][:-1])
    assert len(shown[LONG]) > 20


def test_intervals_are_drawn(bought_page):
    drawn = section(bought_page, "What matters most")
    assert 'class="whisker"' in drawn
    assert "95% confidence between" in drawn


def test_the_race_is_a_time_line(folder, price_page):
    model = folder / "raced.polyak"
    as_is = ("--order", "as-is")
    command("train", folder / "clicks.csv", "--target", "bought", "-m", model, "-q", *as_is)
    race = section(polyak.report(model), "The race")
    assert "candidates left" in text_of(race)
    assert re.search(r"dropped at row 1,000", race)
    assert race.count('class="run-won"') == 2  # for a wide screen and for a narrow one
    assert "too few rows to drop any" in text_of(section(price_page, "The race"))


def test_the_constant_is_drawn_beside_the_loss(bought_page):
    assert "a constant" in text_of(section(bought_page, "Loss while learning"))


def test_a_test_file_is_what_the_page_shows(folder, tmp_path):
    page = tmp_path / "m.html"
    command(
        *("train", folder / "houses.csv", "--target", "price", "-m", tmp_path / "m.polyak", "-q"),
        *("--test", folder / "new.csv", "--report", page),
    )
    tested = page.read_text("utf-8")
    assert "100 rows of new.csv" in text_of(section(tested, "Residuals against predictions"))
    assert re.search(r"RMSE [\d.]+ on new.csv", text_of(tested))
    later = tmp_path / "later.html"
    command("report", tmp_path / "m.polyak", "--on", folder / "new.csv", "-o", later)
    assert later.read_text("utf-8") == tested


def test_an_estimator_is_shown_on_a_test_set(folder):
    table, new = houses(400, 0), houses(100, 1)
    regressor = polyak.ASGDRegressor(random_state=0)
    regressor.fit(table.drop(columns="price"), table.price)
    page = polyak.report(regressor, on=(new.drop(columns="price"), new.price))
    r2 = regressor.score(new.drop(columns="price"), new.price)
    assert f"R² {r2:.4f} on the data given" in text_of(page)
    assert "100 rows of the data given" in text_of(section(page, "Residuals against predictions"))
    flowers = pd.read_csv(folder / "flowers.csv")
    classifier = polyak.ASGDClassifier().fit(flowers[["a", "b", "c"]], flowers.kind)
    page = polyak.report(classifier.to_model(), on=(flowers[["a", "b", "c"]], flowers.kind))
    assert "daisy rose tulip" in text_of(section(page, "Confusion matrix"))


def test_a_model_without_predictions_to_show_says_how_to_get_them(folder, tmp_path):
    command("train", folder / "flowers.csv", "--target", "kind", "-m", tmp_path / "m.polyak", "-q")
    command("report", tmp_path / "m.polyak")
    text = text_of((tmp_path / "m.html").read_text("utf-8"))
    assert "Confusion matrix" not in text
    assert "polyak report MODEL --on FILE" in text


def test_a_page_of_a_model_file_calls_columns_as_training_did(folder: Path, price_page) -> None:
    command("report", folder / "price.polyak", "-o", folder / "again.html")
    text = text_of(section((folder / "again.html").read_text("utf-8"), "Columns"))
    assert "rooms number" in text
    assert "city words" in text


def test_columns_are_those_of_all_rows_that_were_looked_at(tmp_path: Path) -> None:
    for rows, said in ((3000, False), (120_000, True)):
        frame = pd.DataFrame({"a": np.arange(rows) % 1900 * 1.5, "b": np.arange(rows) % 7})
        frame.assign(y=frame.a + frame.b).to_csv(tmp_path / "t.csv", index=False)
        page = tmp_path / "t.html"
        source = ("train", tmp_path / "t.csv", "--target", "y", "--recipe", "sgd")
        command(*source, "-m", tmp_path / "m", "--report", page)
        columns = text_of(section(page.read_text(), "Columns"))
        assert "a number 0 to 2848.5" in columns  # beyond the first 1,000 rows
        assert (re.search(r"those of the first [\d,]+ rows", columns) is not None) == said

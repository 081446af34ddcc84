from __future__ import annotations

import re
from dataclasses import MISSING, fields, replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from report_problems import NAMES, model_of

import polyak
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.training_report import CandidateReport, TrainingReport

ALWAYS = ["Loss while learning", "What matters most", "Learning rate", "Summary"]
VOID = {"meta"}


class Reader(HTMLParser):
    """Read a page, and check that every element is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.names: set[str] = set()
        self.ids: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.mark.parametrize("kind", NAMES)
def test_a_page_is_whole_small_and_needs_nothing_else(kind, tmp_path):
    model = model_of(kind)
    page = polyak.report(model)
    read = Reader(page)
    wanted = set(ALWAYS)
    if "block Newton steps" in page:  # they won, and have no learning rate
        assert kind != "paper"
        wanted.remove("Learning rate")
    if kind != "paper":
        wanted.add("The race")
    if "regressor" not in kind:
        wanted.add("Calibration")
    assert set(read.headings) == wanted
    assert not re.search(r"https?:|//|url\(|@import|src=|href=", page)
    assert not read.names & {"script", "link", "img", "iframe", "object"}
    assert len(page.encode()) < 200_000
    assert len(read.ids) == len(set(read.ids)) > 0
    drawings = re.findall(r'<svg viewBox="[^"]*" role="img" aria-labelledby="(\S+) (\S+)"', page)
    assert len(drawings) >= 6
    for title, description in drawings:
        assert re.search(rf'<title id="{title}">[^<]+</title>', page)
        assert re.search(rf'<desc id="{description}">[^<]+</desc>', page)
    assert not re.search(r"\b(nan|inf|None|unknown)\b", page.split("</style>")[1])
    model.save(tmp_path / "m.polyak")
    assert polyak.report(tmp_path / "m.polyak", tmp_path / "m.html") == page
    assert (tmp_path / "m.html").read_text("utf-8") == page


def test_intervals_are_drawn_where_they_are_known():
    assert "95% confidence between" in polyak.report(model_of("intervals"))
    assert "95% confidence between" not in polyak.report(model_of("logistic"))


def test_the_penalty_and_its_zeros_are_told():
    X = np.random.default_rng(0).standard_normal((500, 8))
    model = polyak.ASGDRegressor(penalty="elasticnet", alpha=0.1).fit(X, X[:, 0] - X[:, 1])
    page = polyak.report(model)
    assert "elasticnet, l1_ratio 0.5" in page
    assert f"{np.count_nonzero(model.coef_)} of 8" in page
    assert "not zero" not in polyak.report(model_of("logistic"))


def test_the_start_of_averaging_is_marked():
    model = model_of("paper")
    (t0,) = model.report.average_start
    assert f"t₀ = {t0:,}" in polyak.report(model)


def test_names_and_labels_are_escaped():
    evil = '<script>alert("x")</script>'
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1500, 2)), columns=[evil, "b & c"])
    y = np.where(X[evil] > 0, "<i>yes</i>", "no")
    page = polyak.report(polyak.ASGDClassifier().fit(X, y), title=evil)
    assert "<script" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in page
    assert "b &amp; c" in page
    assert "&lt;i&gt;yes&lt;/i&gt;" in page


def test_features_without_names_have_the_numbers_of_the_file():
    model = LinearModel(
        np.ones((1, 1)), np.zeros(1), "squared_error", features=FeatureMap.numbered(1)
    )
    assert "feature 1" in polyak.report(model)


def test_names_may_come_with_the_model():
    features = FeatureMap.numbered(None, {0: "age"})
    model = LinearModel(np.ones((1, 1)), np.zeros(1), "squared_error", features=features)
    assert ">age</text>" in polyak.report(model)


@pytest.mark.parametrize("rows", [1, 2, 5, 30, 999])
def test_few_rows_give_a_page_too(rows):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    estimator = polyak.ASGDRegressor().fit(X, X[:, 0])
    Reader(polyak.report(estimator))


def test_a_model_that_knows_nothing_about_itself():
    model = LinearModel(np.zeros((3, 1)), np.zeros(1), "log_loss", np.array([0, 1]))
    assert Reader(polyak.report(model)).headings == ["Summary"]


@pytest.mark.parametrize("kind", ["paper", "intervals", "several classes"])
def test_what_is_missing_is_left_out(kind):
    model = model_of(kind, rows=1200)
    rows = {"rows": model.report.rows, "candidates": (model.report.winner,)}
    Reader(polyak.report(replace(model, report=TrainingReport(**rows))))
    for field in fields(model.report):
        if field.default is not MISSING and field.name != "best_candidate":
            less = replace(model.report, **{field.name: field.default})
            Reader(polyak.report(replace(model, report=less)))


@pytest.mark.parametrize("loss", [0.0, 1e-300, 1e300])
def test_losses_of_any_size_can_be_drawn(loss):
    curve = [[rows, loss * (1 + 1 / rows)] for rows in (1, 2, 50, 1000, 20_000)]
    how_far = {"running": True, "rows": 20_000, "progressive_loss": loss, "curve": curve}
    candidates = [CandidateReport(penalty=1.0, number=number, **how_far) for number in (0, 1)]
    report = TrainingReport(rows=20_000, candidates=tuple(candidates), best_candidate=1)
    model = LinearModel(np.full((2, 1), loss), np.zeros(1), "squared_error", report=report)
    page = polyak.report(model)
    assert "nan" not in page.split("</style>")[1]
    Reader(page)


def test_only_models_are_reported_on():
    with pytest.raises(TypeError, match="not int"):
        polyak.report(3)

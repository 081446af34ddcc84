"""The page of an additive model draws its effects."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_problems import model_of_terms

import polyak


@pytest.fixture(scope="module")
def page() -> str:
    return polyak.report(model_of_terms())


def test_every_term_has_a_chart(page: str) -> None:
    titles = re.findall(r"<h3>(.*?)</h3>", page)
    assert len(titles) == 7
    assert {"age", "city", "age × city"} < set(titles)
    assert page.count('class="band"') == 2  # the curves
    assert page.count('class="level"') == 3 + 2  # three cities, true or not
    assert page.count('class="more"') > 20
    assert page.count('class="less"') > 20


def test_terms_have_their_tests_and_nothing_is_a_slot(page: str) -> None:
    assert re.search(r"curve, \d+\.\d df, p &lt; 10⁻¹⁶", page)
    assert "slot" not in page
    assert "one for each term" in page
    assert "<b>price" not in page


def test_several_classes_have_a_chart_each() -> None:
    page = polyak.report(model_of_terms(classes=True))
    assert "age · daisy" in page
    assert page.count("<h3>") == 21


def test_a_model_without_a_covariance_has_no_bands() -> None:
    page = polyak.report(replace(model_of_terms(), sandwich=None))
    assert "nan" not in page
    assert page.count('class="band"') == 2

"""The page from the paper to the code: it has every element, and what it names is where it says."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import SimpleNamespace

import pytest
from pages import ROOT

from reproduction.datasets import NAMES, PAPER_SETS
from reproduction.datasets.benchmark import STAND_INS

PAGE = ROOT / "docs" / "paper-to-code.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.*) \| (.*) \|$", TEXT, re.MULTILINE)
NAMED = re.findall(r"\[`([A-Za-z_][\w.]*)`\]\(([^)]+)\)", TEXT)
LABELS = re.findall(
    r"\w+",
    """
        EqEmpiricalMin EqSGD EqGammaSchedule EqSGDDecomposed EqSGDLinear EqLinearAvg ThmLinearAvg
        CoralloryLinearAymptoticConvergence EqAvgRate EqRate CorollarySampleSize2 A_Xi2Bound
        A_DeltaBound LemmaRegression EqI2Bound LemmaC1 A_Xi3Bound A_DeltaBound2 LemmaNonQuadratic
        AlgSparseASGD FigToy3 FigToy TblData FigComparison TblData2 FigSet1 FigSet2 LemmaGamma
        Lemma1 EqSumX EqDelta EqI0Bound EqI1Bound EqXi2 EqyyyyBound LemmaMaxGamma
    """,
)
"""Every label that the paper's source gives to an equation, a result, a table or a figure."""


@pytest.fixture
def hooks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "site"), *sys.path])
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "site" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("places", None)


def test_every_element_of_the_paper_is_there():
    assert [int(number) for number, *_ in ROWS] == list(range(1, 42))
    elements = " ".join(what for _, what, _ in ROWS)
    assert not [label for label in LABELS if f"`{label}`" not in elements]


@pytest.mark.parametrize("element", ["35", "37"])
def test_sets_that_are_shown_by_nothing_are_named(element):
    absent = [name for name in PAPER_SETS if name not in (*STAND_INS, *NAMES)]
    where = next(where for number, _, where in ROWS if number == element)
    words = " ".join(where.split()).replace(" and ", ", ")
    assert f"{', '.join(absent)} are absent" in words
    for name in STAND_INS:
        assert (element == "37" and PAPER_SETS[name].table == 1) or name in words


def test_every_element_says_where_it_is():
    named = [number for number, _, where in ROWS if re.search(r"\]\(\.\./", where)]
    elsewhere = {number: where for number, _, where in ROWS if number not in named}
    assert elsewhere.pop("38").startswith("left out")  # the outlook
    assert set(elsewhere.values()) == {"the same", "the same two"}  # as the element before


@pytest.mark.parametrize(("name", "path"), sorted(set(NAMED)))
def test_a_name_is_defined_where_the_page_says(hooks, name, path):
    assert hooks.line_of((PAGE.parent / path).resolve(), name) is not None


def test_tests_that_the_page_speaks_of_exist():
    spoken_of = re.findall(r"`((?:reproduction/)?tests/[\w/]+\.py)`", TEXT)
    assert spoken_of
    assert not [path for path in spoken_of if not (ROOT / path).is_file()]


def test_lines_are_those_of_definitions(hooks, tmp_path):
    python, cpp = tmp_path / "a.py", tmp_path / "a.hpp"
    python.write_text("x = f(1)\n\ndef f(x): pass\n\nclass A:\n    def f(self): pass\nB: int = 3\n")
    cpp.write_text("// f(x) is\nint g() { return f(1); }\n  double f(int x) {\nstruct S {\n")
    assert [hooks.line_of(python, name) for name in ("x", "f", "A", "A.f", "B")] == [1, 3, 5, 6, 7]
    assert [hooks.line_of(cpp, name) for name in ("f", "g", "S")] == [3, 2, 4]
    assert hooks.line_of(python, "g") is hooks.line_of(cpp, "x") is None
    assert hooks.line_of(python, "A.g") is None


def test_the_site_tells_file_and_line(hooks):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="paper-to-code.md"))
    shown = hooks.on_page_markdown(TEXT, page)
    source = (ROOT / "reproduction/theory/linear.py").read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(source, 1) if text.startswith("def averaged_bound("))
    assert f"[`averaged_bound` (linear.py:{line})](source/reproduction/" in shown
    assert len(re.findall(r"` \([\w\\]+\.(?:py|hpp):\d+\)\]", shown)) == len(NAMED)

"""The page in a real browser: phone and desktop, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from report_problems import model_of, model_of_table, model_of_terms

import polyak

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIETLY = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
]
# A headless window cannot be as narrow as a phone, so the page is measured within a frame.
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" style="border:0;width:{width}px;height:4000px"></iframe>
<script>
const frame = document.getElementById("page");
frame.onload = () => {{
  const view = frame.contentWindow, page = view.document, root = page.documentElement;
  page.querySelectorAll("details").forEach(details => details.open = true);
  const shown = [...page.querySelectorAll("svg[role=img]")].filter(svg => svg.getClientRects()[0]);
  const size = text => parseFloat(view.getComputedStyle(text).fontSize);
  const sizes = shown.flatMap(svg => {{
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return [...svg.querySelectorAll("text")].map(text => size(text) * scale);
  }});
  const outside = shown.filter(svg => [...svg.querySelectorAll("text")].some(text => {{
    const box = text.getBoundingClientRect(), frame = svg.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1;
  }})).map(svg => svg.querySelector("title").textContent);
  const touching = shown.flatMap(svg => {{
    const texts = [...svg.querySelectorAll("text")];
    const boxes = texts.map(text => text.getBoundingClientRect());
    return texts.filter((_, i) => boxes.some((box, j) => j < i
      && box.left < boxes[i].right - 1 && boxes[i].left < box.right - 1
      && box.top < boxes[i].bottom - 4 && boxes[i].top < box.bottom - 4,
    )).map(text => text.lastChild.textContent);
  }});
  const probe = page.querySelector("h1"), style = view.getComputedStyle(page.body);
  document.body.dataset.found = JSON.stringify({{
    overflow: root.scrollWidth - view.innerWidth,
    width: view.innerWidth,
    charts: shown.length,
    smallest: Math.min(...sizes),
    outside: outside,
    touching: touching,
    ink: view.getComputedStyle(probe).color,
    paper: style.backgroundColor,
    muted: view.getComputedStyle(page.querySelector(".lead")).color,
    accent: view.getComputedStyle(page.querySelector(".kicker")).color,
  }});
}};
frame.srcdoc = {page};
</script>"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


KINDS = [
    "several classes",
    *(
        pytest.param(kind, marks=pytest.mark.slow)
        for kind in ("classifier", "paper", "regressor with intervals")
    ),
]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_and_can_be_read(tmp_path, kind, width, dark):
    page = polyak.report(model_of(kind), title="a/rather/long/" * 9)
    found = measure(page, tmp_path, width, dark)
    assert found["width"] == width
    assert found["overflow"] <= 0
    assert found["charts"] == {"paper": 4, "regressor with intervals": 4}.get(kind, 5)
    assert found["smallest"] >= 10.5
    assert found["outside"] == []
    assert found["touching"] == []
    assert (luminance(found["paper"]) < 0.1) == dark
    for colour in ("ink", "muted", "accent"):
        assert contrast(found[colour], found["paper"]) >= 4.5


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("target", [pytest.param("price", marks=pytest.mark.slow), "kind"])
def test_tables_and_predictions_fit_too(tmp_path, target, width):
    page = polyak.report(model_of_table(tmp_path / "table.csv", target))
    assert ("Confusion matrix" in page, "Residuals" in page) == (
        target == "kind",
        target == "price",
    )
    found = measure(page, tmp_path, width, dark=False)
    assert found["overflow"] <= 0
    assert found["smallest"] >= 10.5
    assert found["outside"] == []
    assert found["touching"] == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
def test_effects_fit_too(tmp_path, classes, width):
    found = measure(polyak.report(model_of_terms(classes)), tmp_path, width, dark=False)
    assert found["overflow"] <= 0
    assert found["smallest"] >= 10.5
    assert found["outside"] == []
    assert found["touching"] == []


def measure(page, folder, width, dark):
    within = json.dumps(page).replace("</", "<\\/")
    (folder / "frame.html").write_text(FRAME.format(width=width, page=within), "utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [
        *(CHROMIUM, *QUIETLY, scheme, f"--user-data-dir={folder / 'profile'}"),
        *("--window-size=1400,4000", "--virtual-time-budget=5000", "--dump-dom"),
        (folder / "frame.html").as_uri(),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-found="([^"]*)"', dom)
    assert found, dom[-2000:]
    return json.loads(found[1].replace("&quot;", '"'))


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)

"""The site builds without a warning, needs no network, and has no broken link."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # an announcement, not about these pages
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Page(HTMLParser):
    """What a page links to, what it loads, and the places it can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.places |= {value for key, value in attrs if key in ("id", "name") and value}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "link", "source", "iframe"):
            self.loads += [found[key] for key in ("src", "href") if found.get(key)]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_no_link_is_broken(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            place = unquote(parts.fragment)
            there = target.is_file() and (
                not place or target not in pages or place in pages[target].places
            )
            if not there:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_nothing_comes_from_the_network(site, pages):
    outside = [
        (path.name, load)
        for path, page in pages.items()
        for load in page.loads
        if urlsplit(load).netloc and not load.startswith("http://www.w3.org")
    ]
    assert not outside
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", sheet.read_text(encoding="utf-8"))


def test_every_page_is_in_the_navigation():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert not [page for page in pages if f": {page}\n" not in settings]


def test_links_between_files_of_the_repository():
    """A reader of the repository itself, without the site, finds what is linked too."""
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks/NOTES.md"]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            parts = urlsplit(link)
            inside = parts.path and not parts.scheme
            made = (page.parent / parts.path).name in MADE_BY_THE_SITE
            if inside and not made and not (page.parent / parts.path).exists():
                broken.append(f"{page.name}: {link}")
    assert not broken


MADE_BY_THE_SITE = ("command-line.md", "changelog.md", "contributing.md", "security.md")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# A headless window cannot be as narrow as a phone, so pages are measured within a frame.
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" style="border:0;width:{width}px;height:900px"></iframe>
<script>
const pages = {pages}, found = [], frame = document.getElementById("page");
frame.onload = () => setTimeout(() => {{
  const view = frame.contentWindow, page = view.document, width = view.innerWidth;
  const wide = [...page.querySelectorAll(".md-content table, .md-content pre, .md-content img")]
    .filter(element => {{
      for (let box = element; box && box !== page.body; box = box.parentElement)
        if (/auto|scroll|hidden/.test(view.getComputedStyle(box).overflowX)) return false;
      return element.getBoundingClientRect().right > width + 1;
    }}).map(element => element.outerHTML.slice(0, 80));
  const images = [...page.querySelectorAll(".md-content img")]
    .filter(image => !image.naturalWidth).map(image => image.src);
  const over = page.documentElement.scrollWidth - width;
  found.push({{page: pages[found.length], over, wide, images}});
  if (found.length < pages.length) frame.src = pages[found.length];
  else document.body.dataset.found = JSON.stringify(found);
}}, 60);
frame.src = pages[0];
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(site, pages, width):
    import html
    import json

    names = [path.relative_to(site).as_posix() for path in pages]
    frame = site / f"frame-{width}.html"
    frame.write_text(FRAME.format(width=width, pages=json.dumps(names)), encoding="utf-8")
    try:
        command = [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--allow-file-access-from-files", "--window-size=1400,1000", "--dump-dom"),
            *("--virtual-time-budget=60000", frame.as_uri()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    finally:
        frame.unlink()
    match = re.search(r'data-found="([^"]*)"', done.stdout)
    assert match, done.stderr[-500:]
    measured = json.loads(html.unescape(match[1]))
    assert len(measured) == len(names)
    bad = [one for one in measured if one["over"] > 0 or one["wide"] or one["images"]]
    assert not bad

"""Every Python block runs: those of a page one after the other, as a reader would paste them."""

from __future__ import annotations

import os

import pytest
from pages import NAMES, ROOT, blocks


def python_blocks(name):
    return [block for block in blocks(ROOT / name) if block.language in ("python", "py")]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if python_blocks(name)])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_python_blocks_run(name, tmp_path, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    if "<!-- needs POLYAK_DATA -->" in text and "POLYAK_DATA" not in os.environ:
        pytest.skip("POLYAK_DATA names no folder")
    if "reproduction.rivals" in text:
        try:
            import reproduction.rivals  # noqa: F401
        except ImportError:
            pytest.skip("the rivals are not built; `make reproduce` builds them")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in python_blocks(name):
        # Prepend empty lines, so that line numbers in a traceback are those of the page.
        code = compile("\n" * block.line + block.text, str(ROOT / name), "exec")
        exec(code, namespace)


def test_blocks_are_found():
    assert len(python_blocks("README.md")) >= 1
    assert sum(len(python_blocks(name)) for name in NAMES) >= 15

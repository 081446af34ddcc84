"""The path of a batch in `docs/architecture.md` is the path of the calls."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
from pages import ROOT

SPY = """
import sys
from polyak.__main__ import main
from polyak.learn.bank import Bank

learn, ways = Bank.learn, []

def spied(bank, *args, **kwargs):
    frame, names = sys._getframe(1), ["Bank.learn"]
    while frame.f_code is not main.__code__:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    ways.append(["main", *names[::-1]])
    return learn(bank, *args, **kwargs)

Bank.learn = spied
try:
    main()
finally:
    print(*ways[-1])
"""


def calls_listed(step: str) -> list[str]:
    """Return the Python functions in a row of the page's table."""
    page = (ROOT / "docs/architecture.md").read_text()
    (row,) = re.findall(rf"^\| {step} \| (.*) \|$", page, re.M)
    called = [part for part in row.split(" the core: ")[0].split(" → ") if part]
    return [re.match(r"`([\w.]+)`", part)[1].rpartition(".")[2] for part in called]


def test_a_batch_takes_the_path_on_the_page(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{'+-'[int(2 * x)]}1 1:{x:.8f} 2:{y:.8f}\n" for x, y in rng.random((1000, 2)))
    file = tmp_path / "toy.svm"
    file.write_text(rows * 400)  # more than one block of text
    words = ["train", str(file), "--order", "as-is", "--recipe", "paper", "--quiet"]
    words += ["--model", str(tmp_path / "toy.model")]
    run = [sys.executable, "-c", SPY, *words]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    called = [name.rpartition(".")[2] for name in out.splitlines()[-1].split()]
    called = [name for name in called if name != "<listcomp>"]  # a function until Python 3.12
    assert called == calls_listed("the command") + calls_listed("learns it")


def test_the_path_is_short():
    page = (ROOT / "docs/architecture.md").read_text()
    (row,) = re.findall(r"^\| learns it \| .* the core: (.*) \|$", page, re.M)
    functions = (
        calls_listed("the command") + calls_listed("learns it") + re.findall(r"`[\w:]+`", row)
    )
    listed = int(re.search(r"These are (\d+) functions", page)[1])
    assert len(functions) == listed <= 25

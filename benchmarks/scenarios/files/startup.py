"""Start-up: imports, help, and a tiny file from start to end."""

from __future__ import annotations

import sys

from benchmarks.cache import cached
from benchmarks.runner import Contest, Contestant, Results, Target
from benchmarks.scenarios.files.commands import POLYAK, train_ours

NUMPY, SKLEARN, OURS = "import numpy", "import sklearn.linear_model", "import polyak"
TRAIN = "polyak train, a tiny file"


def contests(name: str, quick: bool) -> list[Contest]:
    tiny = cached("tiny.svm", lambda path: path.write_text("1 1:0.5 3:1\n-1 2:1 3:0.25\n" * 50))
    imports = {"python -c pass": "pass", NUMPY: NUMPY, SKLEARN: SKLEARN, OURS: OURS}
    return [
        Contest(
            title="start-up, one core",
            contestants=[
                *(Contestant(k, (sys.executable, "-c", code)) for k, code in imports.items()),
                Contestant("polyak --help", (POLYAK, "--help")),
                Contestant(TRAIN, train_ours(tiny, tiny.with_suffix(".polyak"))),
            ],
            reference=NUMPY,
            repeats=3 if quick else 10,
            targets=[
                Target("import polyak over import sklearn.linear_model", _imports, at_most=1.2),
                Target(
                    "train a tiny file, in times of import numpy",
                    lambda results: results[TRAIN].best / results[NUMPY].best,
                    at_most=2.33,
                ),
            ],
        )
    ]


def _imports(results: Results) -> float:
    return results[OURS].best / results[SKLEARN].best

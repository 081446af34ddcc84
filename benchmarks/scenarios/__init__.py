"""One module per scenario: its contests, and the jobs of its contestants.

A module is imported both by the parent, which asks for ``contests(name, quick)``, and by every
contestant's process, which calls one job. So heavy imports stay inside the jobs.
"""

from pathlib import Path

NAMES = (
    "sparse",
    "dense",
    "features",
    "text",
    "text-1gb",
    "vw",
    "tables",
    "badlines",
    "parser",
    "formats",
    "predict",
    "predict-1gb",
    "growth",
    "classes",
    "rivals",
    "accuracy",
    "startup",
    "dask",
    "newton-cost",
    "newton-quality",
    "batch",
    "cores",
    "probes",
)
QUICK = ("sparse", "dense", "text", "vw", "parser", "predict", "classes", "accuracy", "startup")
"""The most informative scenarios within two minutes."""


def module_of(scenario: str) -> str:
    """Return the module of a scenario; that of "text-1gb" is text.py."""
    module = scenario.split("-")[0]
    (path,) = Path(__file__).parent.glob(f"*/{module}.py")
    return f"benchmarks.scenarios.{path.parent.name}.{module}"

"""One module a scenario: its contests, and the jobs its contestants run.

A module is imported both by the parent, which asks for ``contests(name, quick)``, and by every
contestant's process, which calls one job. So heavy imports stay inside the jobs.
"""

NAMES = (
    "sparse",
    "dense",
    "features",
    "text",
    "text-1gb",
    "vw",
    "tables",
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
)
QUICK = ("sparse", "dense", "text", "vw", "parser", "predict", "classes", "accuracy", "startup")
"""Those that say most in two minutes."""

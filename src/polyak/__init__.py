"""polyak: linear models learned in one pass.

Nothing is imported here, not even `typing`: before `polyak.__main__` handles Ctrl-C, an interrupt
would print a traceback.
"""

from __future__ import annotations

__all__ = [
    "ASGDClassifier",
    "ASGDRegressor",
    "Learner",
    "LinearModel",
    "Recipe",
    "open_stream",
    "report",
]

_HOMES = {
    "ASGDClassifier": "polyak.estimators",
    "ASGDRegressor": "polyak.estimators",
    "Learner": "polyak.learn.learner",
    "LinearModel": "polyak.model.linear",
    "Recipe": "polyak.learn.recipes",
    "open_stream": "polyak.data.open",
    "report": "polyak.reporting",
}


def __getattr__(name: str) -> object:
    if name == "__version__":  # kept in pyproject.toml alone
        from importlib.metadata import version

        return version("polyak")
    # Imported lazily: the command line does not need scikit-learn.
    if name not in _HOMES and name != "plot":
        raise AttributeError(f"module 'polyak' has no attribute {name!r}")
    from importlib import import_module

    if name == "plot":
        return import_module("polyak.plot")
    return getattr(import_module(_HOMES[name]), name)

"""The commands: one module each, with a ``parser()`` and a ``run(options)``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

COMMANDS = {
    "train": "learn a model from files, tables or streams",
    "predict": "predict labels, scores or probabilities, one line per row",
    "evaluate": "compare the predictions of a model with known targets",
    "inspect": "show a model: its settings and its largest weights",
    "convert": "convert data to npz or svmlight, tables to Parquet",
    "export": "write a model for other programs: ONNX, scikit-learn, a table",
    "report": "write an HTML page about a model and how it was learned",
}


def command_module(name: str) -> ModuleType:
    """Import the module of a command."""
    return import_module(f"polyak.cli.commands.{name}")

"""The commands: one module each, with a ``parser()`` and a ``run(options)``."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from types import ModuleType

COMMANDS = {
    "train": "learn a model from files, tables or streams",
    "predict": "predict labels, scores or probabilities, one line per row",
    "evaluate": "compare the predictions of a model with known targets",
    "inspect": "show a model: its settings and its largest weights",
    "convert": "convert data to Parquet, npz or svmlight",
    "export": "write a model for other programs: ONNX, scikit-learn, LIBLINEAR, a table",
    "import": "convert a model file of LIBLINEAR",
    "report": "write an HTML page about a model and how it was learned",
    "completion": "print a script for completion in a shell",
}


def command_module(name: str) -> ModuleType:
    """Import a command's module; where its name is a word of Python's, a line is added to it."""
    return import_module(
        f"polyak.cli.commands.{name}_" if iskeyword(name) else f"polyak.cli.commands.{name}"
    )

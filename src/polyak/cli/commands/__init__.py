"""The commands: one module each, with a ``parser()`` and a ``run(options)``."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from types import ModuleType

COMMANDS = {
    "train": "learn a model from a source, each row once, as it streams by",
    "predict": "predict labels, scores or probabilities, one line a row",
    "evaluate": "measure a model's loss and error on a source with targets",
    "inspect": "show what a model is, the learning rate found, the heaviest features",
    "convert": "write a source as a file that is read fast later: Parquet, npz, svmlight",
    "export": "write a model for other programs: ONNX, scikit-learn, LIBLINEAR, a table",
    "import": "make a model of one that LIBLINEAR wrote",
    "report": "show a model and how it was learned on one HTML page",
    "reproduce": "run the paper's experiments and see which of its claims hold",
    "data": "list the data sets of the paper, and fetch real ones",
    "demo": "learn from a data set made on the spot, and show what comes of it",
    "completion": "print a script that completes polyak's arguments in a shell",
}


def command_module(name: str) -> ModuleType:
    """Import a command's module; where its name is a word of Python's, a line is added to it."""
    return import_module(
        f"polyak.cli.commands.{name}_" if iskeyword(name) else f"polyak.cli.commands.{name}"
    )

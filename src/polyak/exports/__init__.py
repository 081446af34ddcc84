"""Models for other programs: one module per format, and `export`, their entry point."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import PurePath
from typing import Any

from polyak.exports.export_input import export_input_of

FORMATS = {
    "onnx": "an ONNX graph: labels, probabilities and scores from dense rows",
    "skops": "a scikit-learn estimator in a file that runs no code when it is loaded",
    "csv": "a table of the weights, one line per feature and class, for other programs",
    "tsv": "the same, with tabs",
    "txt": "the same, to look at",
}
SUFFIXES = {f".{name}": name for name in FORMATS}
TABLES = ("csv", "tsv", "txt")
_HOMES = {"skops": "sklearn_estimator"}


def export(source: Any, path: str | os.PathLike[str], to: str | None = None) -> list[str]:
    r"""Write a model in a format that another program reads.

    Parameters
    ----------
    source : LinearModel, fitted estimator, or the path of a model file
    path : path
        The file to write; ``-`` is standard output, for the formats that are text.
    to : {"onnx", "skops", "csv", "tsv", "txt"}, optional
        The format, if the file's name does not tell.

    Returns
    -------
    list of str
        What a user of the file has to know, in sentences. Often there is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from polyak import LinearModel
    >>> model = LinearModel(np.array([[0.5]]), np.zeros(1), "log_loss", np.array(["no", "yes"]))
    >>> export(model, "-", to="csv")
    feature,weight
    intercept,0.0
    0,0.5
    []
    """
    name = os.fspath(path)
    format = to or format_of(name)
    if format not in FORMATS:
        raise ValueError(f"there is no export to {format!r}; there are {', '.join(FORMATS)}")
    given = export_input_of(source)
    if format in TABLES:
        from polyak.exports import table

        return table.write(given, name, format)
    module = import_module(f"polyak.exports.{_HOMES.get(format, format)}")
    remarks: list[str] = module.write(given.in_use(), name)
    return remarks


def format_of(path: str) -> str:
    """Infer the format from the suffix of a file's name.

    Examples
    --------
    >>> format_of("clicks.onnx"), format_of("-")
    ('onnx', 'txt')
    """
    suffix = PurePath(path).suffix.lower()
    if path == "-":
        return "txt"
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise ValueError(f"cannot infer the format of {path} from its suffix ({known}); pass to=")
    return SUFFIXES[suffix]

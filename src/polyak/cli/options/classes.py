"""Labels given by the user: separated by commas, as a JSON list, or in a file."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def add_classes(group: Any) -> None:
    """Add the options; one of them may be given."""
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--classes",
        metavar="A,B,...",
        help='all class labels, or a JSON list such as ["a, b", "c"] (default: those found)',
    )
    either.add_argument(
        "--classes-file",
        metavar="FILE",
        help="read the class labels from a file: one per line, or a JSON list",
    )
    group.add_argument(
        "--multilabel",
        action="store_true",
        help="rows of svmlight or VW text may have several labels, as in 1,5,7, or none",
    )


def classes_of(options: Namespace) -> NDArray[Any] | None:
    """Return the labels that the options name; raise ValueError if they are not valid."""
    if options.classes_file is not None:
        try:
            with open(options.classes_file, encoding="utf-8-sig") as file:
                text = file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"{options.classes_file} is not UTF-8") from error
        words = [line for line in text.split("\n") if line.strip()]
        return _labels(text, words, options.classes_file)
    if options.classes is None:
        return None
    words = [word.strip() for word in options.classes.split(",")]
    return _labels(options.classes, words, "--classes")


def _labels(text: str, words: list[str], source: str) -> NDArray[Any]:
    """Read classes: numbers if all of them are, otherwise words."""
    import numpy as np

    found: list[Any] | None = _json_list(text)
    if found is None:
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = words
    if not all(isinstance(label, str) for label in found):
        if any(isinstance(label, bool) or not isinstance(label, int | float) for label in found):
            raise ValueError(f"{source} needs a list of words, or one of numbers")
        found = [float(label) for label in found]
    labels = np.unique(found) if found else np.empty(0)
    if len(labels) < 2 or len(labels) < len(found):
        shown = text if len(text) < 60 else f"{text[:59]}…"
        raise ValueError(f"{source} needs two labels or more, each once, not {shown!r}")
    return labels


def _json_list(text: str) -> list[Any] | None:
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else None
    except ValueError:
        return None
    return found if isinstance(found, list) else None

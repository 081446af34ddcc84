"""What scoring takes of a model file, as the core takes it: read without NumPy.

To import NumPy takes as long as to read and score 100 MB of text. Of most models of numbered
features the core needs no more than two tables of numbers, which a `memoryview` is as good for.
Whatever else a file may hold, or may have wrong with it, is for `polyak.storage.model_file`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from polyak._core import CheckedRows, score_lines
from polyak.errors import ModelFileError
from polyak.free_memory import check_memory
from polyak.rows.label_text import label_text
from polyak.storage.container import Page, Stored, read_stored
from polyak.storage.shapes import either, many, maybe, real, record, whole, word

NEWEST_FORMAT = 3
"""Up to here a model has one answer a class, or is one of numbers whose scores are what it says."""
MOST_PLACED = 1 << 16
"""To put so many weights in their places takes half as long as to import NumPy, which would."""
_FLOATS: dict[str, Literal["f", "d"]] = {"<f4": "f", "<f8": "d"}
_INTEGERS: dict[str, Literal["i", "q"]] = {"<i4": "i", "<i8": "q"}
_LABELS = ("<f8", "<i8", "<U", "|O")
"""The types of labels that JSON's numbers and words stand for, to the last letter."""
_PLAIN = record(
    {
        "features": record({"count": whole(), "first_id": whole(0, 1)}),
        "classes": maybe(record({"type": word(), "values": many(either(real(), word()), least=2)})),
    }
)


class Scorer(NamedTuple):
    """A model of numbered features: weights, intercept, and what its best scores are called."""

    first_id: int
    weights: memoryview[float]
    intercept: memoryview[float]
    names: list[str] | None

    def lines(self, rows: CheckedRows) -> bytes:
        """Write a line for each row: its scores, or the name of the best."""
        return score_lines(rows, self.weights, self.intercept, self.names)


def read_scorer(path: str, what: str) -> Scorer | None:
    """Read what gives ``labels`` (or values) or ``scores``; None if that takes the whole model."""
    try:
        page, stored = read_stored(path, "model", NEWEST_FORMAT)
        return _scorer(page, stored, what)
    except (ModelFileError, KeyError, TypeError, ValueError, ArithmeticError):
        return None  # whoever reads the whole of it says why


def _scorer(page: Page, stored: dict[str, Stored], what: str) -> Scorer | None:
    _PLAIN(page, "page")
    classes, features = page["classes"], page["features"]
    if page["format"] < 2 or features.keys() & {"bits", "schema"} or what == "proba":
        return None
    weights = stored["weights"] if "weights" in stored else _of_all(stored, features["count"])
    intercept = stored["intercept"]
    (outputs,) = intercept.shape
    if intercept.type != "<f8" or weights.shape != (features["count"], outputs):
        return None
    if classes is not None and outputs != _outputs(len(classes["values"])):
        return None
    return Scorer(features["first_id"], _table(weights), _table(intercept), _names(classes, what))


def _of_all(stored: dict[str, Stored], features: int) -> Stored:
    """Lay out the weights of all features, where a file has only those that weigh anything."""
    type, (used, outputs), values = stored["values"]
    indices = memoryview(stored["indices"].data).cast(_INTEGERS[stored["indices"].type])
    if used > MOST_PLACED:
        raise ValueError("too many to put in their places one by one")
    size = len(values) // used
    check_memory(features * size, features)
    table = bytearray(features * size)
    whole, each = memoryview(table), memoryview(values)
    for place, index in enumerate(indices):  # ValueError if there is no such feature
        whole[index * size : (index + 1) * size] = each[place * size : (place + 1) * size]
    return Stored(type, (features, outputs), table)


def _outputs(classes: int) -> int:
    return 1 if classes == 2 else classes


def _table(array: Stored) -> memoryview[float]:
    """See the bytes of an array as numbers; TypeError if there are none."""
    return memoryview(array.data).cast(_FLOATS[array.type], array.shape)


def _names(classes: Any, what: str) -> list[str] | None:
    if classes is None or what == "scores":
        return None
    if not classes["type"].startswith(_LABELS):
        raise ValueError("labels of a type that prints otherwise")
    return [label_text(label) for label in classes["values"]]

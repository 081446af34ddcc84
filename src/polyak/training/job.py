"""A training job: data and settings; its progress, and its outcome."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.data.find import read_once_only
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.errors import DataError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.rows.labels import labels_to_json

MEMORY = 256 << 20
"""Default limit on the bytes of rows that are loaded into memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What to learn, from what, and how.

    Attributes
    ----------
    source : path, list of paths, pattern or "-"
    recipe : Recipe
    classes : array, optional
    passes : int, optional
        How many times to learn each row; by default once, or as often as it pays where all rows
        are in memory.
    order : {"auto", "as-is"}
        In which order to learn the rows: random, or their own. If random, files whose rows fit in
        ``memory`` are loaded whole and learned as ``fit`` learns an array; larger ones are read
        block by block in random order.
    memory : int
        How many bytes the rows may take to be loaded whole.
    reading : ReadOptions
    checkpoint : path of a folder, optional
        Where to keep checkpoints, and to resume from the last if there is one.
    every_rows, every_seconds : int, float, optional
        How often to write one.
    check : bool
        Where all rows are in memory, compare predictions of later ones with their targets before
        they are learned, for the model's report.
    """

    source: Any
    recipe: Recipe = field(default_factory=Recipe)
    classes: NDArray[Any] | None = None
    passes: int | None = None
    order: str = "auto"
    memory: int = MEMORY
    reading: ReadOptions = field(default_factory=ReadOptions)
    checkpoint: str | None = None
    every_rows: int | None = None
    every_seconds: float | None = None
    check: bool = False

    def __post_init__(self) -> None:
        if self.order not in ("auto", "as-is"):
            raise ValueError(f"order is 'auto' or 'as-is', not {self.order!r}")
        loss = get_loss(self.recipe.loss)
        if self.reading.multilabel and not loss.classifies:
            raise ValueError(f"several labels are classes, but {loss.name} is a loss for numbers")
        if self.reading.columns.exposure is not None and not loss.log_link:
            raise ValueError(
                f"{loss.name} has no logarithm as its link: exposure= is for poisson and gamma, "
                "which loss= names"
            )
        if self.passes is None:
            return
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, not {self.passes}")
        if self.passes > 1 and self.recipe.intervals:
            raise ValueError("intervals are for rows that are read once, in one pass")
        if self.passes > 1 and (pipe := read_once_only(self.source)) is not None:
            raise ValueError(
                f"{pipe} can be read once only; passes needs one that can be read again"
            )

    def label_names(self, count: int, source: str) -> NDArray[Any]:
        """Return the names of ``count`` labels, a column each: the classes, or 0, 1, ..."""
        if self.classes is None:
            return np.arange(count)
        if len(self.classes) != count:
            raise DataError(
                f"{source} has {count} columns of labels, but classes= names {len(self.classes)}"
            )
        return self.classes

    def options(self) -> dict[str, Any]:
        """Return all settings that change what is learned from the same data."""
        classes = None if self.classes is None else labels_to_json(self.classes)
        of_run = {"classes": classes, "passes": self.passes or 1, "order": self.order}
        return asdict(self.recipe) | of_run | self.reading.what_counts()


@dataclass(slots=True, eq=False)
class Progress:
    """How far a run has come; the same object each time, brought up to date.

    ``learner`` is None where rows are only read, or workers learn them.
    """

    learner: Learner | None = None
    rows: int = 0
    rows_before: int = 0
    bytes_read: int = 0
    bytes_before: int = 0
    share: float | None = None
    share_before: float = 0.0
    seconds: float = 0.0
    bad_lines: int = 0
    first_bad_lines: tuple[BadLine, ...] = ()
    checkpoints: int = 0


class Outcome(NamedTuple):
    """What came of a job.

    ``model`` is None only if a run was interrupted before there was anything to make one of.
    """

    model: LinearModel | None
    progress: Progress
    interrupted: bool = False

"""What there is to learn: classes or numbers, as the first targets show."""

from __future__ import annotations

import io
import warnings
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyak.data.options import ReadOptions

MOST_CLASSES = 20
"""More different whole numbers than that are numbers to predict."""
ROWS_A_CLASS = 5
"""Classes come up again and again: of fewer rows for each there are two at most."""
ROWS = 1000


class Task(NamedTuple):
    """A loss, and why it was chosen."""

    loss: str
    reason: str


def task_of(targets: NDArray[Any]) -> Task:
    """Tell classes from numbers: words, truths and few whole numbers are classes.

    Examples
    --------
    >>> import numpy as np
    >>> task_of(np.array(["no", "yes", "no"]))
    Task(loss='log_loss', reason='2 classes, no and yes')
    >>> task_of(np.array([0.5, 1.0, 1.5]))
    Task(loss='squared_error', reason='numbers from 0.5 to 1.5')
    >>> task_of(np.arange(30.0)).loss, task_of(np.repeat([1.0, 2.0, 3.0], 10)).loss
    ('squared_error', 'log_loss')
    """
    import numpy as np

    from polyak.rows.labels import distinct, label_text

    labels = distinct(targets)
    if targets.dtype.kind in "iuf":
        whole = bool((np.floor(targets) == targets).all())
        few = len(labels) <= max(2, min(MOST_CLASSES, len(targets) // ROWS_A_CLASS))
        if not (whole and few):
            low, high = label_text(labels[0]), label_text(labels[-1])
            return Task("squared_error", f"numbers from {low} to {high}")
    shown = [label_text(label) for label in labels[:5]]
    if len(shown) == 1:
        return Task("log_loss", f"classes, of which the first rows have {shown[0]} only")
    last = ", …" if len(labels) > 5 else f" and {shown.pop()}"
    return Task("log_loss", f"{len(labels)} classes, {', '.join(shown)}{last}")


def find_task(options: Namespace) -> Task:
    """Look at the first targets of a source, or at what the options say of them.

    Where they cannot be read, whoever reads them all will say why.
    """
    if options.classes is not None or options.positive is not None:
        return Task("log_loss", "classes, as the options say")
    from polyak.cli.columns import read_options
    from polyak.data.find import find_files, read_once_only
    from polyak.data.options import Columns
    from polyak.errors import DataError

    try:
        source: Any = options.source
        if read_once_only(source) is not None:
            options.source = find_files(source)  # what was read of them is read again
            source = beginning(options.source[0])
        reading = read_options(options)
        only = Columns(target=options.target, bits=reading.columns.bits)
        targets = _first_targets(source, replace(reading, columns=only))
    except (DataError, ValueError):
        targets = None
    return Task("log_loss", "") if targets is None else task_of(targets[:ROWS])


def _first_targets(source: Any, reading: ReadOptions) -> NDArray[Any] | None:
    from polyak.data.open import open_stream

    how = replace(reading, threads=0, warn_if_sorted=False, shuffle_buffer=0, skip_bad_lines=True)
    with (
        warnings.catch_warnings(action="ignore"),
        open_stream(source, how, block_bytes=1 << 18) as stream,
    ):
        return next(stream).targets


def beginning(file: Any) -> Any:
    """Give the first whole lines of what can be read once, as a file of their own."""
    from polyak.data.sources.first_bytes import first_bytes

    text = first_bytes(file, 1 << 16)
    begun = io.BytesIO(text[: text.rfind(b"\n") + 1] or text)
    begun.name = file.name
    return begun

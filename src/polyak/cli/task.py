"""A look at how a source begins: its columns, and the loss by the first targets."""

from __future__ import annotations

import io
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from polyak.cli.errors import say
from polyak.cli.options.columns import read_options
from polyak.cli.options.parser import terminal_width
from polyak.cli.output import escaped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyak.data.options import ReadOptions
    from polyak.data.stream import Stream
    from polyak.data.tables.look import TableLook
    from polyak.model.schema import Schema

MOST_CLASSES = 20
"""More different whole numbers than that are numbers to predict."""
ROWS_A_CLASS = 5
"""Classes come up again and again: of fewer rows for each there are two at most."""
ROWS = 1000
WIDEST = 32
"""The most letters of a column's name on the screen."""


class Task(NamedTuple):
    """A loss, and why it was chosen."""

    loss: str
    reason: str
    advice: str = "--loss sets another"


def task_of(targets: NDArray[Any]) -> Task:
    """Choose the loss: words, booleans and few different whole numbers are classes.

    Examples
    --------
    >>> import numpy as np
    >>> task_of(np.array(["no", "yes", "no"]))[:2]
    ('log_loss', '2 classes, no and yes')
    >>> task_of(np.array([0.5, 1.0, 1.5]))[:2]
    ('squared_error', 'numbers from 0.5 to 1.5')
    >>> task_of(np.arange(30.0)).loss, task_of(np.repeat([1.0, 2.0, 3.0], 10)).loss
    ('squared_error', 'log_loss')
    """
    import numpy as np

    from polyak.rows.label_sets import are_sets, labels_in
    from polyak.rows.label_text import label_text

    if targets.ndim == 2:
        has_labels = bool(np.isin(targets, (0, 1)).all())
        columns = f"{targets.shape[1]} columns of {'zeros and ones' if has_labels else 'numbers'}"
        return Task("log_loss" if has_labels else "squared_error", columns)
    labels = labels_in(targets)
    if are_sets(targets):
        return Task("log_loss", f"several labels a row, of {len(labels)} in the first rows")
    if targets.dtype.kind in "iuf":
        whole = bool((np.floor(targets) == targets).all())
        few = len(labels) <= max(2, min(MOST_CLASSES, len(targets) // ROWS_A_CLASS))
        if not (whole and few):
            low, high = label_text(labels[0]), label_text(labels[-1])
            task = Task("squared_error", f"numbers from {low} to {high}")
            if whole and labels[0] in (0, 1):
                return task._replace(advice="--loss poisson is for counts")
            return task
    shown = [label_text(label) for label in labels[:5]]
    if len(shown) == 1:
        return Task("log_loss", f"classes, of which the first rows have {shown[0]} only")
    last = ", …" if len(labels) > 5 else f" and {shown.pop()}"
    return Task("log_loss", f"{len(labels)} classes, {', '.join(shown)}{last}")


def look_at_source(options: Namespace) -> TableLook | None:
    """Print how a table's columns are read, and choose the loss that fits the target.

    Return the summary of the columns of a table. A source that cannot be read is no error here:
    training reads all of it, and raises the error.
    """
    silent = options.quiet or options.json
    if options.loss is not None and silent and not options.report:
        return None
    from polyak.data.find import find_files, read_once_only
    from polyak.errors import DataError

    schema = None
    try:
        source: Any = options.source
        if read_once_only(source) is not None:
            options.source = find_files(source)  # their first bytes are kept and read again
            source = beginning(options.source[0])
        reading = read_options(options)
        with _opened(source, reading) as stream:
            schema = stream.schema
            look = None if silent and not options.report else stream.look()
            _choose_loss(options, source, stream, silent)
            if look is not None and not silent:
                show_columns(look)
            return look
    except (DataError, ValueError):
        options.loss = options.loss or _loss_by_schema(schema)
        return None


def _loss_by_schema(schema: Schema | None) -> str:
    """Choose the loss without rows, so that their fault is told rather than that of the loss."""
    target = None if schema is None else schema.target
    if target is None or target.kind == "class" or target.positive is not None:
        return "log_loss"
    return "squared_error" if target.values > MOST_CLASSES else "log_loss"


def _choose_loss(options: Namespace, source: Any, stream: Stream, silent: bool) -> None:
    if options.loss is not None:
        return
    targets = None
    named = (options.classes, options.classes_file, options.positive)
    if not any(name is not None for name in named):
        targets = next(stream).targets
    if targets is not None and _are_sorted(targets[:ROWS]):
        # The first of sorted rows have few of the values: look at rows from all over the files.
        with _opened(source, replace(read_options(options), random_order=True)) as mixed:
            targets = next(mixed).targets
    task = Task("log_loss", "") if targets is None else task_of(targets[:ROWS])
    options.loss, reason, advice = task
    if reason and not silent:
        target = f"the target {options.target}" if options.target else "the target"
        say(f"{target} has {reason}: the loss is {options.loss} ({advice})")


def _are_sorted(targets: NDArray[Any]) -> bool:
    """Whether targets are numbers that never decrease, or never increase."""
    if targets.dtype.kind not in "iuf" or targets.ndim > 1:
        return False
    steps = targets[1:] - targets[:-1]
    return bool((steps >= 0).all() or (steps <= 0).all())


def _opened(source: Any, reading: ReadOptions) -> Stream:
    """Open a source to look at how it begins, without a word about what is wrong with it."""
    from polyak.data.open import open_stream

    how = replace(reading, threads=0, warn_if_sorted=False, shuffle_buffer=0, skip_bad_lines=True)
    with warnings.catch_warnings(action="ignore"):
        return open_stream(source, how, block_bytes=1 << 18)


def beginning(file: Any) -> Any:
    """Return the first whole lines of a pipe as a file of their own."""
    from polyak.data.sources.compression import first_bytes

    text = first_bytes(file, 1 << 16)
    head = io.BytesIO(text[: text.rfind(b"\n") + 1] or text)
    head.name = file.name
    return head


def show_columns(look: TableLook) -> None:
    """Print one line per column, cut to the width of the terminal."""
    from polyak.data.tables.inference import SAMPLE_ROWS

    print(
        *block([column.cells() for column in look.columns], terminal_width(2)),
        sep="\n",
        file=sys.stderr,
    )
    if look.others:
        print(f"  … and {look.others:,} more columns", file=sys.stderr)
    if look.rows >= SAMPLE_ROWS:
        print(f"  as in the first {look.rows:,} rows", file=sys.stderr)


def block(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Lay cells out in columns, of which the first is cut where it is too long.

    Examples
    --------
    >>> block([("age", "number", "1 to 99"), ("city of birth", "words", "3 different")], 34)
    ['  age            number  1 to 99', '  city of birth  words   3 differ…']
    """
    shown = [(_cut(escaped(row[0]), WIDEST), *map(escaped, row[1:])) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  " + "  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    return [_cut(line, width) for line in lines]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

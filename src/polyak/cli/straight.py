"""The straight way of ``polyak predict``, from text to lines: the core reads, scores and prints.

Nothing on it needs NumPy, nor what stands on NumPy, and their import takes as long as all of it
does for 100 MB. It is for what most text and most models are. Where anything is not, even a single
line, it ends, and the usual way begins, which knows what to do with it and what to say.
"""

from __future__ import annotations

import os
from argparse import Namespace

from polyak._core import LineTooLong, TextBlock
from polyak.cli.options.dialect import is_described
from polyak.data.find import find_files
from polyak.data.formats.registry import format_of
from polyak.data.head_start import HeadStart, TextReader
from polyak.data.write.written_file import written_file
from polyak.errors import DataError
from polyak.storage.container import check_writable
from polyak.storage.scorer import Scorer, read_scorer
from polyak.training.interrupts import Interrupts


def predict_straight(options: Namespace, begun: HeadStart) -> int | None:
    """Write a line a row; None if all are written, else how many rows have theirs already.

    Those are in an output that cannot be taken back; of a file that is not complete none is left.
    """
    output = options.output
    if output != "-" and os.path.exists(output) and not os.path.isfile(output):
        return 0  # a device, or something that cannot be written
    if is_described(options) or not _is_svmlight(options):
        return 0
    scorer = read_scorer(options.model, options.what)
    if scorer is None:
        return 0
    zero_based = options.zero_based
    reader = begun.taken_over_from(scorer.first_id if zero_based is None else int(not zero_based))
    return 0 if reader is None else _write(scorer, reader, output)


def _is_svmlight(options: Namespace) -> bool:
    try:
        return (options.format or format_of(find_files(options.source))) == "svmlight"
    except DataError:
        return False


def _write(scorer: Scorer, reader: TextReader, output: str) -> int | None:
    rows = 0
    try:
        with Interrupts():  # so that a file that is not complete is taken away
            if output != "-":
                check_writable(output)
            with written_file(output) as file:
                while (block := _next(reader)) is not None:
                    file.write(scorer.lines(block.checked))
                    rows += len(block.checked)
                if not rows:
                    raise _NotPlain
    except _NotPlain:
        return rows if output == "-" else 0
    return None


def _next(reader: TextReader) -> TextBlock | None:
    """Give the next block; a bad line, or a file that cannot be read, ends the straight way."""
    try:
        block = reader.next()
    except (LineTooLong, RuntimeError) as error:
        raise _NotPlain from error
    if block is not None and block.bad_lines:
        raise _NotPlain
    return block


class _NotPlain(Exception):  # noqa: N818  (nothing is wrong yet)
    pass

"""``polyak predict``: a line of text for every row of a source."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from polyak.cli.arguments import Parser, add_model, add_source
from polyak.cli.errors import say
from polyak.cli.memory import keep_freed_memory


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("predict", "Predict labels, scores or probabilities, one line a row.")
    add_model(parser)
    add_source(parser)
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="the file to write (standard output)"
    )
    parser.add_argument(
        "--what",
        choices=("labels", "scores", "proba"),
        default="labels",
        help="what to write for each row (labels, or the value in regression)",
    )
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    keep_freed_memory()
    from polyak.cli.source import open_for
    from polyak.model import LinearModel
    from polyak.predictions import line_writer

    model = LinearModel.load(options.model)
    lines = line_writer(model, options.what)
    source = open_for(model, options.source, options, targets=False)
    with source as stream, _opened(options.output) as file:
        for batch in stream:
            file.write(lines(batch.rows))
        for line in stream.first_bad_lines:
            say(f"skipped {line}")
        if stream.bad_lines:
            say(f"warning: {stream.bad_lines:,} bad lines have no prediction")
    return 0


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    from polyak.container import check_writable, writing

    if path == "-":
        with writing("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    check_writable(path)
    with writing(path), open(path, "wb") as file:
        yield file

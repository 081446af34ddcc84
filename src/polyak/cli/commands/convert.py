"""``polyak convert``: any source to a file that is read fast later."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import UsageError, say
from polyak.cli.options.arguments import Parser, add_json, add_source
from polyak.cli.options.columns import add_columns, read_options
from polyak.cli.overwriting import check_outputs
from polyak.data.formats.registry import WRITTEN, suffixes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyak.data.stream import Stream
    from polyak.model.linear import LinearModel
    from polyak.rows.batch import Batch

EPILOG = "\n".join(
    [
        "Learning from the converted file gives the same model as learning from the source.",
        *(f"  {format.suffixes[0]:<9} {format.written}" for format in WRITTEN.values()),
        "\nexample:\n  polyak convert logs-*.svm.gz logs.npz",
    ]
)


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser("convert", "Convert data to a file that can be read fast.", epilog=EPILOG)
    add_source(parser)
    parser.add_argument("output", metavar="FILE", help=f"file to write: {suffixes_of(WRITTEN)}")
    parser.add_argument(
        "--for",
        dest="model",
        metavar="MODEL",
        help="write the features as this model reads them, for programs it was exported to",
    )
    add_json(parser)
    add_columns(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    from polyak.cli.display import counting
    from polyak.cli.output import print_figures
    from polyak.data.write.convert import convert, format_of
    from polyak.storage.container import check_writable
    from polyak.training.interrupts import Interrupts

    try:
        format = format_of(options.output)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if options.model is not None and format == "parquet":
        raise UsageError("--for writes features, not columns: name a .npz or .svm file")
    check_outputs({"output": options.output}, {"source": options.source, "model": options.model})
    with Interrupts():  # removes an incomplete file
        check_writable(options.output)
        with counting(quiet=options.quiet or options.json) as watch:
            if options.model is not None:
                stream = _convert_for_model(options, watch)
            else:
                with _open(options) as stream:
                    convert(stream, options.output, watch)
    for line in stream.first_bad_lines:
        say(f"skipped {line}")
    print_figures(_figures(stream, options.output), options.json)
    return 0


def _convert_for_model(options: Namespace, watch: Callable[[Stream], None]) -> Stream:
    """Write the rows that programs take which a model was exported to, with targets if all have."""
    from polyak.cli.source import open_for
    from polyak.data.find import read_once_only
    from polyak.data.write.convert import convert
    from polyak.errors import DataError
    from polyak.model.in_use import features_in_use, rows_in_use
    from polyak.model.linear import LinearModel

    model = LinearModel.load(options.model)
    used = features_in_use(model)

    def change(batch: Batch) -> Batch:
        rows = batch.rows if used is None else rows_in_use(batch.rows, used)
        return replace(batch, rows=rows, targets=_targets(batch, model, options.output))

    def write(targets: bool) -> Stream:
        with open_for(model, options.source, options, targets=targets) as stream:
            if used is not None:
                stream.hashing = None  # the rows have numbers of their own
            convert(stream, options.output, watch, unlabelled=True, change=change)
        return stream

    if read_once_only(options.source) is None:
        try:
            stream = write(targets=True)
        except DataError:
            pass  # without targets; any other error is raised below
        else:
            if not stream.rows_without_target:
                return stream
    return write(targets=False)


def _targets(batch: Batch, model: LinearModel, path: str) -> Any:
    """Return the targets of a batch; in text, classes that are words are numbered.

    Files of converted rows have no room for several labels a row.
    """
    import numpy as np

    from polyak.data.write.convert import format_of

    targets = None if model.multilabel else batch.targets
    if targets is None or model.classes is None or targets.dtype.kind in "biuf":
        return targets
    if format_of(path) != "svmlight":
        return targets
    order = np.argsort(model.classes)
    place = np.searchsorted(model.classes, targets, sorter=order)
    return order[np.minimum(place, len(order) - 1)].astype(np.float64)


def _open(options: Namespace) -> Stream:
    from polyak.data.write.convert import open_source

    try:
        reading = read_options(options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return open_source(options.source, options.output, reading)


def _figures(stream: Stream, path: str) -> dict[str, Any]:
    figures: dict[str, Any] = {"file": path, "rows": stream.rows_read}
    if stream.rows_without_target:
        figures["rows_without_target"] = stream.rows_without_target
    if stream.bad_lines:
        figures["bad_lines"] = stream.bad_lines
    return figures | {"megabytes": round(os.path.getsize(path) / 1e6, 1)}

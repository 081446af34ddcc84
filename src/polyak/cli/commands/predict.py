"""``polyak predict``: a line of text, or a row of a table, for every row of a source."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import UsageError, say
from polyak.cli.options.arguments import Parser, add_model, add_source
from polyak.cli.overwriting import check_outputs
from polyak.data.formats.registry import PREDICTED, suffixes_of
from polyak.data.text import SCORED_BYTES

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel
    from polyak.rows.batch import Batch


EXAMPLE = """\
example:
  polyak predict flights.polyak tomorrow.csv --what proba -o predicted.csv
"""


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser(
        "predict", "Predict labels, scores or probabilities, one line per row.", epilog=EXAMPLE
    )
    add_model(parser)
    add_source(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help=f"file to write (default: standard output); a table if {suffixes_of(PREDICTED)}",
    )
    parser.add_argument(
        "--to",
        choices=("lines", *PREDICTED),
        help="format, if not clear from the name of FILE",
    )
    parser.add_argument(
        "--keep",
        type=lambda text: text.split(","),
        default=[],
        metavar="COLUMNS",
        help="columns of the source to write next to the predictions, separated by commas, or "
        "'*' for all; for VW text, 'tag'",
    )
    parser.add_argument(
        "--row-number",
        action="store_true",
        help="write the number of each row, starting at 1, next to its prediction",
    )
    parser.add_argument(
        "--what",
        choices=("labels", "scores", "proba", "contributions"),
        default="labels",
        help="what to write for each row (default: labels, or the value for regression); "
        "contributions are what each column and the intercept add to the score",
    )
    parser.add_argument(
        "--intervals",
        action="store_true",
        help="also write 95%% intervals; needs a model trained with --intervals",
    )
    parser.set_defaults(block_bytes=SCORED_BYTES)
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    check_outputs({"output": options.output}, {"source": options.source, "model": options.model})
    format = _format(options)
    from polyak.cli.source import open_for
    from polyak.data.text import KEPT_OF_VW
    from polyak.model.linear import LinearModel
    from polyak.training.interrupts import Interrupts

    model = LinearModel.load(options.model)
    with (
        Interrupts(),  # removes an incomplete file
        open_for(model, options.source, options, targets=False, gaps=True) as stream,
        _written(model, options, format) as write,
    ):
        of_vw = stream.format == "vw" and options.keep in KEPT_OF_VW
        if options.keep and stream.schema is None and not of_vw:
            raise ValueError(f"{stream.format} rows have no columns to keep: --keep needs a table")
        for batch in stream:
            write(batch)
        for line in stream.first_bad_lines:
            say(f"skipped {line}")
        if stream.bad_lines:
            lines = "bad line has" if stream.bad_lines == 1 else "bad lines have"
            say(f"warning: {stream.bad_lines:,} {lines} an empty prediction")
    return 0


def _format(options: Namespace) -> str:
    """Return the format to write: "lines" of text, or that of a table."""
    from polyak.data.write.written_file import table_format

    try:
        format: str = options.to or table_format(options.output) or "lines"
    except ValueError as error:
        raise UsageError(str(error)) from error
    wishes = {
        "--keep": options.keep,
        "--row-number": options.row_number,
        "--intervals": options.intervals,
        "--what contributions": options.what == "contributions",
    }
    asked = next((name for name, on in wishes.items() if on), None)
    if asked is None or format != "lines":
        return format
    if options.output == "-" and options.to is None:
        return "csv"
    raise UsageError(f"lines of text have no columns beside them: {asked} needs a table, say .csv")


def _bounds(model: LinearModel, options: Namespace) -> Callable[[Any], tuple[Any, Any]] | None:
    """Return the function that computes the ends of intervals, if they are asked for."""
    if not options.intervals:
        return None
    from polyak.model.intervals import (
        interval_kind,
        proba_interval,
        score_interval,
        value_interval,
    )

    if interval_kind(model) is None:
        raise ValueError(f"{options.model} has no intervals: train it with --intervals")
    if options.what == "contributions":
        raise UsageError("contributions have no intervals: add --what scores, or leave them out")
    if model.classes is not None and options.what == "labels":
        raise UsageError("labels have no intervals: add --what proba or --what scores")
    scores = score_interval if model.classes is not None else value_interval
    ends = proba_interval if options.what == "proba" else scores
    return lambda rows: ends(model, rows)


@contextmanager
def _written(
    model: LinearModel, options: Namespace, format: str
) -> Iterator[Callable[[Batch], None]]:
    """Open the output; yields the function that writes a batch."""
    from polyak.storage.container import check_writable

    if options.output != "-":
        check_writable(options.output)
    if format == "lines":
        from polyak.data.write.predictions import line_writer, with_empty_lines
        from polyak.data.write.written_file import written_file

        lines = line_writer(model, options.what)
        with written_file(options.output) as file:

            def write_lines(batch: Batch) -> None:
                file.write(with_empty_lines(lines(batch.rows), batch.gaps))

            yield write_lines
        return
    from polyak.data.write.prediction_tables import (
        table_maker,
        table_sink,
        with_empty_rows,
        with_row_numbers,
    )

    table = table_maker(model, options.what, _bounds(model, options))
    rows = 0
    with table_sink(options.output, format) as write:

        def write_table(batch: Batch) -> None:
            nonlocal rows
            predicted = with_empty_rows(table(batch.rows, batch.kept), batch.gaps)
            write(with_row_numbers(predicted, rows) if options.row_number else predicted)
            rows += predicted.num_rows

        yield write_table

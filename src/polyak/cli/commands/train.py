"""``polyak train``: from a source to a model file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import STOPPED, UsageError, say
from polyak.cli.options.arguments import (
    Parser,
    add_json,
    add_source,
    averaging,
    not_negative,
    number_or_auto,
    positive,
    rows_or_seconds,
    size,
)
from polyak.cli.options.classes import add_classes, classes_of
from polyak.cli.options.columns import add_columns, read_options
from polyak.cli.options.dialect import split
from polyak.cli.options.learning import (
    add_engine,
    add_loss,
    add_loss_parameters,
    add_penalty,
    chosen_loss,
)
from polyak.cli.overwriting import check_folder_is_no_source, check_outputs
from polyak.data.text import BLOCK_BYTES

if TYPE_CHECKING:
    from polyak.data.tables.look import TableLook
    from polyak.training.job import Job, Outcome


EXAMPLE = """\
example:
  polyak train flights.csv --target delay -m flights.polyak --report flights.html
"""


RECIPE_OPTIONS = (
    *("recipe", "alpha", "eta0", "decay", "power_t", "average", "step", "precondition"),
    *("fit_intercept", "intervals", "seed", "penalty", "l1_ratio", "multi_class"),
    *("curves", "pairs"),
)
"""The options that have the name of a field of `Recipe`."""


def curve_columns(text: str) -> str | tuple[str, ...]:
    """Return the names of columns, or "all"."""
    return text if text == "all" else tuple(text.split(","))


def pairs_of_columns(text: str) -> str | int | tuple[tuple[str, ...], ...]:
    """Return a number of pairs, or the columns of each, or "auto"."""
    if text == "auto" or text.isdecimal():
        return int(text) if text.isdecimal() else text
    return tuple(tuple(pair.split(":")) for pair in text.split(","))


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser("train", "Learn a linear model from files, tables or streams.", epilog=EXAMPLE)
    parser.add_argument("-m", "--model", required=True, metavar="FILE", help="model file to write")
    parser.add_argument(
        "--test", action="append", metavar="FILE", help="evaluate the model on this file"
    )
    parser.add_argument("--report", metavar="FILE", help="write an HTML page about the model")
    add_json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    add_source(parser)
    add_columns(parser)
    _add_learning(parser)
    add_loss_parameters(parser)
    add_penalty(parser)
    _add_data(parser)
    _add_order(parser)
    add_engine(parser)
    return parser


def _add_learning(parser: Parser) -> None:
    how = parser.add_argument_group("learning")
    add_loss(how)
    how.add_argument(
        "--recipe",
        choices=("auto", "sgd", "paper", "paper-strict"),
        metavar="NAME",
        help="auto (tries several methods), sgd (averaged SGD only), paper or paper-strict",
    )
    how.add_argument(
        "--intervals",
        action="store_true",
        help="compute standard errors and confidence intervals",
    )
    how.add_argument(
        "--curves",
        nargs="?",
        const="all",
        type=curve_columns,
        metavar="COLUMNS",
        help="curved effects of numbers, all or those named",
    )
    how.add_argument(
        "--pairs",
        nargs="?",
        const="auto",
        type=pairs_of_columns,
        metavar="N|A:B,...",
        help="pairs of columns that interact, found or named",
    )
    how.add_argument("--seed", type=not_negative, metavar="N", help="random seed (default: 0)")
    _add_settings(parser.add_rare_group("settings of averaged SGD (auto: chosen from the data)"))


def _add_settings(how: Any) -> None:
    for name, field, what in (
        ("--alpha", "alpha", "strength of the penalty"),
        ("--eta0", "eta0", "initial learning rate"),
        ("--decay", "decay", "how fast the learning rate falls: a"),
        ("--power", "power_t", "exponent of the learning rate: c"),
    ):
        how.add_argument(name, dest=field, type=number_or_auto, metavar="X|auto", help=what)
    how.add_argument(
        "--average",
        type=averaging,
        metavar="auto|off|ROWS",
        help="average the iterates: from when it helps, never, or after this many rows",
    )
    how.add_argument(
        "--step",
        choices=("auto", "explicit", "implicit"),
        help="implicit steps never overshoot",
    )
    how.add_argument(
        "--precondition",
        type=number_or_auto,
        metavar="P|auto",
        help="scale the steps of each feature by its mean square to the power -P",
    )
    how.add_argument(
        "--multi-class",
        choices=("auto", "ovr"),
        help="auto: log_loss learns several classes together; ovr: one model against the rest each",
    )
    how.add_argument(
        "--no-intercept", dest="fit_intercept", action="store_false", help="do not fit an intercept"
    )


def _add_data(parser: Parser) -> None:
    data = parser.add_argument_group("data and checkpoints")
    data.add_argument(
        "--passes",
        type=positive,
        metavar="N",
        help="passes over the data (default: 1; in memory, until more do not help)",
    )
    data.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="write checkpoints there, or resume from them",
    )


def _add_order(parser: Parser) -> None:
    add_classes(parser.add_rare_group("labels of classes"))
    data = parser.add_rare_group("order, memory and progress")
    data.add_argument(
        "--order",
        choices=("auto", "as-is"),
        help="auto: rows of files in random order; as-is: in the order of the file, for data "
        "that changes over time (default: auto)",
    )
    data.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="load the rows of files into memory if they need no more than this (default: 256M)",
    )
    data.add_argument(
        "--n-features", type=positive, metavar="N", help="refuse rows with more features than this"
    )
    data.add_argument(
        "--shuffle-buffer",
        type=not_negative,
        default=0,
        metavar="ROWS",
        help="shuffle within a buffer of this many rows, for sorted files",
    )
    data.add_argument(
        "--checkpoint-every",
        type=rows_or_seconds,
        default=(None, 30.0),
        metavar="ROWS|TIME",
        help="how often, such as 100000 or 5m (default: 30s)",
    )
    data.add_argument(
        "--block-bytes", type=positive, default=BLOCK_BYTES, metavar="N", help="bytes per read"
    )
    data.add_argument(
        "--no-progress",
        dest="progress",
        action="store_false",
        help="print progress line by line even on a terminal",
    )


def run(options: Namespace) -> int:
    """Run the command."""
    _check_files(options)
    from polyak.cli.task import look_at_source
    from polyak.storage.container import check_writable

    job = _job(options)
    if options.engine or options.scheduler or options.workers or options.rounds:
        from polyak.cli.distributed import check

        check(job, options)
    from polyak.training.interrupts import Interrupts

    with Interrupts():
        check_writable(options.model)
        if options.report:
            check_writable(options.report)
        if options.checkpoint:
            from polyak.training.checkpoint import CheckpointFolder

            with CheckpointFolder(options.checkpoint).held():
                pass
        look = look_at_source(options)  # once all is known to make sense: it may wait for rows
        job = _job(options)
        return _finish(job, _train(job, options), options, look)


def _check_files(options: Namespace) -> None:
    """Refuse to write over what is read."""
    kept: list[str] = []
    if options.checkpoint:
        from polyak.training.checkpoint import CheckpointFolder

        check_folder_is_no_source(options.checkpoint, options.source)
        kept = CheckpointFolder(options.checkpoint).files()
    check_outputs(
        {"checkpoint": kept, "model": options.model, "report": options.report},
        {"source": options.source, "target": options.target, "test set": options.test},
    )


def _job(options: Namespace) -> Job:
    from polyak.learn.recipes import Recipe
    from polyak.training.job import Job

    def given(names: Iterable[str]) -> dict[str, Any]:
        """Return the options that were given, so that `Recipe` and `Job` hold all defaults."""
        found = {name: getattr(options, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    if options.engine:
        options.order = "as-is"
    every_rows, every_seconds = options.checkpoint_every
    try:
        return Job(
            source=options.source,
            recipe=Recipe(
                loss=chosen_loss(options),
                positive=options.non_negative or split(options.positive_columns) or False,
                negative=split(options.negative),
                increasing=split(options.increasing),
                decreasing=split(options.decreasing),
                **given(RECIPE_OPTIONS),
            ),
            classes=classes_of(options),
            passes=options.passes,
            **given(("order", "memory")),
            reading=read_options(options),
            checkpoint=options.checkpoint,
            every_rows=every_rows,
            every_seconds=every_seconds,
            check=bool(options.report) and not options.test,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _train(job: Job, options: Namespace) -> Outcome:
    if options.engine:
        from polyak.cli.distributed import train as train_on_cluster

        return train_on_cluster(job, options)
    from polyak.cli.display import display
    from polyak.training.job import Progress
    from polyak.training.loop import train

    shown = display(quiet=options.quiet or options.json, live=options.progress)
    resumed = False

    def watch(progress: Progress) -> None:
        nonlocal resumed
        if progress.rows_before and not resumed:
            say(f"resuming at row {progress.rows_before:,}")
            resumed = True
        shown(progress)

    try:
        return train(job, watch)
    finally:
        shown.close()


def _finish(job: Job, outcome: Outcome, options: Namespace, look: TableLook | None) -> int:
    """Write the model, print what was learned, and return the exit code."""
    from polyak.cli.output import print_figures
    from polyak.model.in_use import sparsified
    from polyak.training.loop import clear_checkpoints

    _warn(outcome)
    figures = _figures(outcome, options.json)
    if outcome.model is not None:
        model = sparsified(outcome.model) if options.sparsify else outcome.model
        if options.report:
            from polyak.cli.commands.report import with_source, write

            # Else the same rows give the same file, whatever theirs is called
            model = with_source(model, options.source, look)
        model.save(options.model)
        figures = {"model": options.model} | figures
        if options.report:
            write(model, options.model, options.report)
            figures = {"model": options.model, "report": options.report} | figures
    if outcome.interrupted:
        print_figures(figures, options.json)
        kept = [] if outcome.model is None else [f"the model is in {options.model}"]
        if job.checkpoint is not None and outcome.progress.checkpoints:
            kept.append(f"the same command resumes from the checkpoint in {job.checkpoint}")
        say(f"stopped at row {outcome.progress.rows:,}: {'; '.join(kept) or 'nothing to save'}")
        return STOPPED
    clear_checkpoints(job)
    if options.test:
        from polyak.cli.commands.evaluate import Measured, with_errors

        measured = Measured(model)
        tested = measured.read(options.test, options)
        if options.report:
            write(model, options.model, options.report, (options.test, measured.check.report()))
        if options.json:
            figures["test"] = tested
        else:
            figures |= {f"test_{name}": value for name, value in with_errors(tested).items()}
    print_figures(figures, options.json)
    return 0


def _warn(outcome: Outcome) -> None:
    for line in outcome.progress.first_bad_lines:
        say(f"skipped {line}")
    more = outcome.progress.bad_lines - len(outcome.progress.first_bad_lines)
    if more > 0:
        say(f"skipped {more:,} more bad lines")
    model = outcome.model
    if model is None or model.report is None:
        return
    if model.report.rows_without_target:
        schema = model.features.schema
        target = "label" if schema is None or schema.target is None else schema.target.name
        say(f"left out {model.report.rows_without_target:,} rows whose {target} is missing")
    for doubt in model.report.doubts:
        say(f"warning: {doubt}")


def _figures(outcome: Outcome, as_json: bool) -> dict[str, Any]:
    from polyak.cli.display import speeds
    from polyak.cli.race import recent_words, whole_past_words, winner, winner_words
    from polyak.model.in_use import features_in_use

    progress = outcome.progress
    rate, megabytes = speeds(progress)
    figures: dict[str, Any] = {"rows": progress.rows}
    if outcome.model is not None and outcome.model.report is not None:
        report = outcome.model.report
        needed = None if report.rows_needed is None else report.rows_needed.rows
        used = features_in_use(outcome.model)  # of hash slots, those with a weight
        figures["features"] = outcome.model.n_features if used is None else len(used)
        if report.has_zeros:
            figures["nonzero_weights"] = int((outcome.model.weights != 0).sum())
        if as_json:
            figures |= {"recent": report.recent, "winner": winner(report)}
            figures |= {"progressive_loss": report.progressive_loss}
            figures |= {"progressive_error": report.progressive_error, "rows_needed": needed}
        else:
            loss = outcome.model.loss
            figures |= recent_words(report, loss) | whole_past_words(report, loss)
            figures |= winner_words(report)
            figures |= {"averaging_pays_after": f"about {needed:,} rows"} if needed else {}
    if progress.rows_before:
        figures["resumed_at_row"] = progress.rows_before
    if progress.bad_lines:
        figures["bad_lines"] = progress.bad_lines
    return figures | {
        "seconds": progress.seconds,
        "rows_per_second": round(rate),
        "megabytes_per_second": float(f"{megabytes:.2g}"),
    }

"""``polyak train``: from a source to a model file."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from polyak.cli.arguments import (
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
from polyak.cli.columns import add_columns, read_options
from polyak.cli.errors import STOPPED, UsageError, say
from polyak.cli.outputs import check_folder_is_no_source, check_outputs
from polyak.cli.reading import begin_reading
from polyak.data.head_start import BLOCK_BYTES, HeadStart

if TYPE_CHECKING:
    from polyak.data.tables.look import TableLook
    from polyak.training.job import Job, Outcome


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("train", "Learn a model from a source, each row once, as it streams by.")
    add_source(parser)
    parser.add_argument(
        "-m", "--model", required=True, metavar="FILE", help="the model file to write"
    )
    parser.add_argument(
        "--test", action="append", metavar="FILE", help="evaluate the model on this in the end"
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write a page about the model, to look at in a browser"
    )
    add_json(parser)
    parser.add_argument(
        "--no-progress",
        dest="progress",
        action="store_false",
        help="on a terminal too, a line each time the rows double instead of a live one",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress at all")
    add_columns(parser)
    _add_learning(parser)
    _add_data(parser)
    _add_engine(parser)
    return parser


def _add_learning(parser: Parser) -> None:
    how = parser.add_argument_group("learning (what is auto is found from the data)")
    how.add_argument(
        "--loss",
        choices=("squared_hinge", "log_loss", "hinge", "squared_error"),
        help="what to minimise (log_loss where the target is classes: words, truths, few whole "
        "numbers; squared_error where it is numbers)",
    )
    how.add_argument(
        "--recipe",
        choices=("auto", "sgd", "paper"),
        default="auto",
        help="auto lets methods and settings race in the same pass, sgd only those of averaged "
        "SGD; paper follows the paper (auto)",
    )
    for name, what in {
        "--alpha": "the strength of the penalty",
        "--eta0": "the first learning rate",
        "--decay": "how fast the learning rate falls: a",
        "--power": "the learning rate's exponent: c",
    }.items():
        how.add_argument(name, type=number_or_auto, default="auto", metavar="X|auto", help=what)
    how.add_argument(
        "--average",
        type=averaging,
        default="auto",
        metavar="auto|off|ROWS",
        help="average the iterates from where it pays, never, or after so many rows",
    )
    how.add_argument(
        "--step",
        choices=("auto", "explicit", "implicit"),
        default="auto",
        help="implicit steps never overshoot",
    )
    how.add_argument(
        "--precondition",
        type=number_or_auto,
        default="auto",
        metavar="P|auto",
        help="move features by their mean square to the power -P",
    )
    how.add_argument(
        "--no-intercept", dest="intercept", action="store_false", help="learn no intercept"
    )
    how.add_argument(
        "--intervals",
        action="store_true",
        help="keep what standard errors and confidence intervals need, in the same pass",
    )
    how.add_argument("--seed", type=not_negative, default=0, metavar="N", help="of what is random")


def _add_data(parser: Parser) -> None:
    data = parser.add_argument_group("data and checkpoints")
    data.add_argument(
        "--order",
        choices=("auto", "as-is"),
        default="auto",
        help="auto learns the rows of files in random order; as-is as they stand, for streams "
        "whose order matters (auto)",
    )
    data.add_argument(
        "--memory",
        type=size,
        default="256M",
        metavar="SIZE",
        help="files whose rows need less memory are learned in memory, as fit learns an array "
        "(256M)",
    )
    data.add_argument(
        "--passes",
        type=positive,
        metavar="N",
        help="learn each row N times (once; in memory as many times as it pays)",
    )
    data.add_argument(
        "--classes", metavar="A,B,...", help="all labels; else those of the first 1000 rows"
    )
    data.add_argument(
        "--n-features", type=positive, metavar="N", help="refuse features beyond so many"
    )
    data.add_argument(
        "--shuffle-buffer",
        type=not_negative,
        default=0,
        metavar="ROWS",
        help="shuffle within so many rows; for files that are sorted",
    )
    data.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="keep checkpoints there, and go on from the last if there is one",
    )
    data.add_argument(
        "--checkpoint-every",
        type=rows_or_seconds,
        default=(None, 30.0),
        metavar="ROWS|TIME",
        help="how often, such as 100000 or 5m (30s)",
    )
    data.add_argument(
        "--block-bytes",
        type=positive,
        default=BLOCK_BYTES,
        metavar="N",
        help="text parsed at a time",
    )


def _add_engine(parser: Parser) -> None:
    engine = parser.add_argument_group("several machines or processes")
    engine.add_argument(
        "--engine", choices=("dask",), help="have the workers of a cluster learn, each its share"
    )
    engine.add_argument(
        "--scheduler", metavar="ADDRESS", help="of the cluster, such as tcp://host:8786"
    )
    engine.add_argument(
        "--workers", type=positive, metavar="N", help="start so many here (one a processor)"
    )
    engine.add_argument(
        "--rounds", type=positive, metavar="N", help="how often workers compare notes (found out)"
    )


def run(options: Namespace) -> int:
    """Do it."""
    _check_files(options)
    begun = None if options.engine else begin_reading(options)  # an engine's workers read
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
        return _finish(job, _train(job, options, begun), options, look)


def _check_files(options: Namespace) -> None:
    """Refuse to write over what is read."""
    kept: list[str] = []
    if options.checkpoint:
        from polyak.training.checkpoint import CheckpointFolder

        check_folder_is_no_source(options.checkpoint, options.source)
        kept = CheckpointFolder(options.checkpoint).files()
    check_outputs(
        {"checkpoint": kept, "model": options.model, "report": options.report},
        {"source": options.source, "test set": options.test},
    )


def _job(options: Namespace) -> Job:
    from polyak.learn.recipes import Recipe
    from polyak.training.job import Job

    every_rows, every_seconds = options.checkpoint_every
    try:
        return Job(
            source=options.source,
            recipe=Recipe(
                loss=options.loss or "log_loss",
                recipe=options.recipe,
                alpha=options.alpha,
                eta0=options.eta0,
                decay=options.decay,
                power_t=options.power,
                average=options.average,
                step=options.step,
                precondition=options.precondition,
                fit_intercept=options.intercept,
                intervals=options.intervals,
                seed=options.seed,
            ),
            classes=None if options.classes is None else _labels(options.classes),
            passes=options.passes,
            order="as-is" if options.engine else options.order,
            memory=options.memory,
            reading=read_options(options),
            checkpoint=options.checkpoint,
            every_rows=every_rows,
            every_seconds=every_seconds,
            check=bool(options.report) and not options.test,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _train(job: Job, options: Namespace, begun: HeadStart | None) -> Outcome:
    if options.engine:
        from polyak.cli.distributed import train as train_on_cluster

        return train_on_cluster(job, options)
    from polyak.cli.progress.live import display
    from polyak.training.job import Progress
    from polyak.training.loop import train

    shown = display(quiet=options.quiet or options.json, live=options.progress)
    resumed = False

    def watch(progress: Progress) -> None:
        nonlocal resumed
        if progress.rows_before and not resumed:
            say(f"going on from row {progress.rows_before:,}")
            resumed = True
        shown(progress)

    try:
        return train(job, watch, begun)
    finally:
        shown.close()


def _finish(job: Job, outcome: Outcome, options: Namespace, look: TableLook | None) -> int:
    """Write the model, say what was learned, and give the exit code."""
    from polyak.cli.commands.report import with_source, write
    from polyak.cli.output import print_figures
    from polyak.training.loop import clear_checkpoints

    _report_bad_lines(outcome)
    _report_missing_targets(outcome)
    _report_doubt(outcome)
    figures = _figures(outcome, options.json)
    if outcome.model is not None:
        model = outcome.model
        if options.report:  # else the same rows give the same file, whatever theirs is called
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
            kept.append(f"the same command goes on from the checkpoint in {job.checkpoint}")
        say(f"stopped at row {outcome.progress.rows:,}: {'; '.join(kept) or 'nothing to save'}")
        return STOPPED
    clear_checkpoints(job)
    if options.test:
        from polyak.cli.commands.evaluate import measure
        from polyak.model.checking import Check

        check = Check(model) if options.report else None
        measured = measure(model, options.test, options, check)
        if check is not None:
            write(model, options.model, options.report, (options.test, check.report()))
        if options.json:
            figures["test"] = measured
        else:
            figures |= {f"test_{name}": value for name, value in measured.items()}
    print_figures(figures, options.json)
    return 0


def _report_doubt(outcome: Outcome) -> None:
    from polyak.model.intervals import doubt

    found = None if outcome.model is None else doubt(outcome.model)
    if found is not None:
        say(f"warning: {found}")


def _report_bad_lines(outcome: Outcome) -> None:
    for line in outcome.progress.first_bad_lines:
        say(f"skipped {line}")
    more = outcome.progress.bad_lines - len(outcome.progress.first_bad_lines)
    if more > 0:
        say(f"skipped {more:,} more bad lines")


def _report_missing_targets(outcome: Outcome) -> None:
    model = outcome.model
    if model is not None and model.report is not None and model.report.rows_without_target:
        schema = model.features.schema
        target = "label" if schema is None or schema.target is None else schema.target.name
        say(f"left out {model.report.rows_without_target:,} rows whose {target} is missing")


def _figures(outcome: Outcome, as_json: bool) -> dict[str, Any]:
    from polyak.cli.progress.live import speeds
    from polyak.cli.race import recent_words, whole_past_words, winner, winner_words

    progress = outcome.progress
    rate, megabytes = speeds(progress)
    figures: dict[str, Any] = {"rows": progress.rows}
    if outcome.model is not None and outcome.model.report is not None:
        report = outcome.model.report
        needed = None if report.rows_needed is None else report.rows_needed.rows
        figures["features"] = outcome.model.n_features
        if as_json:
            figures |= {"recent": report.recent, "winner": winner(report)}
            figures |= {"progressive_loss": report.progressive_loss}
            figures |= {"progressive_error": report.progressive_error, "rows_needed": needed}
        else:
            figures |= recent_words(report) | whole_past_words(report) | winner_words(report)
            figures |= {"averaging_pays_after": f"about {needed:,} rows"} if needed else {}
    if progress.rows_before:
        figures["resumed_at_row"] = progress.rows_before
    if progress.bad_lines:
        figures["bad_lines"] = progress.bad_lines
    return figures | {
        "seconds": progress.seconds,
        "rows_per_second": round(rate),
        "megabytes_per_second": round(megabytes, 1),
    }


def _labels(text: str) -> Any:
    """Read classes: numbers if all of them are, otherwise words."""
    import numpy as np

    words = [word.strip() for word in text.split(",")]
    try:
        labels = np.unique([float(word) for word in words])
    except ValueError:
        labels = np.unique(words)
    if len(labels) < 2 or len(labels) < len(words):
        raise ValueError(f"--classes needs two labels or more, each once, not {text!r}")
    return labels

"""``polyak train --engine dask``: the same job, done by the workers of a cluster."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import UsageError, say
from polyak.cli.progress.bar import Bar

if TYPE_CHECKING:
    from polyak.distributed.dask.run import Result
    from polyak.distributed.dask.work import Progress
    from polyak.training.job import Job, Outcome


def check(job: Job, options: Namespace) -> None:
    """Refuse options that do not go together."""
    if not options.engine:
        for name in ("scheduler", "workers", "rounds"):
            if getattr(options, name):
                raise UsageError(f"--{name} needs --engine dask")
    if options.scheduler and options.workers:
        raise UsageError(
            "--scheduler names a cluster that is there and --workers starts one: give one of them"
        )
    for name, given in {
        "--checkpoint": job.checkpoint is not None,
        "--passes": (job.passes or 1) > 1,
        "--shuffle-buffer": job.reading.shuffle_buffer > 0,
    }.items():
        if given:
            raise UsageError(f"{name} is for one process, and cannot be had with --engine")
    if "-" in options.source:
        raise UsageError("the workers cannot read this command's standard input: name files")


def train(job: Job, options: Namespace) -> Outcome:
    """Do a job on a cluster."""
    try:
        from polyak.distributed.dask.cluster import connected
        from polyak.distributed.dask.run import run
    except ImportError as error:  # pragma: no cover - the extra is there wherever tests run
        raise UsageError(f"--engine dask needs the extra polyak[dask]: {error}") from error

    quiet = options.quiet or options.json
    bar = Bar(
        "looking at the first rows",
        live=options.progress and not quiet,
        every=None if quiet else 0.1,
    )

    def watch(progress: Progress) -> None:
        bar.show(progress.shards_done, progress.shards or None, words(progress))

    with connected(options.scheduler, options.workers) as client:
        if not quiet:
            workers = len(client.nthreads())
            them = f"{workers} workers; watch them" if workers != 1 else "1 worker; watch it"
            say(f"{them} at {client.dashboard_link}")
        with bar:
            result = run(job.source, _how(job), client=client, rounds=options.rounds, watch=watch)
    return _outcome(result)


def _how(job: Job) -> Any:
    from polyak import __version__
    from polyak.distributed.tasks import How

    return How(
        version=__version__,
        recipe=job.recipe,
        classes=None if job.classes is None else tuple(job.classes.tolist()),
        reading=job.reading,
    )


def _outcome(result: Result) -> Outcome:
    from polyak.training.finishing import finished
    from polyak.training.job import Outcome, Progress

    learner, run_counts = result.learner, result.run_counts
    progress = Progress(
        learner,
        rows=learner.rows_seen,
        bytes_read=result.bytes_read,
        seconds=result.progress.seconds,
        bad_lines=run_counts.bad_lines,
        first_bad_lines=tuple(run_counts.first_bad_lines),
    )
    return Outcome(finished(learner, result.known()), progress)


# -- progress --------------------------------------------------------------------------------------


def words(progress: Progress) -> str:
    """Return a line with the progress of a distributed run.

    Examples
    --------
    >>> from polyak.distributed.dask.work import Progress
    >>> words(Progress(rows=1000, shards=8, shards_done=2, seconds=0.5))
    '2 of 8 shards · 1,000 rows · 2,000 rows/s'
    """
    rate = progress.rows / max(progress.seconds, 1e-9)
    shards = f"{progress.shards_done} of {progress.shards} shards" if progress.shards else "begun"
    return f"{shards} · {progress.rows:,} rows · {rate:,.0f} rows/s"

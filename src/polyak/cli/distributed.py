"""``polyak train --engine dask``: the same job, done by the workers of a cluster."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import UsageError, say

if TYPE_CHECKING:
    from polyak.distributed.dask.run import Result
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

    from polyak.cli.display import display

    quiet = options.quiet or options.json
    with connected(options.scheduler, options.workers) as client:
        if not quiet:
            workers = len(client.nthreads())
            them = f"{workers} workers; watch them" if workers != 1 else "1 worker; watch it"
            say(f"{them} at {client.dashboard_link}")
        shown = display(quiet=quiet, live=options.progress)
        try:
            result = run(job.source, _how(job), client=client, rounds=options.rounds, watch=shown)
        finally:
            shown.close()
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
    from polyak.training.job import Outcome

    learner, run_counts = result.learner, result.run_counts
    progress = replace(
        result.progress,
        learner=learner,
        rows=learner.rows_seen,
        bad_lines=run_counts.bad_lines,
        first_bad_lines=tuple(run_counts.first_bad_lines),
    )
    return Outcome(finished(learner, result.known()), progress)

"""A Dask cluster: reached or started, and fit for the work."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyak.errors import ClusterError

CONNECT_SECONDS = 5
ALLOWED_FAILURES = 10
"""How many workers may die while they do a task, before the task is to blame."""


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with workers that have another polyak.

    Raises
    ------
    ClusterError
        In one sentence, with the worker's address.
    """
    from polyak import __version__

    def version() -> str | None:  # by value: a worker may have no polyak to import it from
        try:
            from importlib.metadata import version

            return version("polyak")
        except Exception:
            return None

    deadline = time.monotonic() + CONNECT_SECONDS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(f"the scheduler at {scheduler_address(client)} has no workers")
        time.sleep(0.1)
    for address, theirs in client.run(version, on_error="return").items():
        if isinstance(theirs, OSError):  # it has died meanwhile; who takes its place is asked
            continue  # by the first task
        if theirs != __version__:
            has = f"polyak {theirs}" if isinstance(theirs, str) else "no polyak"
            raise ClusterError(
                f"the worker {address} has {has}, but this is polyak {__version__}; all must have "
                "the same version"
            )


def scheduler_address(client: Any) -> str:
    """Say where the scheduler is."""
    return str(getattr(client.scheduler, "address", client))


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start workers on this machine, and end it all in the end."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {"distributed.scheduler.allowed-failures": ALLOWED_FAILURES}
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise ClusterError(
                f"the scheduler at {scheduler} cannot be reached: {words}"
            ) from error
        with client:
            yield client
        return
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client

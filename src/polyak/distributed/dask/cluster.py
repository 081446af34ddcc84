"""Connecting to a Dask cluster, or starting a local one, and checking its workers."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from polyak.errors import ClusterError
from polyak.processors import processors

CONNECT_SECONDS = 5
ALLOWED_FAILURES = 10
"""A task is given up after this number of workers have died while running it."""


def check_workers(client: Any) -> None:
    """Raise if a cluster has no workers, or a worker has another version of polyak.

    Workers whose processors use different kernels cause a warning: the model is as good, but its
    last bits depend on which worker ran which task.

    Raises
    ------
    ClusterError
    """
    from polyak import __version__

    deadline = time.monotonic() + CONNECT_SECONDS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(f"the scheduler at {scheduler_address(client)} has no workers")
        time.sleep(0.1)
    builds: dict[str, list[str]] = {}
    for address, theirs in client.run(_build_asker(), on_error="return").items():
        if isinstance(theirs, OSError):
            continue  # it has died; the first task checks the version of its replacement
        version, build = theirs if isinstance(theirs, tuple) else (None, "")
        if version != __version__:
            has = f"polyak {version}" if isinstance(version, str) else "no polyak"
            raise ClusterError(
                f"the worker {address} has {has}, but this is polyak {__version__}; install the "
                "same version on all workers"
            )
        builds.setdefault(build, []).append(address)
    if len(builds) > 1:
        warnings.warn(_several_kinds(builds), stacklevel=2)


def _build_asker() -> Callable[[], tuple[str | None, str]]:
    """Return a function that returns a worker's version of polyak, its kernels and its processor.

    It is a closure so that it is pickled by value: a worker may have no polyak to import.
    """

    def build() -> tuple[str | None, str]:
        import platform

        try:
            from importlib.metadata import version

            found = version("polyak")
        except Exception:
            return None, ""
        try:
            from polyak import _core

            return found, f"{_core.kernels} on {platform.machine()}"
        except Exception:
            return found, "none that can be loaded"

    return build


def _several_kinds(builds: dict[str, list[str]]) -> str:
    """Return a warning that lists which workers have which kernels.

    Examples
    --------
    >>> print(_several_kinds({"avx2 on x86_64": ["tcp://a:1"], "portable on aarch64": ["b"]}))
    the workers' kernels round differently (avx2 on x86_64: tcp://a:1; portable on aarch64: b), ...
    """
    kinds = "; ".join(f"{build}: {', '.join(some)}" for build, some in builds.items())
    return (
        f"the workers' kernels round differently ({kinds}), so another run may have a model whose "
        "last bits differ: results are the same to the last bit only on machines of one kind"
    )


def scheduler_address(client: Any) -> str:
    """Return the address of a client's scheduler."""
    return str(getattr(client.scheduler, "address", client))


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or to a local cluster that is closed again at the end."""
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
            n_workers=workers or processors(),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client

"""Pieces: what an experiment computes, in parts that are kept once they are finished.

A piece is a function and its parameters. Its result goes to a file of its own the moment it is
there, so that a run that was stopped, however rudely, goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polyak.storage.container import plain, write_bytes

Result = dict[str, Any]
"""What a piece gives: only what JSON holds. Seconds belong under the key ``timings``, because
all else must come out the same in every run."""

WORKERS = 2


def spaced(first: int, last: int, a_decade: int) -> list[int]:
    """Return numbers of rows, evenly spaced in their logarithm.

    Examples
    --------
    >>> spaced(1, 30, 4)
    [1, 2, 3, 6, 10, 18, 30]
    """
    powers = np.arange(np.log10(first), np.log10(last) - 1e-9, 1 / a_decade)
    return sorted({round(10**power) for power in powers} | {last})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an experiment that is computed as a whole, and once.

    Attributes
    ----------
    name : str
        Unique within a run, and good for a file name.
    function : callable
        Of a module's top level, so that another process finds it; called with the parameters.
    parameters : dict
        Only what JSON holds. Other parameters are another piece, with a file of its own.
    alone : bool
        Nothing else runs meanwhile: for pieces that measure time.
    version : int
        To be raised when the function changes what it computes, or old results would stay.

    Examples
    --------
    >>> Piece("two", max, {"a": 1}).file_name == Piece("two", max, {"a": 2}).file_name
    False
    """

    name: str
    function: Callable[..., Result]
    parameters: dict[str, Any] = field(default_factory=dict)
    alone: bool = False
    version: int = 1

    @property
    def file_name(self) -> str:
        """The name of the file that keeps the result."""
        what = [self.function.__module__, self.function.__qualname__, self.parameters, self.version]
        text = json.dumps(what, sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"


def finished(piece: Piece, folder: Path) -> Result | None:
    """Return the stored result of a piece; None if there is none."""
    try:
        result: Result = json.loads((folder / piece.file_name).read_bytes())["result"]
    except (OSError, ValueError, KeyError, TypeError):  # missing or damaged: computed again
        return None
    return result


def run_pieces(
    pieces: Sequence[Piece],
    folder: Path,
    done: Callable[[Piece, bool], None] = lambda piece, was_there: None,
    workers: int = WORKERS,
) -> dict[str, Result]:
    """Compute those pieces that are not there yet, and give the results of all by name.

    ``done`` is called after each, and told whether it was there already.
    """
    names = [piece.name for piece in pieces]
    if len(set(names)) < len(names):
        raise ValueError(f"two pieces are called {max(names, key=names.count)}")
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for piece in pieces:
        if finished(piece, folder) is None:
            missing.append(piece)
        else:
            done(piece, True)
    if missing:
        with _processes(min(workers, len(missing))) as pool:
            together = [piece for piece in missing if not piece.alone]
            _compute(pool, together, folder, done)
            for piece in missing:
                if piece.alone:
                    _compute(pool, [piece], folder, done)
    results = {piece.name: finished(piece, folder) for piece in pieces}
    return {name: result for name, result in results.items() if result is not None}


def _compute(
    pool: ProcessPoolExecutor,
    pieces: Sequence[Piece],
    folder: Path,
    done: Callable[[Piece, bool], None],
) -> None:
    waiting: dict[Future[None], Piece] = {
        pool.submit(_compute_and_keep, piece, folder): piece for piece in pieces
    }
    while waiting:
        ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            piece = waiting.pop(future)
            future.result()
            done(piece, False)


def _compute_and_keep(piece: Piece, folder: Path) -> None:
    """Compute a piece and write its file: done by the process that computes it."""
    begin = time.perf_counter()
    result = plain(piece.function(**piece.parameters))
    page = {
        "piece": piece.name,
        "parameters": piece.parameters,
        "version": piece.version,
        "result": result,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    write_bytes(folder / piece.file_name, json.dumps(page, indent=1).encode())


# -- processes -------------------------------------------------------------------------------------


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes of one thread each; whatever ends the run ends them at once."""
    with _one_thread_each():
        pool = ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
        )
        before = set(multiprocessing.active_children())
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise
        finally:
            pool.shutdown()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Keep matrix products to one thread: two processes fill two cores, and sums stay the same."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ |= dict.fromkeys(names, "1")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin() -> None:
    """Prepare a process: Ctrl-C is for its parent to hear, and without a parent it leaves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave, daemon=True).start()

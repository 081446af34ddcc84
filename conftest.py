"""What the tests of the package and of the reproduction share."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure, and every run has the same examples.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


MEMORY = Path("/dev/shm")
"""A file system in memory, where Linux has it."""
ROOM = 4 << 30


def pytest_configure() -> None:
    """Keep the tests' files in memory if there is room.

    Models and checkpoints are synced to disk as they are saved, which takes 7 ms at a time: 84
    tests of commands waited 5 s for it, beside 21 s of processor time.
    """
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session", autouse=True)
def _commands_hear_signals() -> None:
    """Let commands hear Ctrl-C even if the tests run in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def real_data() -> Path:
    """Return the folder with the real data sets."""
    folder = os.environ.get("POLYAK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("POLYAK_DATA does not name a folder with the real data sets")
    return Path(folder)

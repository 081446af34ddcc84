"""What the pieces of the tests compute; another process must find it by name."""

from __future__ import annotations

import os
import time
from pathlib import Path


def noted(log, value, wait_for=None):
    """Return a value, and note that it was computed; wait for a file first, if one is named."""
    if wait_for is not None and not Path(wait_for).exists():
        Path(log + ".here").write_text(str(os.getpid()))
        _note(log, "waiting")
        while not Path(wait_for).exists():
            time.sleep(0.02)
        time.sleep(5)  # a process that should have been ended is ended by now
    _note(log, value)
    return {"value": value}


def failing():
    """Raise."""
    raise ValueError("no such luck")


def _note(log, word):
    with open(log, "a") as file:
        file.write(f"{word}\n")

"""What the tests of the package and of the reproduction share."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves the slow ones out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``every(n)``, let all cases but every n-th be slow."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("every")
        if mark is not None and item.get_closest_marker("slow") is None:
            name = item.nodeid.split("[")[0]
            if seen[name] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1


@pytest.fixture(scope="session", autouse=True)
def _commands_hear_signals() -> None:
    """Let commands hear Ctrl-C though whoever runs the tests, in the background, does not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def real_data() -> Path:
    """Return the folder with the real data sets."""
    folder = os.environ.get("POLYAK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("POLYAK_DATA does not name a folder with the real data sets")
    return Path(folder)

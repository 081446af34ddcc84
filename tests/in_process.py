"""Commands run in this process, faster than in one of their own where that is no subject."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest

from polyak.cli import main


class Said(NamedTuple):
    """What a command wrote."""

    stdout: str
    stderr: str


def polyak(*arguments: Any, code: int = 0) -> Said:
    """Run a command to its end, and check its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == code, err.getvalue()
    return Said(out.getvalue(), err.getvalue())

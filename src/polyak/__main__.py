"""The command ``polyak``, also as ``python -m polyak``.

It starts here and not in `polyak.cli`, so that Ctrl-C ends it quietly while Python is still
importing: an exception would otherwise surface in the middle of another module's import. Where
there is state to clean up or to save, `polyak.training.interrupts` takes over.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

STOPPED = 130
"""The exit code after Ctrl-C, by the convention of shells: 128 + SIGINT."""


def main() -> None:
    """Run the command that the arguments name."""
    # With another handler, such as the SIG_IGN of nohup, Ctrl-C is left alone.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    # Arrow's own allocator keeps what it once had: 25 MB of a Parquet file of 8 MB.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from polyak.cli import main

    main()


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"polyak: error: stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    main()

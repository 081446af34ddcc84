"""The command ``polyak``, also as ``python -m polyak``.

It begins here, and not in `polyak.cli`, so that Ctrl-C ends it quietly while Python is still
importing: an exception would come out in the middle of somebody else's module, as a traceback or
worse. Where there is something to clean up or to keep, `polyak.training.interrupts` takes over.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

STOPPED = 130
"""The exit code of what Ctrl-C has ended, as shells count it."""


def main() -> None:
    """Run the command that the arguments name."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else nobody wants it
        signal.signal(signal.SIGINT, _stop)
    from polyak.cli import main

    main()


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"polyak: error: stopped\n")
    os._exit(STOPPED)


if __name__ == "__main__":
    main()

"""Ctrl-C at the right moment: between two batches, never in the middle of one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

SIGNALS = tuple(  # Ctrl-C, a scheduler, a terminal that is closed; Windows has not all of them
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupts:
    """While entered, Ctrl-C (SIGTERM, SIGHUP) raises KeyboardInterrupt once, outside of ``held``.

    Whatever comes after the first is ignored, so that saving can end in peace.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     with interrupts.held():
    ...         pass  # nothing is torn apart here
    """

    def __init__(self) -> None:
        self._held = False
        self._asked = False
        self._raised = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        with suppress(ValueError):  # in a thread: only the main one hears of signals
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put an interrupt off until the end of the block."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        self._raise_if_asked()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if not self._held:
            self._raise_if_asked()

    def _raise_if_asked(self) -> None:
        if self._asked and not self._raised:
            self._raised = True
            raise KeyboardInterrupt

"""Locks between processes, which the system releases when their holder dies, however it dies."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


class FolderLock:
    """A lock on a folder: a file in it that one process at a time may hold.

    The file is removed with the lock. On a file system without locks, every process gets it.
    """

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, ".lock")
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock; return False if another process holds it."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _lock(descriptor):
                os.close(descriptor)
                return False
            if self._is_there_still(descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                self._descriptor = descriptor
                return True
            os.close(descriptor)  # its holder removed it in between

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.remove(self.path)
            os.close(self._descriptor)
            self._descriptor = None

    def holder(self) -> str:
        """Return which process holds it, as far as is known."""
        try:
            with open(self.path) as file:
                return f"process {int(file.read(20))}"
        except (OSError, ValueError):
            return "another process"

    def _is_there_still(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False


if sys.platform == "win32":  # pragma: no cover - tested on other systems

    def _lock(descriptor: int) -> bool:
        import msvcrt

        try:
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond the text that others read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError:
            return False
        return True

else:

    def _lock(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

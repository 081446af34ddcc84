"""Free memory: checked before a large allocation, and returned to the system."""

from __future__ import annotations

import sys


def free_memory() -> int | None:
    """Return the available memory in bytes; None where it is unknown."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def release_memory() -> None:
    """Release memory that reading a table has left unused, as Arrow can do it."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def check_memory(needed: int, features: int) -> None:
    """Raise ValueError if more memory is needed than available; the system may overcommit."""
    free = free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"its {features} features would take {needed / 1e9:.1f} GB of memory, and there are "
            f"{free / 1e9:.1f} GB"
        )

"""How much memory there is, asked before a great deal is taken."""

from __future__ import annotations


def free_memory() -> int | None:
    """Give how many bytes of memory there are to be had; None where nobody knows."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def check_memory(needed: int, features: int) -> None:
    """Refuse what the system might promise, but could not give."""
    free = free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"its {features} features would take {needed / 1e9:.1f} GB of memory, and there are "
            f"{free / 1e9:.1f} GB"
        )

"""How to read: the choices that a format may look at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import DTypeLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `polyak.streams.open_stream` was asked for; its docstring says what each means."""

    y: Any = None
    dtype: DTypeLike | None = None
    n_features: int | None = None
    zero_based: bool | Literal["auto"] = "auto"
    skip_bad_lines: bool = False
    threads: int | None = None
    block_bytes: int = 1 << 21
    batch_rows: int = 2048

    def number_of_threads(self) -> int:
        """Return the threads asked for, or as many as there are processors, up to four."""
        if self.threads is not None:
            return max(1, self.threads)
        affinity = getattr(os, "sched_getaffinity", None)
        return min(4, len(affinity(0)) if affinity else os.cpu_count() or 1)

"""On what kind of machine a run was made, how large it was, and how long it took."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from polyak.storage.container import write_bytes
from reproduction.pieces import Piece


def write_about(folder: Path, pieces: Sequence[Piece], sizes: str) -> None:
    """Write ``run.json``: what a reader must know of a run, and nothing of whose machine it was."""
    spent = [json.loads((folder / "pieces" / p.file_name).read_bytes())["seconds"] for p in pieces]
    about = {
        "polyak": version("polyak"),
        "sizes": sizes,
        "machine": machine(),
        "minutes of computing": round(sum(spent) / 60, 1),
    }
    write_bytes(folder / "run.json", json.dumps(about, indent=1).encode())


def machine() -> str:
    """Name the kind of processor, how many of its cores there are, and the system."""
    kind = platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1] for line in file if line.startswith("model name")]
        kind = f"{names[0].strip()} ({kind})" if names else kind
    except OSError:  # not a Linux: the architecture must do
        pass
    return f"{kind}, {os.cpu_count()} cores, {platform.system()}"

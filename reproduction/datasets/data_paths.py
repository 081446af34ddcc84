"""Where the files of a set may lie: in the data folder itself, or in a folder of their own."""

from __future__ import annotations

import os
from pathlib import Path

FOLDERS = ("", "covtype", "mnist", "rcv1", "epsilon", "pascal")
COMPRESSED = ("", ".gz", ".bz2", ".xz")


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder that was given, or that in ``POLYAK_DATA``, or None."""
    folder = data if data is not None else os.environ.get("POLYAK_DATA")
    return None if not folder else Path(folder)


def look_for(folder: Path | None, file: str) -> Path | None:
    """Find a file, compressed or not, in the folder or in one of the usual folders within.

    Examples
    --------
    >>> look_for(None, "alpha_train.dat") is None
    True
    """
    if folder is None:
        return None
    base = Path(file).name.removesuffix(".gz").removesuffix(".bz2")
    own_folder = base.split("_")[0]
    for place in (*FOLDERS, own_folder):
        for ending in COMPRESSED:
            path = folder / place / (base + ending)
            if path.is_file():
                return path
    return None


def find(folder: Path | None, file: str) -> Path:
    """Find a file that must be there."""
    if folder is None:
        raise FileNotFoundError(
            f"{file} is needed: set POLYAK_DATA to the folder that holds the real data sets"
        )
    path = look_for(folder, file)
    if path is None:
        raise FileNotFoundError(
            f"{folder / file} is absent: POLYAK_DATA must name the folder that holds {file}"
        )
    return path

"""Fetch a file: resumed where it was broken off, checked, and never there in part.

Bytes go to ``FILE.part``. Only a file that is whole and right gets its name, in one step.
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from reproduction.datasets.download_urls import RemoteFile

CHUNK = 1 << 20
PATIENCE = 60  # seconds without a byte

Progress = Callable[[int, int | None], None]
"""Is told how many bytes are there, and how many there will be if that is known."""


class FetchError(OSError):
    """A file could not be fetched, or is not what it should be; the message says which and why."""


def fetch(file: RemoteFile, folder: Path, progress: Progress | None = None) -> str:
    """Get a file into a folder, unless it is there.

    Parameters
    ----------
    file : RemoteFile
    folder : Path
        The data folder; the file's own path within it is made.
    progress : callable, optional
        Called with bytes so far and bytes in all, or None.

    Returns
    -------
    what : {"there", "checked", "recorded"}
        It was there already; it agrees with its checksum; no checksum is known, so that of this
        download was written to ``FILE.sha256``.
    """
    path = folder / file.path
    record = path.with_name(path.name + ".sha256")
    if path.is_file():
        return "there"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        _download(file.url, part, progress)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise FetchError(
            f"{path.name} could not be fetched from {file.url} ({reason}): "
            "is there a network? What has arrived is kept, and the next fetch goes on from there"
        ) from error
    known = file.checksum or (f"sha256:{record.read_text().split()[0]}" if record.exists() else "")
    algorithm, _, digits = known.partition(":")
    found = checksum(part, algorithm or "sha256")
    if known and found != digits:
        part.unlink()
        raise FetchError(
            f"{path.name} from {file.url} is not the file it should be: its {algorithm} is "
            f"{found}, not {digits}; nothing was kept"
        )
    os.replace(part, path)
    if known:
        return "checked"
    record.write_text(f"{found}  {path.name}\n")
    return "recorded"


def checksum(path: Path, algorithm: str) -> str:
    """Compute a file's checksum."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _download(url: str, part: Path, progress: Progress | None) -> None:
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "polyak"})
    if done and url.startswith("http"):
        request.add_header("Range", f"bytes={done}-")
    try:
        response = urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code == 416 and done:  # nothing is left to send: the part is the whole
            return
        raise
    with response:
        if getattr(response, "status", None) != 206:
            done = 0  # the server sends all of it, whatever was asked for
        total = _total(response, done)
        with part.open("ab" if done else "wb") as out:
            while chunk := response.read(CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
    if total is not None and done < total:
        raise OSError(f"the connection broke after {done:,} of {total:,} bytes")


def _total(response: Any, done: int) -> int | None:
    length = response.headers.get("Content-Length")
    return None if length is None else done + int(length)

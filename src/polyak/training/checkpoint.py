"""Checkpoints: where a run stands, so that it can be killed at any moment and go on.

A folder holds ``checkpoint.polyak`` and, in ``previous.polyak``, the one before it. A new one is
complete on the disk before it takes the place of the last, so one of the two can always be read.
While a run goes on the folder is its own: another one is refused.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from polyak.errors import ModelFileError
from polyak.learn.learner import Learner
from polyak.learn.stored_state import StoredState
from polyak.storage.container import (
    Arrays,
    NewerFormatError,
    Page,
    check_writable,
    pack,
    part_of,
    plain,
    read_file,
    sync_folder,
    write_synced,
    writing,
)
from polyak.storage.feature_names import FeatureNames
from polyak.storage.locks import FolderLock
from polyak.storage.records import read, real, whole

KIND = "checkpoint"
FORMAT = 1
NEWEST, PREVIOUS = "checkpoint.polyak", "previous.polyak"


class RunCounts(NamedTuple):
    """What a run has counted beside the rows learned."""

    first_id: Annotated[int, whole(-1, 1)] | None
    without_target: int
    bytes_read: int
    share: Annotated[float, real(0)] | None
    bad_lines: int
    first_bad_lines: tuple[tuple[str, int, str, str], ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A learner, and how far it has come in which data.

    Attributes
    ----------
    learner : Learner
    data : str
        The stream's fingerprint.
    options : dict
        The settings that change the result; a run goes on only with the same.
    position : dict or None
        Where the stream goes on, or None at the beginning of a pass.
    passes_done : int
    counts : RunCounts
    names : FeatureNames
        The names of hashed features seen so far, where they are remembered.
    """

    learner: Learner
    data: str
    options: dict[str, Any]
    position: dict[str, Any] | None
    passes_done: int
    counts: RunCounts
    names: FeatureNames = field(default_factory=lambda: FeatureNames.of({}))


class CheckpointFolder:
    """The folder where one run keeps its checkpoints."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.newest = os.path.join(self.folder, NEWEST)
        self.previous = os.path.join(self.folder, PREVIOUS)

    def files(self) -> list[str]:
        """Return the files that are kept there."""
        return [self.newest, self.previous, FolderLock(self.folder).path]

    def has_any(self) -> bool:
        """Whether there is a checkpoint."""
        return os.path.exists(self.newest) or os.path.exists(self.previous)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder; raise OSError if another run has it, or it cannot be written."""
        lock = FolderLock(self.folder)
        with writing(self.folder):
            if os.path.exists(self.folder) and not os.path.isdir(self.folder):
                raise OSError(errno.ENOTDIR, "it is not a folder")
            os.makedirs(self.folder, exist_ok=True)
            if not lock.take():
                raise OSError(
                    errno.EBUSY,
                    f"{lock.holder()} is learning with the checkpoints there; wait for it to end, "
                    "or name another folder",
                )
        try:
            for left_over in glob.glob(glob.escape(self.newest) + ".*.part"):
                os.remove(left_over)  # of a run that was killed while it wrote
            check_writable(self.newest)
            yield
        finally:
            lock.release()

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, and keep the one before."""
        learned, arrays = checkpoint.learner.state()
        page: Page = {
            "kind": KIND,
            "format": FORMAT,
            "rows": checkpoint.learner.rows_seen,
            "data": checkpoint.data,
            "options": plain(checkpoint.options),
            "position": checkpoint.position,
            "passes_done": checkpoint.passes_done,
            "counts": plain(checkpoint.counts),
            "learner": learned,
        }
        arrays = arrays | checkpoint.names.arrays()
        part = part_of(self.newest)
        with writing(self.newest):
            os.makedirs(self.folder, exist_ok=True)
            # The new one is safely on the disk before the last one is touched.
            write_synced(part, pack(page, arrays))
            if os.path.exists(self.newest):
                os.replace(self.newest, self.previous)
            os.replace(part, self.newest)
            sync_folder(self.folder)

    def load(self, data: str, options: dict[str, Any]) -> Checkpoint | None:
        """Read the last checkpoint of the same data and options; None if there is none.

        If the newest cannot be read the one before serves, with a warning.

        Raises
        ------
        ModelFileError
            In one sentence, if it belongs to other data or options or to a newer polyak, or if
            none can be read.
        """
        first_error = None
        for path in (self.newest, self.previous):
            if not os.path.exists(path):
                continue
            try:
                page, arrays = read_file(path, KIND, FORMAT)
            except NewerFormatError:
                raise
            except ModelFileError as error:
                first_error = first_error or error
                continue
            if first_error is not None:
                warnings.warn(
                    f"{first_error}; going on from the checkpoint before it, at row "
                    f"{page.get('rows')}",
                    UserWarning,
                    stacklevel=2,
                )
            return _checkpoint(path, page, arrays, data, plain(options))
        if first_error is not None:
            raise first_error
        return None

    def clear(self) -> None:
        """Remove the checkpoints: the run is complete. Those that another run has are left."""
        lock = FolderLock(self.folder)
        if not os.path.isdir(self.folder) or not lock.take():
            return
        try:
            for path in (self.previous, self.newest):
                if os.path.exists(path):
                    os.remove(path)
        finally:
            lock.release()


def _checkpoint(
    path: str, page: Page, arrays: Arrays, data: str, options: dict[str, Any]
) -> Checkpoint:
    try:
        stored = StoredState(page, arrays)
        if stored.field("data") != data:
            raise ModelFileError(
                f"{path} is a checkpoint of other data (size or content differ); remove it, or "
                "name another folder"
            )
        for name in {**stored.field("options"), **options}:
            then, now = page["options"].get(name), options.get(name)
            if then != now:
                raise ModelFileError(
                    f"{path} is a checkpoint of a run with {name} = {then}, not {now}; go on with "
                    "the same options, remove it, or name another folder"
                )
        learner = Learner.from_state(stored.field("learner"), arrays)
        for name, value in (plain(learner.recipe) | {"n_features": learner.n_features}).items():
            now = options.get(name, value)
            stored.require(now == value, f"learner.{name}", f"is {value}, in the options {now}")
        stored.require(learner.rows_seen > 0, "learner", "has learned no rows")
        position = stored.field("position")
        stored.require(isinstance(position, dict | None), "position", f"cannot be {position!r}")
        if learner.race is not None:
            learner.model()  # what cannot be had of it now could not be had in the end
        return Checkpoint(
            learner,
            page["data"],
            page["options"],
            position,
            stored.whole("passes_done"),
            read(RunCounts, page["counts"], "counts"),
            FeatureNames.from_arrays(arrays),
        )
    except ModelFileError:
        raise
    except Exception as error:
        # The checksum was right, so another program wrote this, and anything may be wrong.
        what = str(error).partition("\n")[0]
        if "corrupt checkpoint" not in what:
            what = f"corrupt checkpoint: {type(error).__name__}: {what}"
        raise ModelFileError(f"{path}: {what}") from error

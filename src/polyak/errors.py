"""The errors that users meet; each message is one sentence on what is wrong and where."""

from __future__ import annotations


class DataError(ValueError):
    """The data cannot be used; the message names the file, row and value."""


class NoRowsError(DataError):
    """The source can be read, but there is no row in it."""


class SourceError(DataError):
    """A source failed after some of its rows were read."""


class RowError(DataError):
    """A row of a batch cannot be used; callers that know its file add it to the message."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(row, what)
        self.row, self.what = row, what

    def __str__(self) -> str:
        return f"row {self.row}{self.what}"


class ModelFileError(ValueError):
    """A model or checkpoint file cannot be used; the message says which and why."""


class ClusterError(ConnectionError):
    """A cluster cannot run the tasks; the message names the scheduler or worker and the reason."""


class DivergenceError(ArithmeticError):
    """The weights have overflowed: the learning rate was far too large."""

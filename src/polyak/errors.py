"""The errors a user can cause; each says in one sentence what was wrong and where."""

from __future__ import annotations


class DataError(ValueError):
    """Something in the data cannot be learned from; the message names the file, row and value."""


class RowError(DataError):
    """A row of a batch cannot be learned from; whoever knows where it is from can say so."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(row, what)
        self.row, self.what = row, what

    def __str__(self) -> str:
        return f"row {self.row}{self.what}"


class ModelFileError(ValueError):
    """A model or checkpoint file cannot be used; the message says which and why."""


class ClusterError(ConnectionError):
    """A cluster cannot do the work; the message says which scheduler or worker, and why."""


class DivergenceError(ArithmeticError):
    """The weights have left the range of numbers: the learning rate was far too large."""

"""The errors a user can cause; each says in one sentence what was wrong and where."""

from __future__ import annotations


class DataError(ValueError):
    """Something in the data cannot be learned from; the message names the file, row and value."""


class ModelFileError(ValueError):
    """A model or checkpoint file cannot be used; the message says which and why."""


class ClusterError(ConnectionError):
    """A cluster cannot do the work; the message says which scheduler or worker, and why."""


class DivergenceError(ArithmeticError):
    """The weights have left the range of numbers: the learning rate was far too large."""

"""The bank: K averaged linear models that learn from the same rows, and how banks are merged."""

from polyak.learn.bank.bank import Bank

__all__ = ["Bank"]

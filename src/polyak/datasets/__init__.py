"""Data to learn from: generated newswire text, and the real sets of ``POLYAK_DATA``."""

from polyak.datasets.real import NAMES, load
from polyak.datasets.synthetic import rcv1_like

__all__ = ["NAMES", "load", "rcv1_like"]

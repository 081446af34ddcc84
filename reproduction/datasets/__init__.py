"""Data to learn from: generated sets, and the real sets of ``POLYAK_DATA``."""

from reproduction.datasets.benchmark import BenchmarkSet, is_here, load_benchmark
from reproduction.datasets.catalogue import MORE_SETS, PAPER_SETS, PaperSet
from reproduction.datasets.real import NAMES, load
from reproduction.datasets.stand_ins import stand_in
from reproduction.datasets.synthetic import rcv1_like

__all__ = [
    "MORE_SETS",
    "NAMES",
    "PAPER_SETS",
    "BenchmarkSet",
    "PaperSet",
    "is_here",
    "load",
    "load_benchmark",
    "rcv1_like",
    "stand_in",
]

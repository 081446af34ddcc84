"""Data to learn from: generated sets, and the real sets of ``POLYAK_DATA``."""

from polyak.paper.datasets.benchmark import BenchmarkSet, is_here, load_benchmark
from polyak.paper.datasets.catalogue import MORE_SETS, PAPER_SETS, PaperSet
from polyak.paper.datasets.real import NAMES, load
from polyak.paper.datasets.stand_ins import stand_in
from polyak.paper.datasets.synthetic import rcv1_like

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

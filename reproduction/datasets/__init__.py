"""Data to learn from: the paper's sets from the real files, and two generators."""

from reproduction.datasets.benchmark import BenchmarkSet, load_benchmark
from reproduction.datasets.catalogue import PAPER_SETS, PaperSet
from reproduction.datasets.gaussian import gaussian_rows
from reproduction.datasets.real import NAMES, load
from reproduction.datasets.synthetic import rcv1_like

__all__ = [
    "NAMES",
    "PAPER_SETS",
    "BenchmarkSet",
    "PaperSet",
    "gaussian_rows",
    "load",
    "load_benchmark",
    "rcv1_like",
]

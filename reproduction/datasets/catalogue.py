"""The twelve sets of the paper's Tables 1 and 2: what they are, and what the paper says of them."""

from __future__ import annotations

from dataclasses import dataclass

K = 1000


@dataclass(frozen=True, slots=True)
class PaperSet:
    """One row of the paper's tables.

    Attributes
    ----------
    name, description : str
    sparse : bool
    n_features, n_train, n_test : int
    alpha : float
        The penalty λ.
    longest : float
        The paper's M: the greatest ‖x‖² of a thousand rows.
    start : int or None
        The paper's t0, the row after which averaging begins; Table 2 does not give it.
    """

    name: str
    description: str
    sparse: bool
    n_features: int
    n_train: int
    n_test: int
    alpha: float
    longest: float
    start: int | None = None

    @property
    def table(self) -> int:
        """Which table of the paper lists the set: 1 gives t0, 2 does not."""
        return 2 if self.start is None else 1


_ROWS = (
    PaperSet("covtype", "forest cover type", True, 54, 500 * K, 81 * K, 1e-6, 6.8, 100),
    PaperSet("delta", "synthetic data", False, 500, 400 * K, 50 * K, 1e-2, 3.8e3, 100),
    PaperSet("rcv1", "text data", True, 47_153, 781 * K, 23 * K, 1e-5, 1.0, 781),
    PaperSet("mnist9", "digit image features", False, 2304, 50 * K, 10 * K, 1e-3, 2.1e4, 128),
    PaperSet("alpha", "synthetic data", False, 500, 400 * K, 50 * K, 1e-5, 1.0),
    PaperSet("beta", "synthetic data", False, 500, 400 * K, 50 * K, 1e-4, 1.0),
    PaperSet("gamma", "synthetic data", False, 500, 400 * K, 50 * K, 1e-3, 2.5e3),
    PaperSet("epsilon", "synthetic data", False, 2000, 400 * K, 50 * K, 1e-5, 1.0),
    PaperSet("zeta", "synthetic data", False, 2000, 400 * K, 50 * K, 1e-5, 1.0),
    PaperSet("fd", "character image", False, 900, 1000 * K, 470 * K, 1e-5, 1.0),
    PaperSet("ocr", "character image", False, 1156, 1000 * K, 500 * K, 1e-5, 1.0),
    PaperSet("dna", "DNA sequence", True, 800, 1000 * K, 1000 * K, 1e-3, 200.0),
)
PAPER_SETS = {row.name: row for row in _ROWS}
"""The sets of the paper, by name, in the order of its tables."""

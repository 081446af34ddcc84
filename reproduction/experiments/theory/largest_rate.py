"""`LemmaMaxGamma`: where the learning rate of least squares begins to diverge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim
from reproduction.experiments.theory.linear_equation import (
    how_much,
    marks_up_to,
)
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import largest_stable_rate

Floats = NDArray[np.float64]


RATES = (1.0, 1.5, 1.9, 2.1, 2.5, 3.0)
"""Learning rates to try, in units of ``1 / M``."""
FAR = 1e12  # who is as far away is not coming back


def pieces(scale: float) -> list[Piece]:
    """Try learning rates on either side of the limit."""
    _, rows = how_much(scale)
    return [Piece("theory-rates", rates, {"rows": max(500, rows)}, version=3)]


def rates(rows: int, runs: int = 20) -> Result:
    """Learn least squares from rows of one length at constant learning rates around ``2 / M``."""
    random = np.random.default_rng(20111112)
    dimensions, M = 5, 4.0
    marks = marks_up_to(rows, 0.125)
    curves = []
    for share in RATES:
        gamma = share / 2 * largest_stable_rate(M)
        delta, distances = np.ones((runs, dimensions)), []
        for t in range(1, rows + 1):
            x = random.standard_normal((runs, dimensions))
            x *= np.sqrt(M) / np.linalg.norm(x, axis=1, keepdims=True)
            noise = 0.1 * random.standard_normal((runs, 1))
            delta -= gamma * x * (np.einsum("ij,ij->i", x, delta)[:, None] - noise)
            if t in marks:
                distances.append(float(np.sqrt(np.square(delta).sum(axis=1).mean())))
                if distances[-1] > FAR:
                    break
        curves.append(distances)
    return {"shares": list(RATES), "rows": marks, "distances": curves}


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    found = results["theory-rates"]
    ends = [curve[-1] for curve in found["distances"]]
    distances = dict(zip(found["shares"], ends, strict=True))
    below = max(d for share, d in distances.items() if share < 2)
    above = min(d for share, d in distances.items() if share > 2)
    return [
        Claim(
            "“assuming all ‖x‖² are M, then (EqSGD) will diverge if learning rate is greater than "
            "2/M”",
            "appendix, LemmaMaxGamma",
            f"after {found['rows'][-1]:,} rows the distance is below {below:.2g} up to 1.9/M, and "
            f"above {above:.2g} from 2.1/M on",
            below < 10 and above > 1e6,
            "theory-rates",
        )
    ]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw a line for each learning rate."""
    result = results["theory-rates"]
    lines = [
        Series(f"{share:g}/M", result["rows"][: len(curve)], curve, style=f"rate {share:g}")
        for share, curve in zip(result["shares"], result["distances"], strict=True)
    ]
    return [
        Figure(
            "theory-rates",
            "Where the learning rate begins to diverge",
            "The distance from the answer of least squares, all rows being equally long, M being "
            "their squared norm: one line a learning rate, the root of the mean square over 20 "
            "runs. Theory says that 2/M is the limit. Lines end once they are hopeless.",
            [
                Panel(
                    "",
                    "rows",
                    "distance from the answer",
                    lines,
                    x_log=True,
                    y_log=True,
                    y_range=(0.05, 10 * FAR),
                )
            ],
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """Return no tables: the figure contains the numbers."""
    return []

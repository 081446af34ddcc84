"""The theory against simulation and exact computation: the parts are in the folder beside.

The stochastic linear equation of section 2 is run on settings drawn at random, to see whether the
bound of `ThmLinearAvg` ever fails, and on the first experiment's problem, to see how tight it is.
When the average overtakes the iterate, what the lemmas of sections 3 and 4 bound, and with which
power of the learning rate the error falls fastest is computed where it can be, and simulated where
not. Least squares on rows of one length shows where the learning rate of `LemmaMaxGamma` begins to
diverge.
"""

from __future__ import annotations

from reproduction.claims import Claim
from reproduction.experiments.theory import (
    best_powers,
    bound_terms,
    largest_rate,
    overtaking,
    random_settings,
    two_lemmas,
)
from reproduction.figures import Figure
from reproduction.pieces import Piece, Result
from reproduction.tables import Table

TITLE = "The theory against simulation"
ABOUT = (
    "The paper proves a bound on the error of the averaged iterate after t rows, for a linear "
    "equation with noise. It has three parts: one that no algorithm can avoid, one for the falling "
    "learning rate, and one for the distance at the start. Here the equation is run many times "
    "over, and the error measured; what is added for least squares and for other losses, when "
    "the average overtakes the iterate, and how fast the learning rate should fall, is held "
    "against exact computation."
)

PARTS = (bound_terms, random_settings, overtaking, two_lemmas, best_powers, largest_rate)


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Return those of all parts."""
    return [piece for part in PARTS for piece in part.pieces(scale)]


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    return [claim for part in PARTS for claim in part.claims(results)]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw all parts."""
    return [figure for part in PARTS for figure in part.figures(results)]


def tables(results: dict[str, Result]) -> list[Table]:
    """List what the parts list."""
    return [table for part in PARTS for table in part.tables(results)]

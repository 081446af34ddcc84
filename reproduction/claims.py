"""What the paper says, and what was measured here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

VERDICTS = {
    True: "holds",
    "weaker": "holds later or weaker",
    False: "does not hold",
    "undecided": "undecided",
    None: "cannot be told",
}
"""Every verdict there is. "undecided" hangs on less than two standard errors; "cannot be told" says
that the run was too small, or that the rows the claim speaks of are not at hand."""

Holds = bool | Literal["weaker", "undecided"] | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper, checked.

    Attributes
    ----------
    text : str
        What the paper says.
    where : str
        Where it says so.
    measured : str
        What was measured, with its numbers.
    holds : bool, "weaker", "undecided" or None
        "weaker" if it holds only later, or for less, than the paper says; "undecided" if it hangs
        on less than two standard errors; None if this run was scaled down too far to tell, or had
        not the rows.
    figure : str or None
        The name of the figure or table that shows it.

    Examples
    --------
    >>> Claim("Averaging pays.", "section 2", "1.02 times batch", True, "schedules").verdict
    'holds'
    """

    text: str
    where: str
    measured: str
    holds: Holds
    figure: str | None = None

    def __post_init__(self) -> None:
        if self.holds is not None and not isinstance(self.holds, str):
            # A comparison of NumPy's numbers is not quite a bool.
            object.__setattr__(self, "holds", bool(self.holds))

    @property
    def verdict(self) -> str:
        """Return the verdict in a few words."""
        return VERDICTS[self.holds]

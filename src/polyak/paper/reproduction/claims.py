"""What the paper says, and what was measured here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper, checked.

    Attributes
    ----------
    text : str
        What the paper says, in a sentence of our own.
    where : str
        Where it says so.
    measured : str
        What was measured, with its numbers.
    holds : bool or None
        None if this run cannot tell, say because it was scaled down too far.
    figure : str or None
        The name of the figure that shows it.

    Examples
    --------
    >>> Claim("Averaging pays.", "section 2", "1.02 times batch", True, "schedules").verdict
    'holds'
    """

    text: str
    where: str
    measured: str
    holds: bool | None
    figure: str | None = None

    def __post_init__(self) -> None:
        if self.holds is not None:  # a comparison of NumPy's numbers is not quite a bool
            object.__setattr__(self, "holds", bool(self.holds))

    @property
    def verdict(self) -> str:
        """Say in a word or two whether it holds."""
        return {True: "holds", False: "does not hold", None: "cannot be told"}[self.holds]

"""When averaging begins, and how much each row counts in it (end of section 5 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Averaging:
    """A rule for the average of the iterates.

    Attributes
    ----------
    start : "auto", int or None
        Row ``m`` after the start counts ``m ** power``. "auto" is the paper's rule: averaging
        begins once an exponential average of the iterates (rate 0.01) has a lower running loss
        than the iterate itself. A number is the row after which to begin; None never begins,
        so that the model is the last iterate.
    power : float
        0 counts all rows alike; 3 forgets the beginning faster, at a little more variance.
    earliest : int
        The first row at which "auto" may begin. The paper names none; before row 100 the running
        losses are noise.

    Examples
    --------
    >>> Averaging()
    Averaging(start='auto', power=0.0, earliest=100)
    >>> Averaging(start=None).first_start
    inf
    """

    start: Literal["auto"] | int | None = "auto"
    power: float = 0.0
    earliest: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.start, str):
            if self.start != "auto":
                raise ValueError(f"averaging starts at 'auto', a row or None, not {self.start!r}")
        elif self.start is not None and self.start < 0:
            raise ValueError(f"averaging cannot start after row {self.start}")
        if not (math.isfinite(self.power) and self.power >= 0):
            raise ValueError(f"the power of an average must be at least zero, not {self.power}")

    @property
    def first_start(self) -> float:
        """The start in the core: a row, infinity for never, minus `earliest` for "auto"."""
        if self.start is None:
            return math.inf
        return float(-self.earliest if self.start == "auto" else self.start)


def averaging_of(average: str | bool | int) -> Averaging | None:
    """Return the rule the user asked for, if any."""
    if isinstance(average, str):
        return None
    if average is False:
        return Averaging(None)
    return Averaging(0 if average is True else int(average))

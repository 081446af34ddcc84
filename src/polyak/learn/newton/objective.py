"""What Newton's steps minimise: the loss, its outputs, and the penalties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.penalty import Ridge, Sparsity, check_penalties
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import PENALTIES, UNPENALISED
from polyak.learn.newton.smoothing import SignOf, TermOf
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss, get_loss

Floats = NDArray[np.float64]

INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""


@dataclass(frozen=True, eq=False)
class Objective:
    """What Newton's steps minimise: a loss of one or several outputs, with several penalties.

    Attributes
    ----------
    loss : str
        One that has a curvature, or a rounded one, see `polyak.losses`.
    penalties : array
        Ridge penalties in pseudo-observations: 10 weighs like ten rows at which a weight is zero.
    outputs : int
        The columns of the targets, or the classes.
    one_vs_rest : bool
        Targets are class numbers.
    fit_intercept : bool
    intervals : bool
        Keep what standard errors at the smallest penalty need: another matrix.
    at_hand : bool
        All rows are in memory, so that matrix is computed in the end, see
        `polyak.learn.newton.converging`.
    softmax : bool
        Learn all classes together, see `polyak.learn.newton.softmax`. Scores are then those of the
        odds of each class against the rest, which a softmax of the models' own gives.
    together : bool
        Count the loss of a row by the probability of its own class, as ``softmax`` implies.
    sparsity : Sparsity, optional
        A penalty other than a ridge in pseudo-observations, see
        `polyak.learn.newton.block.penalty`.
    term_of : function, optional
        From features to the numbers of their terms, where each term has a penalty of its own: see
        `polyak.learn.newton.smoothing`.
    first_of_terms : int, optional
        The first feature that is a basis function of a term.
    sign_of : function, optional
        From features to the signs of their weights: 1, -1, or 0 where any will do.
    has_offsets : bool
        Whether rows have offsets, which are added to their scores.
    """

    loss: str
    penalties: Floats = field(default_factory=lambda: np.array(PENALTIES))
    outputs: int = 1
    one_vs_rest: bool = False
    fit_intercept: bool = True
    intervals: bool = False
    at_hand: bool = False
    softmax: bool = False
    together: bool = False
    sparsity: Sparsity | None = None
    term_of: TermOf | None = None
    first_of_terms: int | None = None
    sign_of: SignOf | None = None
    has_offsets: bool = False

    def __post_init__(self) -> None:
        if not get_loss(self.loss).has_curvature:
            raise ValueError(f"Newton's step needs a curvature, which {self.loss!r} does not have")
        check_penalties(self.penalties, self.sparsity)

    @property
    def exact(self) -> bool:
        """Whether the loss is a square, so that sums of the rows are all that is needed."""
        return self.loss == "squared_error"

    @property
    def counts_own_class(self) -> bool:
        """Whether the loss of a row is that of the probability of its own class."""
        return self.together or self.softmax

    @property
    def is_ridge(self) -> bool:
        """Whether the penalty has squares alone, and weights of any sign."""
        squares_alone = self.sparsity is None or self.sparsity.l1_ratio == 0.0
        return squares_alone and self.sign_of is None

    @property
    def smallest(self) -> int:
        """The place of the smallest penalty, at which intervals are computed."""
        return int(np.argmin(self.penalties))

    @property
    def for_inference(self) -> bool:
        """Whether the weights themselves are asked for: with intervals, or without a penalty."""
        return self.intervals or (self.sparsity is None and self.penalties.min() <= UNPENALISED)

    @property
    def is_unpenalised(self) -> bool:
        """Whether there is no other penalty than the smallest, which makes equations definite."""
        return self.sparsity is None and bool(self.penalties.max() <= UNPENALISED)

    def signs(self, targets: NDArray[Any]) -> Floats:
        """Return targets with a column per output: -1 and +1 for the classes of class numbers."""
        if self.one_vs_rest:
            return np.where(targets[:, None] == np.arange(self.outputs), 1.0, -1.0)
        return np.asarray(targets, dtype=np.float64).reshape(len(targets), self.outputs)

    def smooth_loss(self, rows: float, columns: int) -> Loss:
        """Return the loss, or one whose corners are rounded for this many rows and columns."""
        return get_loss(self.loss).for_newton(rows, columns)

    def no_rows(self) -> Information:
        """Return what is known before the first row: the weights are zero."""
        return Information.none(
            int(self.fit_intercept),
            len(self.penalties),
            self.outputs - int(self.softmax),
            exact=self.exact,
            intervals=self.intervals and not self.at_hand,
            together=self.softmax,
        )

    def shrink(self, standard: Standard) -> Floats:
        """Return each column's ridge penalty, by the mean square of the column.

        A row of a loss with corners has a curvature in units of its targets.
        """
        first = np.full(int(standard.fit_intercept), 0.0 if self.exact else INTERCEPT)
        loss = get_loss(self.loss)
        size = 1.0 if loss.is_smooth else loss.typical_curvature
        return size * np.concatenate([first, standard.mean_squares])[:, None] * self.penalties

    def penalty(self, standard: Standard, weight: float) -> Ridge:
        """Return the penalty of a sum of losses of rows with this total weight."""
        shrink = self.shrink(standard)
        if self.sparsity is None:
            return Ridge(shrink)
        least = 0.0 if self.exact else INTERCEPT
        signs = None if self.sign_of is None else self.sign_of(standard.features)
        return self.sparsity.penalty(shrink, self.penalties, weight, standard, least, signs)

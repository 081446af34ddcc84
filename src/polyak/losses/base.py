"""The interface of a loss: functions of a score and a target, and its properties."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_STEPS, WITHIN = 60, 1e-9
"""The most steps to a constant beside offsets, and its error."""


class Loss:
    """A loss ``L(score, target)``: its value, its slope in the score, and a curvature bound.

    ``implicit_slope(s, y, q)`` is the ``g`` that solves ``g = L'(s - q g, y)``: the slope at the
    score after a step of size ``q``, which cannot overshoot.

    A loss with a parameter has one value for all outputs, or one for each output, the last axis of
    scores. The ``scales`` of the residuals, estimated from the first rows, set learning rates and
    the bandwidth of a loss that is smoothed for Newton steps; the loss itself does not depend on
    them.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> hinge = get_loss("squared_hinge")
    >>> float(hinge.value(0.5, 1.0)), float(hinge.slope(0.5, 1.0))
    (0.125, -0.5)
    >>> get_loss("huber(0.5)").parameters, get_loss("huber").needs_rows
    ((0.5,), True)
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """Its usual name."""
    classifies: ClassVar[bool] = True
    log_link: ClassVar[bool] = False
    """Whether a score is the logarithm of the prediction."""
    power: ClassVar[float] = 3 / 4
    """The paper's best exponent of the learning rate for this loss."""
    has_curvature: ClassVar[bool] = True
    """Whether Newton steps can minimise it, or a smoothed version of it."""
    is_smooth: ClassVar[bool] = True
    """Whether it is twice differentiable, so that standard errors follow from its curvature."""
    is_flat_far_away: ClassVar[bool] = False
    """Whether its curvature is zero for large residuals, so that a first step needs a bound."""
    starts_at_constant: ClassVar[bool] = False
    """Whether the initial intercept is the best constant of the first rows."""
    parameter: ClassVar[str | None] = None
    """The name of its parameter, if it has one."""

    curvature: float = 1.0
    """A bound on the second derivative; 1 by convention if there is none."""

    def __init__(self, parameters: tuple[float, ...] = (), scales: tuple[float, ...] = ()) -> None:
        self.parameters = parameters
        self.scales = scales
        if parameters and self.parameter is None:
            raise ValueError(f"{self.name} has no parameter")
        for value in parameters:
            self._check_parameter(value)

    def _check_parameter(self, value: float) -> None:
        """Raise ValueError for an invalid parameter."""

    @property
    def text(self) -> str:
        """The loss as text: ``huber(1.5)``."""
        return _written(self.name, self.parameters, ())

    @property
    def text_with_scales(self) -> str:
        """The same with the scales estimated from the first rows: ``huber(1.5;1.1)``."""
        return _written(self.name, self.parameters, self.scales)

    @property
    def needs_rows(self) -> bool:
        """Whether a parameter or scale is still to be estimated from the first rows."""
        return False

    @property
    def _scale(self) -> float:
        """The typical scale, of residuals or targets: the geometric mean over outputs."""
        return math.exp(float(np.mean(np.log(self.scales)))) if self.scales else 1.0

    @property
    def outputs(self) -> int:
        """The number of outputs of one target: more than one for several quantiles."""
        return 1

    @property
    def typical_curvature(self) -> float:
        """A typical value of the second derivative, for learning rates."""
        return self.curvature

    @staticmethod
    def parameter_of(scale: float) -> float:
        """Return the default parameter for residuals of this scale."""
        raise NotImplementedError

    def of_output(self, output: int) -> Self:
        """Return the loss of one output."""
        return type(self)(_one(self.parameters, output), _one(self.scales, output))

    def core_parameters(self, outputs: NDArray[np.int64]) -> list[float]:
        """Return the parameter of each model's output for the core, 0 if there is none."""
        if self.parameter is not None and not self.parameters:
            raise ValueError(f"the {self.parameter} of {self.name} is not known")
        known = self.parameters or (0.0,)
        return [known[output if len(known) > 1 else 0] for output in outputs.tolist()]

    # -- as functions of scores and targets ----------------------------------------------------

    def value(self, score: Any, target: Any) -> Floats:
        """Return the loss."""
        raise NotImplementedError

    def slope(self, score: Any, target: Any) -> Floats:
        """Return the derivative with respect to the score."""
        raise NotImplementedError

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        """Return the derivative at the score after a step of size ``q``."""
        raise NotImplementedError

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        """Return the second derivative.

        With ``safe``, return the curvature of a parabola that is tangent to the loss at the score
        and lies above it at least up to the parabola's minimum, so that a step never increases the
        loss.
        """
        raise NotImplementedError

    def value_and_slope(self, score: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return both, which is cheaper where they share a computation."""
        return self.value(score, target), self.slope(score, target)

    def largest_curvature(self, score: Any, target: Any) -> Floats:
        """Return a bound on the second derivative between the score and the end of a step."""
        return np.asarray(self.curvature)

    # -- targets, constants, predictions -------------------------------------------------------

    def unfit(self, targets: NDArray[Any]) -> tuple[int, Any, str] | None:
        """Return the first row with an invalid target, the target, and what is required."""
        if not self.classifies or targets.ndim == 1:
            return None
        fits = (targets == 0) | (targets == 1)
        if fits.all():
            return None
        row, label = np.unravel_index(int(np.argmin(fits)), fits.shape)
        return int(row), targets[row, label], "labels in columns of their own are 0 or 1"

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        """Return the score with the lowest loss for these weights of either class, per output.

        Half a row is added to each class, so that no probability is zero.
        """
        raise NotImplementedError

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        """Return the score with the lowest loss on the targets of one regression output."""
        return float(weights @ targets / weights.sum())

    def best_intercept(self, targets: Floats, weights: Floats, offsets: Floats) -> float:
        """Return the constant that has the lowest loss for one output when added to offsets.

        The slope of a convex loss grows with the score. So the constant is between those that would
        be best if all rows had the largest offset, or the smallest: regula falsi finds it.
        """
        if not self.classifies:  # a function of the residual
            return self.constant_of(targets - offsets, weights)
        positive = weights[targets > 0].sum()
        sides = np.array([positive]), np.array([weights.sum() - positive])
        alone = float(self.best_constant(*sides)[0])
        low, high = alone - float(offsets.max()), alone - float(offsets.min())
        below, above = (float(weights @ self.slope(at + offsets, targets)) for at in (low, high))
        for _ in range(MOST_STEPS):
            if high - low <= WITHIN or not below < 0 < above:
                break
            at = (low * above - high * below) / (above - below)
            slope = float(weights @ self.slope(at + offsets, targets))
            # The end that stays counts half, so that it does not stay for ever.
            if slope < 0:
                low, below, above = at, slope, 0.5 * above
            else:
                high, above, below = at, slope, 0.5 * below
        return low if abs(below) < abs(above) else high

    def predictions(self, scores: Floats) -> Floats:
        """Return predictions: the scores through the inverse link."""
        return scores

    def for_newton(self, rows: float, columns: int) -> Loss:
        """Return the loss that Newton steps minimise at this size: itself, or a smoothed one."""
        return self


def array_of(values: tuple[float, ...]) -> Any:
    """Return a single value, or an array that broadcasts over the last axis of scores."""
    return values[0] if len(values) == 1 else np.array(values)


def _one(values: tuple[float, ...], output: int) -> tuple[float, ...]:
    return values[output : output + 1] if len(values) > 1 else values


def _written(name: str, parameters: tuple[float, ...], scales: tuple[float, ...]) -> str:
    inside = ",".join(repr(value) for value in parameters)
    if scales:
        inside += ";" + ",".join(repr(value) for value in scales)
    return f"{name}({inside})" if inside else name

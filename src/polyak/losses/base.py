"""What a loss is: functions of a score and a target, and what a user should know of it."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Loss:
    """A loss ``L(score, target)``: its value, its slope in the score, and a curvature bound.

    ``implicit_slope(s, y, q)`` is the ``g`` that solves ``g = L'(s - q g, y)``: the slope at the
    score after a step of size ``q``, which cannot overshoot.

    A loss with a parameter has one for all outputs, or one for each, the last axis of scores. What
    the first rows have told of the ``scales`` of the targets sets learning rates, and the bandwidth
    of a loss that is rounded for Newton's steps; it is not part of what is minimised.

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
    """What people call it."""
    classifies: ClassVar[bool] = True
    log_link: ClassVar[bool] = False
    """Whether a score is the logarithm of what is predicted."""
    power: ClassVar[float] = 3 / 4
    """The paper's best exponent of the learning rate for this loss."""
    has_curvature: ClassVar[bool] = True
    """Whether Newton's steps can go by it, or by a rounded one."""
    is_smooth: ClassVar[bool] = True
    """Whether that is its own curvature, so that standard errors can be found from it."""
    is_flat_far_away: ClassVar[bool] = False
    """Whether it has no curvature where scores are far off, so that a first step must be safe."""
    starts_at_constant: ClassVar[bool] = False
    """Whether learning begins with the best constant of the first rows as the intercept."""
    parameter: ClassVar[str | None] = None
    """What its parameter is called, if it has one."""

    curvature: float = 1.0
    """A bound on the second derivative; by convention 1 where there is none."""

    def __init__(self, parameters: tuple[float, ...] = (), scales: tuple[float, ...] = ()) -> None:
        self.parameters = parameters
        self.scales = scales
        if parameters and self.parameter is None:
            raise ValueError(f"{self.name} has no parameter")
        for value in parameters:
            self._check_parameter(value)

    def _check_parameter(self, value: float) -> None:
        """Refuse a parameter that cannot be."""

    @property
    def text(self) -> str:
        """The loss in writing, as files have it: ``huber(1.5)``."""
        return _written(self.name, self.parameters, ())

    @property
    def text_with_scales(self) -> str:
        """The same with what the first rows have told: ``huber(1.5;1.1)``."""
        return _written(self.name, self.parameters, self.scales)

    @property
    def needs_rows(self) -> bool:
        """Whether the first rows have something to tell, and have not yet."""
        return False

    @property
    def outputs(self) -> int:
        """How many models one target has: more than one for several quantiles."""
        return 1

    @property
    def typical_curvature(self) -> float:
        """What the second derivative is about, for learning rates."""
        return self.curvature

    @staticmethod
    def parameter_of(scale: float) -> float:
        """Give the parameter for residuals of this scale, where nobody has given one."""
        raise NotImplementedError

    def of_output(self, output: int) -> Self:
        """Give the loss of one output."""
        return type(self)(_one(self.parameters, output), _one(self.scales, output))

    def core_parameters(self, outputs: NDArray[np.int64]) -> list[float]:
        """Give each model the parameter of its output, as the core takes it: zero for none."""
        if self.parameter is not None and not self.parameters:
            raise ValueError(f"the {self.parameter} of {self.name} is not known")
        known = self.parameters or (0.0,)
        return [known[output if len(known) > 1 else 0] for output in outputs.tolist()]

    # -- as functions of scores and targets ----------------------------------------------------

    def value(self, score: Any, target: Any) -> Floats:
        """Give the loss itself."""
        raise NotImplementedError

    def slope(self, score: Any, target: Any) -> Floats:
        """Give its derivative with respect to the score."""
        raise NotImplementedError

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        """Give its derivative at the score after the step."""
        raise NotImplementedError

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        """Give its second derivative.

        The ``safe`` one is that of a parabola which touches the loss there and lies above it at
        least up to its minimum: a step that goes by it always gains.
        """
        raise NotImplementedError

    def value_and_slope(self, score: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Give both together, where they share the dear part."""
        return self.value(score, target), self.slope(score, target)

    def largest_curvature(self, score: Any, target: Any) -> Floats:
        """Bound the second derivative from the score to where a step may lead."""
        return np.asarray(self.curvature)

    # -- targets, constants, predictions -------------------------------------------------------

    def unfit(self, targets: NDArray[Any]) -> tuple[int, Any, str] | None:
        """Find the first row with a target that it does not accept; that, and what it wants."""
        return None

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        """Give the score with the lowest loss on so many rows of either side, for each output.

        Either side counts half a row more than there were, so that no probability is zero.
        """
        raise NotImplementedError

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        """Give the score with the lowest loss on targets of one output, which are numbers."""
        return float(weights @ targets / weights.sum())

    def predictions(self, scores: Floats) -> Floats:
        """Turn scores into what is predicted: through the link."""
        return scores

    def for_newton(self, rows: float, columns: int) -> Loss:
        """Give what Newton's steps minimise with so many rows: the loss, or a rounded one."""
        return self


def array_of(values: tuple[float, ...]) -> Any:
    """Give the one value, or an array of all that goes with the last axis of scores."""
    return values[0] if len(values) == 1 else np.array(values)


def _one(values: tuple[float, ...], output: int) -> tuple[float, ...]:
    return values[output : output + 1] if len(values) > 1 else values


def _written(name: str, parameters: tuple[float, ...], scales: tuple[float, ...]) -> str:
    inside = ",".join(repr(value) for value in parameters)
    if scales:
        inside += ";" + ",".join(repr(value) for value in scales)
    return f"{name}({inside})" if inside else name

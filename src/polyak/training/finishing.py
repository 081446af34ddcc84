"""The one place that finishes a model: what was learned, and what is known about its data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from polyak.model.features import FeatureMap

if TYPE_CHECKING:
    from polyak.learn.learner import Learner
    from polyak.model.linear import LinearModel
    from polyak.model.training_report import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class DataInfo:
    """What is known about the data of a model, however and wherever it was read.

    Attributes
    ----------
    features : FeatureMap
        How it became rows; with the names of all hashed features, of which the model keeps some.
    labels : array or None
        What the classes are called, where the learner only counted them.
    names : int
        The number of hashed features whose names the model keeps.
    passes, bad_lines, rows_without_target : int
    engine : Engine or None
        The engine, where several workers learned together.
    """

    features: FeatureMap = field(default_factory=FeatureMap)
    labels: NDArray[Any] | None = None
    names: int = 0
    passes: int = 1
    bad_lines: int = 0
    rows_without_target: int = 0
    engine: Engine | None = None


def finished(learner: Learner, info: DataInfo) -> LinearModel:
    """Make the model of a learner, with what is known about its data.

    Examples
    --------
    >>> import numpy as np
    >>> from polyak.learn.learner import Learner
    >>> from polyak.learn.recipes import Recipe
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> learner = Learner(Recipe())
    >>> learner.learn(X, np.where(X[:, 0] > 0, 1, -1))
    >>> finished(learner, DataInfo(features=FeatureMap.numbered(1))).features.first_id
    1
    """
    model = learner.model()
    assert model.report is not None
    return replace(
        model,
        classes=model.classes if info.labels is None else info.labels,
        features=info.features.of_the_heaviest(model.weights, info.names),
        report=replace(
            model.report,
            passes=info.passes,
            bad_lines=info.bad_lines,
            rows_without_target=info.rows_without_target,
            engine=info.engine,
        ),
    )

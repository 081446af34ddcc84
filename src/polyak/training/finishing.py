"""From what was learned to a model that knows all that prediction asks about its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polyak.learn.learner import Learner
    from polyak.model.linear import LinearModel
    from polyak.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known about the data of a model, however and wherever it was read.

    Attributes
    ----------
    passes, bad_lines : int
    first_id : int or None
        Whether the ids of its features begin at 0 or 1, where it shows.
    hashed_bits : int or None
        Into how many slots names were hashed: 2 to this.
    names : dict
        The names of hashed features by their index, if they were to be remembered.
    schema : Schema or None
        What a table's columns mean.
    rows_without_target : int
    engine : dict or None
        How it was learned by several workers.
    """

    passes: int = 1
    bad_lines: int = 0
    first_id: int | None = None
    hashed_bits: int | None = None
    names: dict[int, str] | None = None
    schema: Schema | None = None
    rows_without_target: int = 0
    engine: dict[str, Any] | None = None


def finished(learner: Learner, known: Known) -> LinearModel:
    """Make the model of a learner, with what is known about its data.

    Examples
    --------
    >>> from polyak.learn.learner import Learner
    >>> from polyak.learn.recipes import Recipe
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> learner = Learner(Recipe())
    >>> learner.learn(X, np.where(X[:, 0] > 0, 1, -1))
    >>> finished(learner, Known(first_id=1)).about["first_id"]
    1
    """
    model = learner.model()
    about: dict[str, Any] = {"passes": known.passes, "bad_lines": known.bad_lines}
    if known.first_id in (0, 1):
        about["first_id"] = known.first_id
    if known.names:
        about["hashed_names"] = heaviest_names(model.weights, known.names)
    if known.hashed_bits is not None:
        about["hashed_bits"] = known.hashed_bits
    if known.rows_without_target:
        about["rows_without_target"] = known.rows_without_target
    if known.schema is not None:
        about["schema"] = known.schema.to_json()
        about["feature_names"] = known.schema.feature_names
    if known.engine is not None:
        about["engine"] = known.engine
    return replace(model, about=model.about | about)


def heaviest_names(
    weights: NDArray[Any], names: dict[int, str], most: int = 1000
) -> dict[str, str]:
    """Keep the names of the features that weigh most, by their index.

    Examples
    --------
    >>> heaviest_names(np.array([[0.0], [2.0], [-3.0]]), {1: "a=b", 2: "a=c"}, most=1)
    {'2': 'a=c'}
    """
    known = np.array(sorted(index for index in names if index < len(weights)), dtype=np.int64)
    sizes = np.abs(weights[known]).max(axis=1)
    heaviest = known[np.argsort(-sizes, kind="stable")[:most]]
    return {str(index): names[index] for index in sorted(heaviest.tolist())}

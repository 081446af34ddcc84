"""The sandwich covariance of a model's weights, kept where features are few.

The name is that of the estimator: one matrix between two copies of another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.storage.container import Arrays

Floats = NDArray[np.float64]

PREFIX = "sandwich."


class Sandwich(NamedTuple):
    """The weights of a model, hardly penalised, and how uncertain they are.

    A penalty is a bias that no covariance shows. They score a row by its distance from ``origin``,
    a row amid the others, where little cancels.

    Attributes
    ----------
    features : int64 array of shape (columns,)
        The features that have occurred; the weights of all others are zero.
    origin : array of shape (columns,)
    weights : array of shape (1 + columns, outputs)
        First the score at the origin, then the weights.
    covariance : array of shape (outputs, 1 + columns, 1 + columns)
    degrees : array of shape (outputs,)
        Degrees of freedom: how many rows there are to tell the covariance from.
    """

    features: NDArray[np.int64]
    origin: Floats
    weights: Floats
    covariance: Floats
    degrees: Floats

    def with_weight_of_one(self, feature: int) -> Sandwich:
        """Return the same with another feature, whose weight is one and certain."""
        return Sandwich(
            np.append(self.features, feature),
            np.append(self.origin, 0.0),
            np.pad(self.weights, ((0, 1), (0, 0)), constant_values=1.0),
            np.pad(self.covariance, ((0, 0), (0, 1), (0, 1))),
            self.degrees,
        )


def sandwich_arrays(sandwich: Sandwich) -> Arrays:
    """Name its arrays for a file."""
    return {PREFIX + name: array for name, array in sandwich._asdict().items()}


def sandwich_from(arrays: Arrays, features: int, outputs: int) -> Sandwich | None:
    """Find its arrays among others, if they are there, and refuse what does not fit together.

    Examples
    --------
    >>> one = Sandwich(np.array([4]), np.ones(1), np.ones((2, 1)), np.eye(2)[None], np.ones(1))
    >>> sandwich_from(sandwich_arrays(one), features=5, outputs=1).features
    array([4])
    >>> sandwich_from(sandwich_arrays(one), features=4, outputs=1)
    Traceback (most recent call last):
    ValueError: its standard errors are of features that there are not
    """
    names = [PREFIX + name for name in Sandwich._fields]
    if not any(name in arrays for name in names):
        return None
    if not all(name in arrays for name in names):
        raise ValueError("its standard errors are not complete")
    found = Sandwich(*(arrays[name] for name in names))
    columns = len(found.features)
    shapes = {
        "features": (columns,),
        "origin": (columns,),
        "weights": (1 + columns, outputs),
        "covariance": (outputs, 1 + columns, 1 + columns),
        "degrees": (outputs,),
    }
    for name, array in found._asdict().items():
        right_type = array.dtype == (np.int64 if name == "features" else np.float64)
        if array.shape != shapes[name] or not right_type or not np.isfinite(array).all():
            raise ValueError(f"the {name} of its standard errors are not what they should be")
    used = np.sort(found.features)
    if columns and (used[0] < 0 or used[-1] >= features or (np.diff(used) == 0).any()):
        raise ValueError("its standard errors are of features that there are not")
    if not (found.degrees > 0).all():
        raise ValueError("its standard errors have no degrees of freedom")
    return found

"""A class that comes up late, where classes are learned together: what is known, with one more.

The new class has had a small probability in all rows so far, at the expense of all others alike.
What is known stands in the coordinates of `polyak.learn.newton.softmax`, which change with the
number of classes, so it goes by way of the weights of the classes themselves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.information import Information
from polyak.learn.newton.softmax import basis, of_classes

Floats = NDArray[np.float64]


def with_one_class_more(
    known: Information, place: int, chance: float, rows: float, *, fit_intercept: bool
) -> Information:
    """Give what would be known had a class been there that no row was of.

    ``chance`` is its probability in all ``rows`` that are summed up by what is known.
    """
    before, after = basis(known.outputs_each + 1), basis(known.outputs_each + 2)
    columns, classes = len(known), len(before)
    others = np.delete(np.arange(classes + 1), place)

    W = np.zeros((*known.W.shape[:2], classes + 1))
    W[:, :, others] = of_classes(known.W)
    P = np.zeros_like(W)
    P[:, :, others] = of_classes(known.P)
    H = np.zeros((classes + 1, columns, classes + 1, columns))
    old = known.G[0].reshape(classes - 1, columns, classes - 1, columns)
    every = np.arange(columns)
    H[np.ix_(others, every, others, every)] = np.einsum("ka,aibj,lb->kilj", before, old, before)
    if fit_intercept:
        scores = W[0][:, others]
        highest = scores.max(axis=1)
        total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
        W[0, :, place] = np.log(chance / (1.0 - chance)) + total
        summed = known.summed_hessian()
        if summed[0, 0] > 0:  # the rows' products, as far as curvature tells them
            gram = rows * summed / summed[0, 0]
            for other in others:
                apart = np.zeros(classes + 1)
                apart[place], apart[other] = 1.0, -1.0
                pair = chance / classes * np.outer(apart, apart)
                H += pair[:, None, :, None] * gram[None, :, None, :]
                P += (chance / classes * apart) * gram[0][:, None, None]
    size = classes * columns
    G = np.einsum("ka,kilj,lb->aibj", after, H, after).reshape(size, size)
    return replace(known, W=W @ after, P=P @ after, G=[np.ascontiguousarray(G)])

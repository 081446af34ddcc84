"""A class first seen when Newton steps are under way: their state with one output more.

The rows that are still held are negative rows of the new class. Of the rows that were forgotten,
the curvature and the slope at the constant that its models begin with remain: the other classes'
Hessians show how features vary together, so the new Hessian is their sum, scaled to the number of
those rows.

Where classes are learned together, the new class has had a small probability in all rows so far, at
the expense of all others alike. That state is in the coordinates of
`polyak.learn.newton.softmax`, which depend on the number of classes, so it goes by way of the
weights of the classes themselves.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyak.learn.bank.settings import SUMS
from polyak.learn.newton.block.curvature import curvature
from polyak.learn.newton.information import Information
from polyak.learn.newton.softmax import basis, of_classes
from polyak.learn.race.lanes.protocol import NewOutput, mirrored
from polyak.learn.stored_state import Arrays
from polyak.losses import get_loss

Floats = NDArray[np.float64]


def mirrored_arrays(arrays: Arrays, share: float, *, together: bool) -> Arrays:
    """Return the arrays of a solver of two classes, one model for both, with a model for each.

    The first class's is the mirror image of the second's. Learned ``together``, a softmax of two is
    the logistic curve: the weights of the one model are the difference of the two classes'.
    """
    found = {name: mirrored(a) for name, a in arrays.items() if name.startswith("earlier.")}
    found["held.targets"] = mirrored(arrays["held.targets"])
    totals = np.repeat(arrays["totals"], 2, axis=1)
    totals[[SUMS.index(name) for name in ("loss", "loss_squared", "rated")]] *= share
    totals[SUMS.index("confusion")] = totals[SUMS.index("error")]
    found |= {"totals": totals, "lately": 2.0 * share * arrays["lately"]}
    if together:
        apart = basis(2)[1] - basis(2)[0]
        found["weights"] = arrays["weights"] / apart
        found["gradients"] = arrays["gradients"] * apart
        found["hessians"] = arrays["hessians"] * apart**2
        return arrays | found
    for name in ("weights", "gradients"):
        found[name] = mirrored(arrays[name])
    for name in ("hessians", "spreads"):
        found[name] = np.concatenate([arrays[name]] * 2)
    return arrays | found


def with_output(arrays: Arrays, clock: int, new: NewOutput, *, together: bool) -> Arrays:
    """Return the arrays of a solver that has learned ``clock`` rows, none of the new class."""
    intercept, forgotten = new.recipe.fit_intercept, clock - len(arrays["held.targets"])
    rows = arrays["totals"][:, :: arrays["held.targets"].shape[1]].copy()
    rows[1:] = 0.0  # all sums but that of the rows' weights
    found = {
        "held.targets": new.inserted(arrays["held.targets"], -1.0),
        "totals": new.inserted(arrays["totals"], rows),
    }
    if together:
        chance = 1.0 / (1.0 + math.exp(-new.constant))
        own = (arrays["weights"], arrays["gradients"], list(arrays["hessians"]))
        known = Information(False, *own, [], together=True)
        how = (new.place, chance, forgotten)
        more = with_one_class_more(known, *how, fit_intercept=intercept)
        return arrays | found | more.state()
    weights, hessians = arrays["weights"], arrays["hessians"]
    loss, constant, negative = get_loss(new.recipe.loss), np.full(1, new.constant), -np.ones(1)
    first = np.zeros(weights.shape[:2])
    slope, gram = np.zeros(1), np.zeros(hessians.shape[1:])
    summed: Floats = hessians.sum(axis=0)
    if intercept:
        first[0] = new.constant
        if summed[0, 0] > 0:
            gram = forgotten * summed / summed[0, 0]
            slope = loss.value_and_slope(constant, negative)[1]
    gradient = slope * (gram[0] if len(gram) else np.zeros(0))
    gradients = np.repeat(gradient[:, None], weights.shape[1], axis=1)
    curved = curvature(loss, constant, negative) * gram
    found |= {
        "weights": new.inserted(weights, first),
        "gradients": new.inserted(arrays["gradients"], gradients),
        "hessians": np.insert(hessians, new.place, curved, axis=0),
    }
    for name, array in arrays.items():
        if name.startswith("earlier."):
            found[name] = new.inserted(array)
    if len(arrays["spreads"]):
        spread = slope * slope * gram
        found["spreads"] = np.insert(arrays["spreads"], new.place, spread, axis=0)
    return arrays | found


def with_one_class_more(
    known: Information, place: int, chance: float, rows: float, *, fit_intercept: bool
) -> Information:
    """Return the information there would be had there been a class without any row.

    ``chance`` is its probability in all ``rows`` that the information sums up.
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

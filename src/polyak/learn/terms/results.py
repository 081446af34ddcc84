"""What an additive model knows of its terms: their covariance, degrees of freedom and tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import solve
from polyak.learn.newton.learned import Learned
from polyak.learn.newton.softmax import basis, of_classes
from polyak.learn.terms.axes import Axes
from polyak.learn.terms.significance import score_tests
from polyak.model.terms import Terms
from polyak.model.training_report import TermReport
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


def covariance_of(learned: Learned, rows: int) -> Sandwich:
    """Return the weights and their covariance φ(H + R)⁻¹, R being the penalties.

    That is the posterior of weights drawn from normal distributions, whose bands around a curve
    cover it at the nominal rate on average over the curve (Nychka, 1988): they contain the bias of
    the penalty as well.
    """
    known, standard, smoothing = learned.known, learned.standard, learned.smoothing
    assert smoothing is not None
    first = int(standard.fit_intercept)
    unit = np.concatenate([np.ones(first), 1.0 / standard.units])
    W = (of_classes(known.W) if known.together else known.W)[:, 0]
    outputs, columns = W.shape[1], 1 + len(standard)
    here = slice(1 - first, None)
    weights, covariance = np.zeros((columns, outputs)), np.zeros((outputs, columns, columns))
    weights[here] = W * unit[:, None]
    each = known.outputs_each
    penalty = learned.penalty().tiled(each).shrink[:, 0]
    inverses = [solve(G, penalty, np.eye(len(G))) for G in known.G]
    for k in range(outputs):
        if known.together:
            mix = basis(outputs)[k]
            blocks = inverses[0].reshape(each, len(known), each, len(known))
            own = np.einsum("a,b,aibj->ij", mix, mix, blocks)
        else:
            own = inverses[k % len(inverses)]
        covariance[k, here, here] = smoothing.dispersion * own * unit[:, None] * unit
    freedom = smoothing.freedom(known, standard).sum() / outputs + first
    degrees = np.full(outputs, max(rows - freedom, 1.0))
    return Sandwich(standard.features.copy(), standard.centre.copy(), weights, covariance, degrees)


def term_reports(learned: Learned, axes: Axes, terms: Terms, rows: int) -> tuple[TermReport, ...]:
    """Return what is known of each column, and of each pair of columns."""
    known, standard, smoothing = learned.known, learned.standard, learned.smoothing
    assert smoothing is not None
    first = int(standard.fit_intercept)
    numbers = smoothing.term_of(standard.features)
    freedom = smoothing.freedom(known, standard)
    places_of = {term.name: axes.first_term + k for k, term in enumerate(terms.terms)}
    own: list[tuple[str, str, list[int]]] = []
    for column, name in enumerate(axes.columns.names):
        kind = "linear" if column in axes.columns.numbers else "category"
        kind = "curve" if name in places_of else kind
        own.append((name, kind, [column, axes.missing + column, places_of.pop(name, -1)]))
    own += [(name, "pair", [place]) for name, place in places_of.items()]
    places = [np.flatnonzero(np.isin(numbers, parts)) for _, _, parts in own]
    one = known.W.shape[2] == 1 and not known.together
    tests = None
    if one:
        right = known.G[0] @ known.W[:, 0, 0] - known.P[:, 0, 0]
        if known.exact:
            right = known.P[:, 0, 0]
        units = np.concatenate([np.ones(first), standard.units])
        left = max(rows - float(freedom.sum()), 1.0)
        some = [place + first for place in places if len(place)]
        tests = iter(score_tests(known.G[0], right, some, units, smoothing.dispersion, left))
    found = []
    for (name, kind, _), place in zip(own, places, strict=True):
        if not len(place):
            continue
        edf = float(freedom[np.unique(numbers[place])].sum())
        if tests is None:
            found.append(TermReport(name, kind, edf))
        else:
            test = next(tests)
            found.append(TermReport(name, kind, edf, test.statistic, test.p_value))
    return tuple(found)

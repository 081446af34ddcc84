"""What the first rows tell a loss: a parameter that is not given, and the scale of the targets.

The scale of residuals is a robust one, of a robust fit: outliers are what such losses are for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.losses import Loss
from polyak.losses.corners import weighted_quantile
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

MOST_FEATURES, ROWS_A_FEATURE = 200, 5
"""With more features, or fewer rows for each, the targets' own scale has to do."""
STEPS = 10
OF_NORMAL = 1.4826
"""The standard deviation of normal noise, in its medians of distances."""


def with_scales(loss: Loss, rows: Rows, targets: Floats) -> Loss:
    """Return the loss with scales from the first rows; targets have a column per output.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = X @ [1.0, 2.0] + np.tile([-1.0, 1.0, 1.0, -1.0], 250)
    >>> round(with_scales(get_loss("huber"), X, y[:, None]).parameters[0], 1)
    2.0
    """
    if not loss.needs_rows:
        return loss
    with np.errstate(all="ignore"):  # what is not finite is refused later, with its row
        return _with_scales(loss, rows, targets)


def _with_scales(loss: Loss, rows: Rows, targets: Floats) -> Loss:
    if loss.log_link:
        means = targets.mean(axis=0)
        scales = tuple(float(mean) if mean > 0 else 1.0 for mean in means)
        return type(loss)(loss.parameters, scales)
    columns = targets.T[:1] if loss.outputs > 1 else targets.T
    scales = tuple(residual_scale(rows, column) for column in columns)
    parameters = loss.parameters
    if not parameters:
        parameters = tuple(loss.parameter_of(scale) for scale in scales)
    return type(loss)(parameters, scales)


def best_constants(
    loss: Loss, targets: Floats, weights: Floats | None, offsets: Floats | None
) -> Floats:
    """Return the constant that each output begins with."""
    own = np.ones(len(targets)) if weights is None else weights
    shift = np.zeros(len(targets)) if offsets is None else offsets
    each = enumerate(targets.T)
    return np.array([loss.of_output(k).best_intercept(column, own, shift) for k, column in each])


def residual_scale(rows: Rows, targets: Floats) -> float:
    """Return the scale of the residuals of a robust linear fit.

    It is their median size, in standard deviations of normal noise.
    """
    table = _columns(rows)
    away = targets - weighted_quantile(targets, np.ones(len(targets)), 0.5)
    spare = len(targets)
    if table is not None and len(targets) >= ROWS_A_FEATURE * (table.shape[1] + 1):
        with one_blas_thread():
            away = _residuals(table, away)
        spare -= table.shape[1]
    distances = np.sort(np.abs(away))
    scale = OF_NORMAL * float(distances[len(distances) // 2])
    if scale <= 1e-9 * float(distances[-1]):  # most rows are fitted exactly
        scale = 1.25 * float(distances.mean())
    return float(scale * np.sqrt(len(targets) / spare)) if scale > 0 else 1.0


def _columns(rows: Rows) -> Floats | None:
    """Return standardised columns and a constant, unless there are too many."""
    if isinstance(rows, SparseRows):
        indices, values = rows.entries()
        used, place = np.unique(indices, return_inverse=True)
        if len(used) > MOST_FEATURES:
            return None
        X = np.zeros((len(rows), len(used)))
        X[rows.entry_rows(), place] = values
    else:
        if rows.shape[1] > MOST_FEATURES:
            return None
        X = np.asarray(rows, dtype=np.float64)
    X = X - X.mean(axis=0)
    spread = np.sqrt(np.mean(X * X, axis=0))
    return np.column_stack([np.ones(len(X)), X[:, spread > 0] / spread[spread > 0]])


def _residuals(table: Floats, targets: Floats) -> Floats:
    """Fit by least squares, rows that are far off counting less each time."""
    away, counts = targets, np.ones(len(targets))
    ridge = 1e-6 * len(targets) * np.eye(table.shape[1])
    for _ in range(STEPS):
        weighted = table * counts[:, None]
        w = np.linalg.solve(weighted.T @ table + ridge, weighted.T @ targets)
        away = targets - table @ w
        distances = np.abs(away)
        usual = 1.345 * OF_NORMAL * float(np.sort(distances)[len(distances) // 2])
        counts = usual / np.maximum(distances, usual) if usual > 0 else np.ones(len(targets))
    return np.asarray(away)

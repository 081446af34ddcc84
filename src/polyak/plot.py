"""Plots of additive models with matplotlib, which ``pip install 'polyak[plot]'`` installs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyak.model.effects import Effect, effect, kinds
from polyak.model.linear import LinearModel
from polyak.optional_imports import needed
from polyak.rows.label_text import label_text

ACROSS = 3
"""Panels side by side."""


def effects(
    source: Any,
    terms: Sequence[str] | None = None,
    *,
    output: Any = None,
    level: float = 0.95,
) -> Any:
    """Draw what each term of a model adds to the score: one panel per term, with bands.

    Parameters
    ----------
    source : LinearModel, fitted estimator, or the path of a model file
    terms : list of str, optional
        The columns and pairs, such as "age × city", to draw; all of them by default.
    output : optional
        The class, or the number of the output, if there are several; the last by default.
    level : float, default=0.95
        The confidence level of the bands.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from polyak import ASGDRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> figure = effects(ASGDRegressor(curves="all").fit(X, np.sin(2 * X[:, 0])))
    >>> [panel.get_title() for panel in figure.axes]
    ['x0', 'x1']
    """
    figures = needed("matplotlib.figure", "plot")
    model = LinearModel.of(source)
    known = kinds(model)
    for name in terms or ():
        if name not in known:
            raise ValueError(f"there is no term {name!r}; there are {', '.join(known)}")
    shown = list(known if terms is None else terms)
    place, more = _output(model, output), ""
    if len(model.intercept) > 1:
        more = f" · {place if model.classes is None else label_text(model.classes[place])}"
    down = max(math.ceil(len(shown) / ACROSS), 1)
    figure = figures.Figure(figsize=(4.0 * ACROSS, 3.0 * down), layout="constrained")
    for k, name in enumerate(shown):
        axes = figure.add_subplot(down, ACROSS, k + 1)
        grid, *band = effect(model, name, level)
        own = [one[..., place] for one in band] if len(model.intercept) > 1 else band
        draw = {"category": _levels, "pair": _pair}.get(known[name], _curve)
        draw(axes, name, Effect(grid, *own))
        axes.set_title(name + more)
    return figure


def _output(model: LinearModel, output: Any) -> int:
    """Return the place of an output."""
    if output is None:
        return len(model.intercept) - 1
    known = list(range(len(model.intercept)))
    if model.classes is not None:
        known = list(model.classes[-len(model.intercept) :])
    if output not in known:
        raise ValueError(f"there is no output {output!r}; there are {', '.join(map(str, known))}")
    return known.index(output)


def _curve(axes: Any, name: str, found: Effect) -> None:
    axes.fill_between(found.grid, found.lower, found.upper, alpha=0.25, linewidth=0)
    axes.plot(found.grid, found.value)
    axes.axhline(0.0, color="grey", linewidth=0.5)
    axes.set_xlabel(name)


def _levels(axes: Any, name: str, found: Effect) -> None:
    order = np.argsort(found.value, kind="stable")
    value, lower, upper = (one[order] for one in found[1:])
    axes.barh(found.grid[order], value, xerr=[value - lower, upper - value], alpha=0.5)
    axes.axvline(0.0, color="grey", linewidth=0.5)


def _pair(axes: Any, name: str, found: Effect) -> None:
    """Draw a heat map; the cells of numbers are knots, evenly spaced."""
    largest = float(np.abs(found.value).max())
    image = axes.imshow(
        found.value.T, origin="lower", aspect="auto", cmap="RdBu", vmin=-largest, vmax=largest
    )
    axes.figure.colorbar(image, ax=axes)
    names = name.split(" × ")
    for axis, called, grid in zip((axes.xaxis, axes.yaxis), names, found.grid, strict=True):
        some = range(len(grid)) if len(grid) <= 5 else [0, len(grid) // 2, len(grid) - 1]
        texts = [x if isinstance(x, str) else f"{x:.4g}" for x in grid[list(some)].tolist()]
        axis.set_ticks(list(some), texts)
        axis.set_label_text(called)

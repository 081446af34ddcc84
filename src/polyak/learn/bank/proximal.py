"""Banks of proximal steps that learned different rows: what they know of them adds up.

After some rows a weight minimises ``z w + h w² / 2`` and the penalty of those rows: ``z`` are their
slopes, ``h`` is how firmly they hold the weight where it was. Both are sums over rows, and so is
the number of rows that the penalty counts. So the merged weight is, where it is not zero, the mean
of the weights, each counting as much as its bank has come to hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Fields(Protocol):
    """What is asked of a bank here."""

    def field(self, name: str) -> Floats:
        """Give one of the numbers each model keeps."""


def added_up(
    banks: Sequence[Fields], states: list[dict[str, Any]], last_is_base: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add up what each bank has beyond the base, which may be the last, and the base itself."""
    signs = [1.0] * len(banks)
    if last_is_base:
        signs[-1] = -(len(banks) - 2.0)
    features, models = max(len(state["lines"]) for state in states), len(banks[0].field("bias"))
    z, h, squares = np.zeros((features, models)), np.zeros((features, models)), np.zeros(features)
    pulls, held = np.zeros(models), np.zeros(models)
    for sign, bank, state in zip(signs, banks, states, strict=True):
        lines, own = state["lines"].astype(np.float64), state["squares"]
        b, eta, has = bank.field("decay"), bank.field("gamma0"), slice(len(lines))
        q = own[:, None] ** 0.25
        z[has] += sign * lines[:, :models]
        h[has] += sign * q * (b * q + lines[:, models:]) / eta
        squares[has] = np.maximum(squares[has], own)
        intercept = (b + np.sqrt(bank.field("running_iterate"))) / eta
        pulls += sign * intercept * bank.field("bias")
        held += sign * intercept
    b, eta, q = banks[0].field("decay"), banks[0].field("gamma0"), squares[:, None] ** 0.25
    root = np.divide(h * eta, q, out=np.zeros_like(h), where=q > 0) - b * q
    clocks = np.array([state["clock"] for state in states], np.float64)
    state = states[0] | {
        "lines": np.hstack([z, np.maximum(root, 0.0)]).astype(states[0]["lines"].dtype),
        "squares": squares,
        "clock": round(float(np.dot(signs, clocks))),
    }
    return state, {
        "bias": pulls / held,
        "running_iterate": np.square(np.maximum(held * eta - b, 0.0)),
    }

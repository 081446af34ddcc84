"""Excess risks of several algorithms, as they are and relative to batch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.figures import Panel, Series

Floats = NDArray[np.float64]
Band = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""From the risks of all seeds, a row a number of rows, to the line and the edges of its band."""


def risk_panels(rows: list[int], risks: dict[str, Floats], band: Band) -> list[Panel]:
    """Draw the risks of algorithms, batch among them, and beside that their ratios to batch's."""

    def series(name: str, values: Floats) -> Series:
        middle, low, high = (edge.tolist() for edge in band(values))
        return Series(name, rows, middle, low, high)

    axes: dict[str, Any] = {"x_log": True, "y_log": True}
    lines = [series(name, values) for name, values in risks.items()]
    relative = [series(n, values / risks["batch"]) for n, values in risks.items() if n != "batch"]
    return [
        Panel("Excess risk", "rows", "excess risk", lines, **axes),
        Panel(
            "Relative to batch",
            "rows",
            "excess risk over batch's",
            relative,
            **axes,
            lines_at={1.0: "as good as batch"},
        ),
    ]

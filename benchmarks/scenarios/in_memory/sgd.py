"""How the in-memory scenarios call scikit-learn's SGDClassifier: one averaged pass, in order.

It is called as a user would, with its own loss (the hinge), penalty and learning rate, and ours
has the same loss and penalty. With the squared hinge its defaults diverge: on the sparse scenario
its weights reach 1e11, most rows then move nothing, and the pass is fast for a bad reason. It
enters a second time with steps of our size (``longest``, the largest squared row length).
"""

from __future__ import annotations

from typing import Any

from benchmarks.scenarios.in_memory.ours import ALPHA, LOSS


def classifier(average: bool, longest: float | None = None, passes: int = 1) -> Any:
    """Return a one-pass classifier as similar to ours as its options allow."""
    from sklearn.linear_model import SGDClassifier

    steps = {"learning_rate": "invscaling", "power_t": 0.25, "eta0": 1 / longest} if longest else {}
    return SGDClassifier(
        loss=LOSS,
        alpha=ALPHA,
        average=average,
        max_iter=passes,
        tol=None,
        shuffle=False,
        **steps,
    )


def longest_row(X: Any) -> float:
    """Return the largest squared norm of the first 1000 rows, intercept included."""
    first = X[:1000]
    squares = first.multiply(first) if hasattr(first, "multiply") else first**2
    return float(squares.sum(axis=1).max()) + 1

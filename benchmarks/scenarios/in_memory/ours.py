"""How the in-memory scenarios call us: the paper's recipe on a bank of K models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyak.learn.bank import Bank
    from polyak.rows.sparse import Rows

LOSS, ALPHA = "hinge", 1e-4
"""The default of SGDClassifier."""


def bank(rows: Rows, models: int = 1, progressive: bool = False, **options: Any) -> Bank:
    """Calibrate a bank on the first rows.

    The models differ in their penalty, as in a search. Progressive validation is off unless asked
    for: the peers do not score rows either. Weights are of the rows' type, as the peers' are.
    """
    from polyak.learn.bank import Bank
    from polyak.learn.schedules import Polynomial
    from polyak.losses import get_loss

    alphas = [ALPHA * 2.0**-k for k in range(models)]
    loss = get_loss(LOSS)
    options = {"dtype": getattr(rows, "dtype", "float32"), "n_features": rows.shape[1]} | options
    return Bank(
        loss=loss.name,
        alpha=alphas,
        schedule=[Polynomial.from_rows(rows, loss, alpha) for alpha in alphas],
        progressive=progressive,
        **options,
    )

"""Distributed runs on a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyak.distributed.dask.estimators import DaskASGDClassifier, DaskASGDRegressor

__all__ = ["DaskASGDClassifier", "DaskASGDRegressor"]


def __getattr__(name: str) -> Any:
    # Imported lazily: the command line does not need scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from polyak.distributed.dask import estimators

    return getattr(estimators, name)

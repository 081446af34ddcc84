from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def sgd(
    indptr: NDArray[Any] | None,
    indices: NDArray[Any] | None,
    values: NDArray[Any],
    targets: Floats,
    loss: str,
    weights: Floats,
    state: Floats,
    *,
    alpha: float,
    gamma0: float,
    decay: float,
    intercept_rate: float,
) -> None: ...
def pegasos(
    indptr: NDArray[Any] | None,
    indices: NDArray[Any] | None,
    values: NDArray[Any],
    targets: Floats,
    loss: str,
    weights: Floats,
    state: Floats,
    *,
    alpha: float,
    radius: float,
    batch: int,
    intercept: bool,
) -> None: ...
def sgd_qn(
    indptr: NDArray[Any] | None,
    indices: NDArray[Any] | None,
    values: NDArray[Any],
    targets: Floats,
    loss: str,
    weights: Floats,
    gains: Floats,
    before: Floats,
    state: Floats,
    *,
    alpha: float,
    t0: float,
    skip: int,
    intercept: bool,
) -> None: ...
def olbfgs(
    indptr: NDArray[Any] | None,
    indices: NDArray[Any] | None,
    values: NDArray[Any],
    targets: Floats,
    loss: str,
    weights: Floats,
    moves: Floats,
    changes: Floats,
    state: Floats,
    *,
    alpha: float,
    eta0: float,
    tau: float,
    damping: float,
    batch: int,
    intercept: bool,
) -> None: ...

"""Arrays of other libraries, such as torch and CuPy, which stay on the device that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_AT_A_TIME = 1 << 16


def is_tensor(X: Any) -> bool:
    """Whether ``X`` is a tensor: an array of another library than NumPy.

    Examples
    --------
    >>> is_tensor(np.eye(2))
    False
    """
    return not isinstance(X, np.ndarray) and hasattr(X, "__dlpack__")


def on_host(X: Any) -> NDArray[Any]:
    """Return a tensor as a NumPy array, copied from its device; anything else as it is."""
    if not is_tensor(X):
        return X  # type: ignore[no-any-return]
    if hasattr(X, "detach"):  # of torch
        X = X.detach()
        X = (X.float() if "bfloat16" in str(X.dtype) else X).cpu()
    return np.asarray(X.get() if hasattr(X, "get") else X)


def take(X: Any, order: NDArray[np.int64]) -> Any:
    """Return the rows of a tensor in an order."""
    from array_api_compat import array_namespace

    return X[array_namespace(X).asarray(order, device=X.device)]


def concatenated(parts: list[Any]) -> Any:
    """Return arrays one after the other; those of several libraries on the host."""
    tensors = [part for part in parts if is_tensor(part)]
    if not tensors or len(tensors) < len(parts):
        return np.concatenate([on_host(part) for part in parts])
    if len(parts) == 1:
        return parts[0]
    from array_api_compat import array_namespace

    return array_namespace(*parts).concat(parts, axis=0)


def product(X: Any, matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return the product of a tensor and a matrix, computed where the tensor is."""
    from array_api_compat import array_namespace

    xp, parts = array_namespace(X), []
    there = xp.asarray(matrix.astype(np.float32), device=X.device)
    for begin in range(0, len(X), ROWS_AT_A_TIME):
        some = xp.astype(X[begin : begin + ROWS_AT_A_TIME], xp.float32)
        parts.append(on_host(some @ there).astype(np.float64))
    return np.concatenate(parts) if parts else np.empty((0, matrix.shape[1]))


def device_memory(X: Any) -> int | None:
    """Return the bytes of memory of the device that holds a tensor; nothing is known of others."""
    if not is_tensor(X) or str(X.device) == "cpu":
        return None
    if hasattr(X, "detach"):
        import torch

        return int(torch.cuda.get_device_properties(X.device).total_memory)
    return int(X.device.mem_info[1]) if hasattr(X.device, "mem_info") else None


def first_not_finite(X: Any) -> tuple[int, int, float] | None:
    """Return row, column and value of the first that is not a finite number, if there is any."""
    from array_api_compat import array_namespace

    xp = array_namespace(X)
    if bool(xp.all(xp.isfinite(X))):
        return None
    row = int(np.argmax(~on_host(xp.all(xp.isfinite(X), axis=1))))
    values = on_host(X[row])
    column = int(np.argmax(~np.isfinite(values)))
    return row, column, float(values[column])

"""Losses of score matrices with their gradients, for arrays of any library.

Scores have the shape (rows, candidates, outputs). Targets are class numbers for a softmax, signs
for the logistic loss of one or several labels, numbers for squared errors.
"""

from __future__ import annotations

from typing import Any


def values(xp: Any, kind: str, scores: Any, targets: Any) -> Any:
    """Return the losses of rows, of shape (rows, candidates, losses of a row)."""
    if kind == "softmax":
        own = scores[xp.arange(len(targets), device=scores.device), :, targets]
        top = xp.max(scores, axis=2)
        total = xp.sum(xp.exp(scores - top[:, :, None]), axis=2)
        return (xp.log(total) + top - own)[:, :, None]
    if kind == "log_loss":
        margin = scores * targets[:, None, :]
        return xp.log1p(xp.exp(-xp.abs(margin))) + xp.clip(-margin, min=0.0)
    away = scores - targets[:, None, :]
    return 0.5 * away * away


def slopes(xp: Any, kind: str, scores: Any, targets: Any) -> tuple[Any, Any]:
    """Return the total loss of each row and candidate, and the derivatives by the scores."""
    if kind == "softmax":
        rows = xp.arange(len(targets), device=scores.device)
        if hasattr(xp, "log_softmax"):  # torch passes over the scores once
            found = xp.log_softmax(scores, 2)
            lost = -found[rows, :, targets]
            found = xp.exp(found)
            found[rows, :, targets] -= 1.0
            return lost, found
        top = xp.max(scores, axis=2, keepdims=True)
        own = scores[rows, :, targets] - top[:, :, 0]
        found = xp.exp(scores - top)
        total = xp.sum(found, axis=2, keepdims=True)
        found /= total
        found[rows, :, targets] -= 1.0
        return xp.log(total[:, :, 0]) - own, found
    if kind == "log_loss":
        signs = targets[:, None, :]
        margin = scores * signs
        small = xp.exp(-xp.abs(margin))
        lost = xp.log1p(small) + xp.clip(-margin, min=0.0)
        share = xp.where(margin > 0, small, xp.ones_like(small)) / (1.0 + small)
        return xp.sum(lost, axis=2), -signs * share
    away = scores - targets[:, None, :]
    return 0.5 * xp.sum(away * away, axis=2), away


def curvatures(xp: Any, kind: str, scores: Any) -> Any:
    """Return the second derivatives by the scores, each by its own."""
    if kind == "squared_error":
        return xp.ones_like(scores)
    if kind == "softmax":
        found = xp.exp(scores - xp.max(scores, axis=2, keepdims=True))
        found /= xp.sum(found, axis=2, keepdims=True)
    else:
        found = 1.0 / (1.0 + xp.exp(-xp.clip(scores, min=-30.0, max=30.0)))
    return found * (1.0 - found)


def errors(xp: Any, kind: str, scores: Any, targets: Any) -> Any:
    """Return the error of each row and candidate: wrong classes, labels or absolute errors."""
    if kind == "softmax":
        return xp.astype(xp.argmax(scores, axis=2) != targets[:, None], scores.dtype)
    if kind == "log_loss":
        wrong = (scores > 0) != (targets[:, None, :] > 0)
        return xp.mean(xp.astype(wrong, scores.dtype), axis=2)
    return xp.mean(xp.abs(scores - targets[:, None, :]), axis=2)

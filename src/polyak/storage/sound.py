"""Shapes that model files have in common with what is made of them."""

from __future__ import annotations

from typing import Any

from polyak.losses import get_loss
from polyak.storage.shapes import either, flag, many, real, record, whole, word

LABEL = either(flag, whole(-(2**63)), real(), word())
CLASSES = record({"type": word(), "values": many(LABEL, least=2)})


def loss_text(value: Any, name: str) -> None:
    """Accept the text of a loss; `get_loss` raises what is wrong with it."""
    word()(value, name)
    get_loss(value)

"""What a model's features are called, and in which units their weights are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def feature_name(about: dict[str, Any], index: int) -> str | None:
    """Name a feature, if the model knows its name.

    Examples
    --------
    >>> about = {"feature_names": ["age"], "hashed_names": {"7": "city=Rome"}}
    >>> feature_name(about, 0), feature_name(about, 7), feature_name(about, 8)
    ('age', 'city=Rome', None)
    """
    names = about.get("feature_names") or []
    if index < len(names):
        return str(names[index])
    found = (about.get("hashed_names") or {}).get(str(index))
    return None if found is None else str(found)


def slot_name(about: dict[str, Any], index: int) -> str:
    """Name a feature as well as can be: a hashed one without a name by its slot.

    Examples
    --------
    >>> slot_name({"feature_names": ["age"]}, 5), slot_name({}, 5), slot_name({"first_id": 1}, 5)
    ('slot 4', '5', '6')
    """
    known = feature_name(about, index)
    if known is not None:
        return known
    plain = len(about.get("feature_names") or [])
    return f"slot {index - plain}" if plain else str(index + int(about.get("first_id", 0)))


def units(about: dict[str, Any], n_features: int) -> NDArray[np.float64]:
    """Give what to divide weights by to have them per unit of a table's columns."""
    from polyak.model.schema import schema_of

    found = np.ones(n_features)
    schema = schema_of(about)
    if schema is not None:
        per_unit = schema.units()[:n_features]
        found[: len(per_unit)] = per_unit
    return found

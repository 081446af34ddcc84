"""What is exported: a model, and what is known of its features."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyak.model.linear import LinearModel
from polyak.model.schema import Schema, schema_of
from polyak.rows.labels import label_text


@dataclass(frozen=True, slots=True)
class Subject:
    """A model on its way out.

    Attributes
    ----------
    model : LinearModel
    names : dict of int to str, or None
        What the features are called, as far as it is known, by their index.
    schema : Schema or None
        What the columns mean, where the model was learned from a table.
    """

    model: LinearModel
    names: dict[int, str] | None = None
    schema: Schema | None = None

    @property
    def outputs(self) -> int:
        """How many scores a row has."""
        return len(self.model.intercept)

    def output_names(self) -> list[str]:
        """Name each output: by its class, or by its number.

        Examples
        --------
        >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), "hinge", np.array([-1.0, 1.0]))
        >>> Subject(model).output_names()
        ['1']
        """
        if self.model.classes is None:
            return [str(output) for output in range(self.outputs)]
        return [label_text(label) for label in self.model.classes[-self.outputs :]]

    @property
    def columns(self) -> Schema | None:
        """The schema, where every column is a number or a truth: any program can read those."""
        if self.schema is None or self.schema.is_hashed:
            return None
        plain = all(column.kind in ("number", "boolean") for column in self.schema.columns)
        return self.schema if plain else None

    def about_rows(self) -> list[str]:
        """Say that another program has to be given rows of features rather than columns."""
        if self.schema is None and "hashed_bits" not in self.model.about:
            return []
        what = "words" if self.schema is None else "table's columns"
        return [
            f"rows for it have the {self.model.n_features:,} features that polyak makes of the "
            f"{what}: polyak convert --for MODEL writes such rows"
        ]


def subject_of(source: Any) -> Subject:
    """Take a model, a model file or a fitted estimator."""
    if isinstance(source, str | os.PathLike):
        source = LinearModel.load(source)
    names = getattr(source, "feature_names_in_", None)
    model = source.to_model() if hasattr(source, "to_model") else source
    if not isinstance(model, LinearModel):
        raise TypeError(f"only models and estimators are exported, not {type(source).__name__}")
    if model.classes is not None and len(model.classes) < 2:
        raise ValueError("a model of one class always says the same, and is not exported")
    schema = schema_of(model.about)
    listed = model.about.get("feature_names") if names is None else names
    if schema is not None:
        listed = schema.feature_names
    called = {place: str(name) for place, name in enumerate([] if listed is None else listed)}
    hashed = model.about.get("hashed_names") or {}
    called |= {int(place): str(name) for place, name in hashed.items()}
    bits = model.about.get("hashed_bits")
    width = 0 if bits is None else 1 << bits
    return Subject(_widened(model, schema.n_features if schema else width), called or None, schema)


def _widened(model: LinearModel, width: int) -> LinearModel:
    """Give weights, of zero, to features that no row has had, but rows to come may have."""
    more = width - model.n_features
    if more <= 0:
        return model
    replicas = model.replicas
    if replicas is not None:
        replicas = np.insert(replicas, [model.n_features] * more, 0.0, axis=1)
    weights = np.pad(model.weights, [(0, more), (0, 0)])
    return replace(model, weights=weights, replicas=replicas)

"""What is exported: a model, and what is known of its features."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyak.labels import label_text
from polyak.model import LinearModel
from polyak.streams.schema import Schema, schema_of


@dataclass(frozen=True, slots=True)
class Subject:
    """A model on its way out.

    Attributes
    ----------
    model : LinearModel
    names : sequence of str, or None
        What the features are called, the first ones at least.
    schema : Schema or None
        What the columns mean, where the model was learned from a table.
    """

    model: LinearModel
    names: Sequence[str] | None = None
    schema: Schema | None = None

    @property
    def outputs(self) -> int:
        """How many scores a row has."""
        return len(self.model.intercept)

    def output_names(self) -> list[str]:
        """Name each output: by its class, or by its number.

        Examples
        --------
        >>> import numpy as np
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
        if self.schema is None:
            return []
        return [
            f"rows for it have the {self.model.n_features} features that polyak makes of the "
            "table's columns: polyak convert writes such rows"
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
    if schema is not None:
        names = schema.feature_names
    elif names is None:
        names = model.about.get("feature_names")
    return Subject(model, None if names is None else [str(name) for name in names], schema)

"""The input of an export: a model, and what is known about its features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyak.model.in_use import features_in_use, terms_in_use
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema
from polyak.rows.label_text import label_text


@dataclass(frozen=True, slots=True)
class ExportInput:
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

    @property
    def n_inputs(self) -> int:
        """How many features a row has before it is expanded in terms."""
        return self.model.n_features if self.model.terms is None else self.model.terms.begin

    def output_names(self) -> list[str]:
        """Name each output: by its class, or by its number.

        Examples
        --------
        >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), "hinge", np.array([-1.0, 1.0]))
        >>> ExportInput(model).output_names()
        ['1']
        """
        if self.model.classes is None:
            return [str(output) for output in range(self.outputs)]
        return [label_text(label) for label in self.model.classes[-self.outputs :]]

    @property
    def columns(self) -> Schema | None:
        """The schema, where every column is a number or a truth: any program can read those."""
        return self.schema if self.schema is not None and self.schema.is_of_numbers else None

    def in_use(self) -> ExportInput:
        """Return the same with only the features in use, where names are hashed into slots."""
        used = features_in_use(self.model)
        if used is None:
            return self
        names = self.names or {}
        known = {place: names[j] for place, j in enumerate(used.tolist()) if j in names}
        features = replace(self.model.features, names=known)
        weights, terms, offset = self.model.weights[used], self.model.terms, self.model.offset
        if terms is not None:
            weights = np.concatenate([weights, self.model.weights[terms.begin :]])
            terms = terms_in_use(terms, used)
        model = replace(
            self.model,
            weights=weights,
            terms=terms,
            features=features,
            offset=None if offset is None else int(np.searchsorted(used, offset)),
            replicas=None,
            sandwich=None,
        )
        return ExportInput(model, known or None, self.schema)

    def about_rows(self) -> list[str]:
        """Return the remark that other programs need rows of features rather than columns."""
        kept_only = self.model.features.kept_only
        if self.schema is None and self.model.features.bits is None and not kept_only:
            return []
        what = "table's columns" if self.schema is not None else "words"
        what = "source" if self.schema is None and self.model.features.bits is None else what
        return [
            f"rows for it have {self.n_inputs:,} features, those in use that polyak makes "
            f"of the {what}: polyak convert --for MODEL writes such rows"
        ]


def export_input_of(source: Any) -> ExportInput:
    """Return the input for a model, a model file or a fitted estimator."""
    model = LinearModel.of(source)
    if model.classes is not None and len(model.classes) < 2:
        raise ValueError("a model of one class always says the same, and is not exported")
    features = model.features
    names = features.all_names() or None
    return ExportInput(_widened(model, features.width or 0), names, features.schema)


def _widened(model: LinearModel, width: int) -> LinearModel:
    """Add zero weights for features that no row had so far, but later ones may have."""
    more = width - model.n_features
    if more <= 0:
        return model
    replicas = model.replicas
    if replicas is not None:
        replicas = np.insert(replicas, [model.n_features] * more, 0.0, axis=1)
    weights = np.pad(model.weights, [(0, more), (0, 0)])
    return replace(model, weights=weights, replicas=replicas)

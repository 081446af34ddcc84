"""Open sources for an existing model, read as its training rows were."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from polyak.cli.options.columns import read_options
from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.data.stream import Stream
from polyak.errors import DataError
from polyak.model.features import Hashing
from polyak.model.linear import LinearModel


def open_for(
    model: LinearModel,
    source: Any,
    options: Namespace,
    *,
    columns: Columns | None = None,
    targets: bool = True,
    gaps: bool = False,
) -> Stream:
    """Open a source whose features mean what they meant in training.

    A file need not show whether its ids begin at 0 or 1, so the model remembers; and what a
    table's columns mean, and into how many slots names were hashed. Without ``targets`` no row is
    left out for want of one; with ``gaps`` batches say where bad lines stood.
    """
    features = model.features
    reading = read_options(options)
    if reading.zero_based == "auto" and features.first_id is not None:
        reading = replace(reading, zero_based=features.first_id == 0)
    hashing = features.hashing
    stream = open_stream(
        source,
        reading,
        schema=features.schema,
        dtype=None if features.schema is None else model.weights.dtype,
        hashing=hashing,
        columns=columns or Columns(names=0),
        targets=targets,
        gaps=gaps,
        multilabel=model.multilabel,
        n_features=None,  # that of the training set, where a test follows it
        shuffle_buffer=0,
        warn_if_sorted=False,
    )
    if stream.hashing is not None and stream.hashing != hashing:
        stream.close()
        own = "not of names" if hashing is None else f"of {_in_words(hashing)}"
        raise DataError(
            f"the features of {stream.name} are {_in_words(stream.hashing)}, but those of the "
            f"model are {own}"
        )
    return stream


def _in_words(hashing: Hashing) -> str:
    crossed = [":".join(names) for names in hashing.interactions]
    more = f", {', '.join(crossed)} crossed" if crossed else ""
    more += f", without {', '.join(hashing.drop)}" if hashing.drop else ""
    return f"names hashed into 2^{hashing.bits} slots{more}"

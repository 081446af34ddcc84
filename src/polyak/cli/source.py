"""Sources for a model that exists: read as the rows that it learned from were."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.data.stream import Stream
from polyak.errors import DataError
from polyak.model.linear import LinearModel


def open_for(
    model: LinearModel,
    source: Any,
    options: Namespace,
    *,
    targets: bool = True,
    keep: Sequence[str] = (),
) -> Stream:
    """Open a source whose features mean what they meant in training.

    A file need not show whether its ids begin at 0 or 1, so the model remembers; and what a
    table's columns mean, and into how many slots names were hashed. Without ``targets`` no row is
    left out for want of one.
    """
    zero_based = options.zero_based
    features = model.features
    if zero_based is None and features.first_id is not None:
        zero_based = features.first_id == 0
    bits = features.bits
    stream = open_stream(
        source,
        format=options.format,
        schema=features.schema,
        columns=Columns() if bits is None else Columns(bits=bits),
        targets=targets,
        keep=keep,
        zero_based="auto" if zero_based is None else zero_based,
        skip_bad_lines=options.skip_bad_lines,
        longest_line=options.longest_line,
        threads=options.threads,
        warn_if_sorted=False,
    )
    if stream.hashed_bits is not None and stream.hashed_bits != bits:
        stream.close()
        own = "not of names" if bits is None else f"of names hashed into 2^{bits} slots"
        raise DataError(
            f"the features of {stream.name} are names hashed into 2^{stream.hashed_bits} slots, "
            f"but those of the model are {own}"
        )
    return stream

"""Sources for a model that exists: read as the rows that it learned from were."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from polyak.model import LinearModel
from polyak.streams import Stream, open_stream


def open_for(model: LinearModel, source: Any, options: Namespace) -> Stream:
    """Open a source whose features mean what they meant in training.

    A file need not show whether its ids begin at 0 or 1, so the model remembers.
    """
    zero_based = options.zero_based
    if zero_based is None and "first_id" in model.about:
        zero_based = model.about["first_id"] == 0
    return open_stream(
        source,
        format=options.format,
        zero_based="auto" if zero_based is None else zero_based,
        skip_bad_lines=options.skip_bad_lines,
        threads=options.threads,
        warn_if_sorted=False,
    )

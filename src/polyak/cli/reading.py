"""The source is opened before all that learning needs is imported."""

from __future__ import annotations

from argparse import Namespace

from polyak.head_start import UNKNOWN_BASE, SvmlightText, begin
from polyak.processors import number_of_threads

BLOCK_BYTES = 1 << 21


def begin_reading(options: Namespace) -> None:
    """Give the source a head start, if it is one that can have it."""
    if options.format not in (None, "svmlight") or getattr(options, "checkpoint", None):
        return  # with a checkpoint, it may well go on from another place
    text = SvmlightText(
        tuple(options.source),
        getattr(options, "block_bytes", BLOCK_BYTES),
        number_of_threads(options.threads),
        n_features=getattr(options, "n_features", None),
        skip_bad_lines=options.skip_bad_lines,
    )
    begin(text, UNKNOWN_BASE if options.zero_based is None else 0 if options.zero_based else 1)

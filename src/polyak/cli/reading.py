"""The source is opened before all that learning needs is imported."""

from __future__ import annotations

from argparse import Namespace

from polyak.cli.options.columns import split
from polyak.data.formats.registry import format_named
from polyak.data.head_start import (
    BLOCK_BYTES,
    UNKNOWN_BASE,
    HeadStart,
    begin,
    svmlight_text,
    vw_text,
)
from polyak.processors import number_of_threads
from polyak.storage.name_limits import names_to_see


def begin_reading(options: Namespace, targets: bool = True) -> HeadStart | None:
    """Give the source a head start, if it is one that can have it."""
    if getattr(options, "checkpoint", None):
        return None  # it may well go on from another place
    where = (
        tuple(options.source),
        getattr(options, "block_bytes", BLOCK_BYTES),
        number_of_threads(options.threads),
    )
    named_vw = all(format_named(path) == "vw" for path in options.source)
    if options.format == "vw" or (options.format is None and named_vw):
        text = vw_text(
            *where,
            longest_line=options.longest_line,
            bits=getattr(options, "bits", 18),
            need_labels=targets,
            skip_bad_lines=options.skip_bad_lines,
            multilabel=getattr(options, "multilabel", False),
            names=names_to_see(getattr(options, "names", None) or 0),
            crossed=tuple(tuple(n.split(":")) for n in split(getattr(options, "interact", []))),
            dropped=split(getattr(options, "drop", [])),
            keep=getattr(options, "keep", ()),
        )
    elif options.format in (None, "svmlight"):
        zero_based = options.zero_based
        text = svmlight_text(
            *where,
            longest_line=options.longest_line,
            base=UNKNOWN_BASE if zero_based is None else 0 if zero_based else 1,
            n_features=getattr(options, "n_features", None),
            skip_bad_lines=options.skip_bad_lines,
            multilabel=getattr(options, "multilabel", False),
        )
    else:
        return None
    return begin(text) if text.threads > 0 else None

"""Options that several commands share, and how the words after them are read."""

from __future__ import annotations

import argparse
from typing import Any

from polyak.cli.options.dialect import add_dialect
from polyak.cli.options.parser import Parser as Parser
from polyak.data.formats.registry import FORMATS
from polyak.data.text import LONGEST_LINE


def add_model(parser: Parser) -> None:
    """Add the model file that a command reads."""
    parser.add_argument("model", metavar="MODEL", help="model file")


def add_source(parser: Parser) -> None:
    """Add the source, and how to read it."""
    parser.add_argument(
        "source",
        nargs="+",
        metavar="SOURCE",
        help="files, folders, URLs, or - for standard input",
    )
    add_reading(parser)


def add_reading(parser: Parser) -> None:
    """Add how a source is read."""
    reading = parser.add_rare_group("reading")
    reading.add_argument(
        "--format",
        choices=tuple(FORMATS),
        metavar="NAME",
        help=f"format of the source, if not clear from its name: {', '.join(FORMATS)}",
    )
    reading.add_argument(
        "--zero-based",
        dest="zero_based",
        action="store_true",
        default=None,
        help="feature ids start at 0 (default: detected)",
    )
    reading.add_argument(
        "--one-based", dest="zero_based", action="store_false", help="feature ids start at 1"
    )
    reading.add_argument(
        "--skip-bad-lines",
        action="store_true",
        help="skip lines that cannot be read, and report how many",
    )
    reading.add_argument(
        "--longest-line",
        type=positive,
        default=LONGEST_LINE,
        metavar="BYTES",
        help=f"refuse longer lines of text (default: {LONGEST_LINE})",
    )
    reading.add_argument(
        "--threads", type=positive, metavar="N", help="number of threads that read and parse"
    )
    add_dialect(parser)


def add_json(parser: Parser) -> None:
    """Add the choice between words and JSON."""
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")


# -- words to values -------------------------------------------------------------------------------


def positive(text: str) -> int:
    """Read a whole number of one or more."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Read a whole number of zero or more."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return number


def size(text: str) -> int:
    """Read a number of bytes, such as 256M.

    Examples
    --------
    >>> size("256M"), size("1.5g"), size("4096")
    (268435456, 1610612736, 4096)
    """
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    try:
        found = float(text[:-1] if unit > 1 else text) * unit
        if not 0 <= found < 1 << 62:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 256M or 1G") from None
    return int(found)


def number_or_auto(text: str) -> Any:
    """Read a number of zero or more, or "auto"."""
    if text == "auto":
        return text
    try:
        number = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from error
    if not 0.0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number of zero or more")
    return number


def averaging(text: str) -> Any:
    """Read when averaging begins: auto, off, or the row after which it does."""
    if text in ("auto", "off"):
        return "auto" if text == "auto" else False
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor off nor a number of rows")


def rows_or_seconds(text: str) -> tuple[int | None, float | None]:
    """Read how often something happens.

    Examples
    --------
    >>> rows_or_seconds("100000"), rows_or_seconds("5m")
    ((100000, None), (None, 300.0))
    """
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    try:
        if unit is not None and float(text[:-1]) >= 0:
            return None, float(text[:-1]) * unit
        if unit is None and int(text) > 0:
            return int(text), None
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither a number of rows nor a time such as 30s or 5m"
    )

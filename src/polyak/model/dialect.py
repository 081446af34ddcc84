"""How a table's text is written, as far as somebody said so: what cannot be told from the text."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import Annotated, Any

from polyak.storage.shapes import word

NUMBERS = {
    "1,234.5": (".", ","),
    "1 234.5": (".", " "),
    "1'234.5": (".", "'"),
    "1.234,5": (",", "."),
    "1 234,5": (",", " "),
    "1'234,5": (",", "'"),
}
"""How people write numbers: the decimal point, and what may stand between thousands."""

DATES = {"d/m/y": "dmy", "m/d/y": "mdy", "y/m/d": "ymd"}
"""In which order people write day, month and year; points and hyphens do as well as slashes."""

TRUTHS = ("true/false", "t/f", "yes/no", "y/n")
"""How people write truths, in small letters or large ones."""

WRITTEN = (*NUMBERS, *DATES, *TRUTHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    r"""What somebody said about a table's text; what was not said is found from its first rows.

    Attributes
    ----------
    delimiter : str, optional
        What stands between the fields of CSV: one character.
    header : bool
        Whether the first line of CSV names the columns; else they are ``column_1``, ``column_2``...
    encoding : str, optional
        Any that Python knows, such as ``"cp1252"``; UTF-8, or UTF-16 with its mark, if not said.
    decimal : {".", ","}, optional
        What stands before the decimals of a number.
    missing : tuple of str
        Words that stand for a missing value, beside the usual ones.
    comment : str, optional
        Lines of CSV that begin with this character are left out.
    dates : {"d/m/y", "m/d/y"}, optional
        Which of day and month comes first.

    Examples
    --------
    >>> Dialect(delimiter=";").said()
    {'delimiter': ';'}
    >>> Dialect(delimiter="::")
    Traceback (most recent call last):
        ...
    ValueError: the delimiter must be one character, not '::'
    """

    delimiter: str | None = None
    header: bool = True
    encoding: str | None = None
    decimal: Annotated[str, word(".", ",")] | None = None
    missing: tuple[str, ...] = ()
    comment: str | None = None
    dates: Annotated[str, word("d/m/y", "m/d/y")] | None = None

    def __post_init__(self) -> None:
        for name in ("delimiter", "comment"):
            value = getattr(self, name)
            if value is not None and (len(value.encode()) != 1 or value in '"\r\n'):
                raise ValueError(f"the {name} must be one character, not {value!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"there is no encoding {self.encoding!r}") from None
        if self.decimal is not None and self.decimal == self.delimiter:
            raise ValueError(f"{self.decimal!r} is the delimiter: it cannot be the decimal point")

    def said(self) -> dict[str, Any]:
        """Give what was said."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in mine.items() if value != _NOTHING[name]}


_NOTHING = {field.name: field.default for field in fields(Dialect)}

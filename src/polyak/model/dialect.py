"""The dialect of a text table: options that cannot be inferred from the text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from polyak.storage.records import whole, word

PLAIN = "1234.5"
"""The format of numbers in CSV unless another is found."""
NUMBERS = {
    PLAIN: ("", ""),
    "1,234.5": (".", ","),
    "1 234.5": (".", " "),
    "1'234.5": (".", "'"),
    "1.234,5": (",", "."),
    "1 234,5": (",", " "),
    "1'234,5": (",", "'"),
}
"""Number formats: the decimal point and the thousands separator of each; both empty for plain
numbers, without signs of currencies or per cent."""

CLOCK = "h:m"
"""The format of times of day, such as 23:09 or 9:30 pm."""
DATES = {"d/m/y": "dmy", "m/d/y": "mdy", "y/m/d": "ymd", CLOCK: ""}
"""Date formats: the order of day, month and year. Points and hyphens are read like slashes, and a
month may be a name."""

TRUTHS = ("true/false", "t/f", "yes/no", "y/n")
"""Boolean formats, in any case."""

WRITTEN = (*NUMBERS, *DATES, *TRUTHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    r"""Options of a text table; those not given are inferred from the first rows.

    Attributes
    ----------
    delimiter : str, optional
        The separator of CSV fields: one character. Several blanks are one separator.
    header : bool
        Whether the first line of CSV names the columns; else they are ``column_1``, ``column_2``...
    encoding : str, optional
        Any that Python knows, such as ``"cp1252"``; by default UTF-8, or UTF-16 with a byte order
        mark.
    decimal : {".", ","}, optional
        The decimal point.
    missing : tuple of str
        Words for a missing value, in addition to the usual ones.
    skip_rows : int
        The number of lines above the header of CSV.
    comment : str, optional
        Lines of CSV that begin with this character are skipped.
    dates : {"d/m/y", "m/d/y"}, optional
        The order of day and month.

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
    skip_rows: Annotated[int, whole()] = 0
    comment: str | None = None
    dates: Annotated[str, word("d/m/y", "m/d/y")] | None = None

    def __post_init__(self) -> None:
        for name in ("delimiter", "comment"):
            value = getattr(self, name)
            if value is not None and (len(value.encode()) != 1 or value in '"\r\n'):
                raise ValueError(f"the {name} must be one character, not {value!r}")
        if self.skip_rows < 0:
            raise ValueError(f"skip_rows must not be negative, unlike {self.skip_rows}")
        if self.encoding is not None:
            try:
                b"a".decode(self.encoding, "ignore")
            except (LookupError, UnicodeError):  # also where it is known, but none of text
                raise ValueError(f"there is no encoding {self.encoding!r} of text") from None
        if self.decimal is not None and self.decimal == self.delimiter:
            raise ValueError(f"{self.decimal!r} is the delimiter: it cannot be the decimal point")

    def said(self) -> dict[str, Any]:
        """Return the options that were given."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in mine.items() if value != _NOTHING[name]}


_NOTHING = {field.name: field.default for field in fields(Dialect)}

"""Elements of HTML and SVG. All text is escaped here."""

from __future__ import annotations

from html import escape


class Markup(str):
    """Escaped text, which must not be escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: object) -> Markup:
    """Return an element; children that are not `Markup` are escaped.

    An underscore in an attribute's name becomes a hyphen, one at its end is removed; attributes
    that are None are left out.

    Examples
    --------
    >>> element("text", "a < b", x=1.50, text_anchor="end", class_="tick")
    '<text x="1.5" text-anchor="end" class="tick">a &lt; b</text>'
    >>> element("line", x1=0)
    '<line x1="0"/>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children and name in _EMPTY:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Markup:
    """Concatenate parts, escaping those that are not markup."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p) for p in parts))


_EMPTY = {"line", "path", "circle", "rect", "meta", "img"}


def _value(value: object) -> str:
    # A tenth of a pixel is more precise than any screen, and keeps the page small.
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)

"""Dataclasses as pages of JSON: a page has an entry for each field of a class.

`polyak.storage.container.plain` writes a dataclass, or a NamedTuple; `read` validates a page by the
types of the fields: a file's checksum shows that it is undamaged, not that its content makes sense.
``Annotated[int, whole(1, 30)]`` adds a condition to a type: a function of a value and of its name
that raises `ValueError`, in a sentence, where it does not hold.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Shape = Callable[[Any, str], None]

MOST = 2**53
"""The largest whole number: beyond, JSON's numbers are not exact everywhere."""


def flag(value: Any, name: str) -> None:
    """Accept true and false."""
    demand(isinstance(value, bool), value, name, "true or false")


def whole(least: int = 0, most: int = MOST) -> Shape:
    """Accept whole numbers from ``least`` to ``most``.

    Examples
    --------
    >>> whole(1)(0, "outputs")
    Traceback (most recent call last):
        ...
    ValueError: its outputs is 0, not a whole number from 1 on
    """

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        upto = "on" if most == MOST else f"to {most}"
        demand(fits, value, name, f"a whole number from {least} {upto}")

    return check


def real(least: float = -math.inf) -> Shape:
    """Accept finite numbers from ``least`` on."""
    wanted = "a finite number" if least == -math.inf else f"a finite number from {least:g} on"

    def check(value: Any, name: str) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and abs(value) <= sys.float_info.max and value >= least
        demand(fits, value, name, wanted)

    return check


def word(*choices: str) -> Shape:
    """Accept words: any, or one of these."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and (not choices or value in choices)
        demand(fits, value, name, f"one of {', '.join(choices)}" if choices else "a word")

    return check


def many(shape: Shape, least: int = 0) -> Shape:
    """Accept lists of at least ``least`` such values."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, list) and len(value) >= least
        demand(fits, value, name, f"a list of {least} or more" if least else "a list")
        for place, item in enumerate(value):
            shape(item, f"{name}[{place}]")

    return check


def demand(fits: Any, value: Any, name: str, what: str) -> None:
    """Raise ValueError about a value unless it fits."""
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        raise ValueError(f"its {name} is {shown}, not {what}")


_PLAIN: dict[Any, Shape] = {bool: flag, int: whole(), float: real(), str: word()}


def read(hint: Any, value: Any, name: str) -> Any:
    """Return a value of JSON as this type; raise `ValueError` in one sentence if it is not valid.

    Entries that a class has no field for are ignored: a later version may have more.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Engine:
    ...     name: str
    ...     workers: int = 1
    >>> read(Engine, {"name": "threads", "unknown": 3}, "engine")
    Engine(name='threads', workers=1)
    >>> read(Engine, {"name": "threads", "workers": -1}, "engine")
    Traceback (most recent call last):
        ...
    ValueError: its engine.workers is -1, not a whole number from 0 on
    """
    if hint is Any:
        return value
    if hint in _PLAIN:
        _PLAIN[hint](value, name)
        return value
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner[1](value, name)
        return read(inner[0], value, name)
    if origin is Literal:
        word(*inner)(value, name)
        return value
    if origin in (Union, UnionType):
        return None if value is None and NoneType in inner else _read_either(inner, value, name)
    if origin is tuple:
        several = inner[1:] == (...,)
        fits = isinstance(value, list) and (several or len(value) == len(inner))
        demand(fits, value, name, "a list" if several else f"a list of {len(inner)}")
        kinds = [inner[0]] * len(value) if several else inner
        each = enumerate(zip(kinds, value, strict=True))
        return tuple(read(kind, item, f"{name}[{place}]") for place, (kind, item) in each)
    demand(isinstance(value, dict), value, name, "a dict")
    if origin in (dict, Mapping):
        for key in value if inner[0] is int else ():
            if not key.isdecimal():
                raise ValueError(f"its {name} has {key!r} where a number should be")
        each = value.items()
        return {inner[0](key): read(inner[1], item, f"{name}.{key}") for key, item in each}
    return hint(**_read_fields(hint, value, name))


def _read_either(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    """Return a value as the first of these types that it fits; the error is that of the last."""
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    for kind in kinds[:-1]:
        try:
            return read(kind, value, name)
        except ValueError:
            continue
    return read(kinds[-1], value, name)


def _read_fields(cls: Any, page: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, (kind, needed) in _fields(cls).items():
        if field in page:
            found[field] = read(kind, page[field], f"{name}.{field}")
        elif needed:
            raise ValueError(f"its {name} has no {field}")
    return found


@cache
def _fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it is required.

    Where a class has ``types``, it returns those that its module does not import.
    """
    named_there = cls.types() if hasattr(cls, "types") else None
    hints = get_type_hints(cls, localns=named_there, include_extras=True)
    if not is_dataclass(cls):
        return {name: (kind, name not in cls._field_defaults) for name, kind in hints.items()}
    return {
        one.name: (hints[one.name], one.default is MISSING and one.default_factory is MISSING)
        for one in fields(cls)
    }

"""Dataclasses as pages of JSON: what a file has to say is what a class has fields for.

`polyak.storage.container.plain` writes a dataclass, or a NamedTuple; `read` checks a page whole, by
the types of the fields, before it makes one of it. ``Annotated[int, whole(1, 30)]`` says more than
a type can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from polyak.storage.shapes import (
    Shape,
    anything,
    either,
    flag,
    many,
    maybe,
    named,
    real,
    record,
    row,
    whole,
    word,
)

T = TypeVar("T")

_PLAIN: dict[Any, Shape] = {
    bool: flag,
    int: whole(),
    float: real(),
    str: word(),
    Any: anything,
}


def read(cls: type[T], page: Any, name: str) -> T:
    """Make a dataclass from its page; raise `ValueError` with one sentence if it is not valid.

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
    shape_of(cast(Any, cls))(page, name)
    made: T = _made(cls, page)
    return made


@cache
def shape_of(hint: Any) -> Shape:
    """Describe what JSON has to hold for a value of this type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        shape: Shape = inner[1]
        return shape
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return word(*inner)
    if origin in (Union, UnionType):
        some = either(*(shape_of(one) for one in inner if one is not NoneType))
        return maybe(some) if NoneType in inner else some
    if origin is tuple:
        several = inner[1:] == (...,)
        return many(shape_of(inner[0])) if several else row(*map(shape_of, inner))
    if origin in (dict, Mapping):
        return _numbered(shape_of(inner[1])) if inner[0] is int else named(shape_of(inner[1]))
    required: dict[str, Shape] = {}
    optional: dict[str, Shape] = {}
    for name, (kind, needed) in _fields(hint).items():
        (required if needed else optional)[name] = shape_of(kind)
    return record(required, **optional)


def _numbered(shape: Shape) -> Shape:
    def check(value: Any, name: str) -> None:
        named(shape)(value, name)
        for key in value:
            if not key.isdecimal():
                raise ValueError(f"its {name} has {key!r} where a number should be")

    return check


@cache
def _fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it is required.

    Where a class has ``types``, it gives those that its module does not import.
    """
    named_there = cls.types() if hasattr(cls, "types") else None
    hints = get_type_hints(cls, localns=named_there, include_extras=True)
    if not is_dataclass(cls):
        return {name: (kind, name not in cls._field_defaults) for name, kind in hints.items()}
    return {
        one.name: (hints[one.name], one.default is MISSING and one.default_factory is MISSING)
        for one in fields(cls)
    }


def _made(hint: Any, value: Any) -> Any:
    """Make a value from a page that is valid."""
    if hint in _PLAIN or value is None:
        return float(value) if hint is float else value
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _made(inner[0], value)
    if origin in (Union, UnionType):
        kinds = [one for one in inner if one is not NoneType]
        return _made(kinds[0], value) if len(kinds) == 1 else value
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[1:] == (...,) else list(inner)
        return tuple(map(_made, kinds, value))
    if origin in (dict, Mapping):
        return {inner[0](key): _made(inner[1], item) for key, item in value.items()}
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        cls: Any = hint
        known = {name: kind for name, (kind, _) in _fields(cls).items() if name in value}
        return cls(**{name: _made(kind, value[name]) for name, kind in known.items()})
    return value

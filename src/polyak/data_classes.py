"""Data classes as of the standard library, made in a tenth of the time.

`dataclasses` writes and compiles up to eight methods for every class. That takes half a millisecond
to two, and for the thirty classes that a command needs an eighth of its start. Here all classes
share the same few methods, which look up the fields when they are called. An object takes a few
microseconds more to make, which matters only to who makes thousands.

There is what is used here, by the same names and with the same meaning. The functions of
`dataclasses` know such classes as their own.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""What stands for no value."""
_FIELDS, _COMPARED, _IS_CHECKED = "__fields_here__", "__compared_here__", "__is_checked_here__"


class Field:
    """What is known about a field."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self,
        default: Any = MISSING,
        default_factory: Callable[[], Any] = MISSING,
        *,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool | None = None,
    ) -> None:
        self.name, self.type = "", Any
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only


def field(**how: Any) -> Any:
    """Say what is particular about a field."""
    return Field(**how)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Make a class one of data, as `dataclasses.dataclass` does.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> replace(Point(1.0), y=2.0), Point(1.0) == Point(1.0, 0.0)
    (Point(x=1.0, y=2.0), True)
    """
    methods: dict[str, Any] = {"__init__": _init}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    if slots:  # pickling would set one attribute after the other
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}

    def made(cls: type[T]) -> type[T]:
        own = _own_fields(cls, kw_only)
        known: dict[str, Field] = {}
        for base in cls.__mro__[:0:-1]:
            known |= base.__dict__.get(_FIELDS, {})
        known |= own
        added = {name: how for name, how in methods.items() if name not in cls.__dict__}
        added |= {"__init__": _init, _FIELDS: known, "__signature__": _Asked(_signature)}
        added["__dataclass_fields__"] = _Asked(attrgetter("__dataclass_fields__"))
        compared = [one.name for one in known.values() if one.compare]
        added[_COMPARED] = staticmethod(attrgetter(*compared)) if compared else type
        placed = (one.name for one in known.values() if one.init and not one.kw_only)
        added |= {"__match_args__": tuple(placed), _IS_CHECKED: hasattr(cls, "__post_init__")}
        return _with_slots(cls, own, added) if slots else _in_place(cls, own, added)

    return made


def fields(of: Any) -> tuple[Field, ...]:
    """Give the fields of a class or an object."""
    return tuple(getattr(of, _FIELDS).values())


def is_dataclass(of: Any) -> bool:
    """Tell whether it is such a class, or an object of one."""
    return hasattr(of, _FIELDS)


def replace(of: T, /, **changes: Any) -> T:
    """Copy an object, with other values in some fields."""
    for one in fields(of):
        if one.init and one.name not in changes:
            changes[one.name] = getattr(of, one.name)
    return type(of)(**changes)


def asdict(of: Any) -> dict[str, Any]:
    """Give the values by name, of objects within as well, in copies."""
    return {one.name: _copied(getattr(of, one.name)) for one in fields(of)}


def _copied(value: Any) -> Any:
    if is_dataclass(value):
        return asdict(value)
    if isinstance(value, tuple | list):
        items = [_copied(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    from copy import deepcopy

    return deepcopy(value)


def _own_fields(cls: type, kw_only: bool) -> dict[str, Field]:
    own = {}
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith("ClassVar"):
            continue
        given = cls.__dict__.get(name, MISSING)
        one = given if isinstance(given, Field) else Field(given)
        one.name, one.type = name, kind
        one.kw_only = kw_only if one.kw_only is None else one.kw_only
        own[name] = one
    return own


def _in_place(cls: type[T], own: dict[str, Field], added: dict[str, Any]) -> type[T]:
    for name, one in own.items():
        if name in cls.__dict__:
            delattr(cls, name)
        if one.default is not MISSING:
            added[name] = one.default
    for name, value in added.items():
        setattr(cls, name, value)
    return cls


def _with_slots(cls: type[T], own: dict[str, Field], added: dict[str, Any]) -> type[T]:
    """Make the class anew, since only a new one can have slots."""
    old = {"__dict__", "__weakref__", *own}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in old} | added
    inherited = {name for base in cls.__mro__ for name in vars(base).get("__slots__", ())}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    kind: Any = type(cls)
    anew: type[T] = kind(cls.__name__, cls.__bases__, namespace)
    anew.__qualname__ = cls.__qualname__
    return anew


# -- the methods of all ----------------------------------------------------------------------------


def _init(self: Any, *values: Any, **named: Any) -> None:
    # With as few calls as the standard library's: a table may have thousands of columns.
    known, put = self.__fields_here__, object.__setattr__
    left = len(named)
    if values:
        places = self.__match_args__
        if len(values) > len(places):
            raise TypeError(f"{_name(self)} takes {len(places)} values, not {len(values)}")
        left += len(values)
        for name, value in zip(places, values, strict=False):
            if name in named:
                raise TypeError(f"{_name(self)} was given {name!r} twice")
            named[name] = value
    for name, one in known.items():
        if one.init and name in named:
            put(self, name, named[name])
            left -= 1
        elif one.default_factory is not MISSING:
            put(self, name, one.default_factory())
        elif one.default is not MISSING:
            put(self, name, one.default)
        elif one.init:
            raise TypeError(f"{_name(self)} needs {name!r}")
    if left:
        names = {one.name for one in known.values() if one.init}
        odd = next(name for name in named if name not in names)
        raise TypeError(f"{_name(self)} got an unexpected keyword argument {odd!r}")
    if self.__is_checked_here__:
        self.__post_init__()


def _name(of: Any) -> str:
    return f"{type(of).__qualname__}()"


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = getattr(self, _COMPARED)
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(getattr(self, _COMPARED)(self))


def _refuse(self: Any, name: str, *value: Any) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


class _Asked:
    """An attribute as the standard library would have made it, made when it is asked for."""

    def __init__(self, of: Callable[[type], Any]) -> None:
        self.of = of

    def __get__(self, instance: Any, owner: type) -> Any:
        import dataclasses

        def standard(one: Field) -> Any:
            how: dict[str, Any] = {"init": one.init, "repr": one.repr, "compare": one.compare}
            for name in ("default", "default_factory", "kw_only"):
                if getattr(one, name) is not MISSING:
                    how[name] = getattr(one, name)
            return dataclasses.field(**how)

        known = [(one.name, one.type, standard(one)) for one in fields(owner)]
        return self.of(dataclasses.make_dataclass(owner.__name__, known))


def _signature(cls: type) -> Any:
    from inspect import signature

    return signature(cls)

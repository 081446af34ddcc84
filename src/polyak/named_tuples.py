"""Named tuples as of `typing`, made in a seventh of the time.

`typing` compiles the type of every field; here types stay the words they are until somebody asks
for them. For the forty that a command needs that is a thirtieth of its start.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _Maker(type):
        """Makes a tuple of what looks like a class, and leaves its methods in it."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            kinds = namespace.pop("__annotations__")
            defaults = [namespace.pop(field) for field in kinds if field in namespace]
            made = namedtuple(name, kinds, defaults=defaults, module=namespace["__module__"])
            made.__annotations__ = made.__new__.__annotations__ = kinds
            for key, value in namespace.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """What named tuples derive from.

        Examples
        --------
        >>> class Point(NamedTuple):
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0)._replace(y=2.0) == (1.0, 2.0)
        (Point(x=1.0, y=0.0), True)
        """

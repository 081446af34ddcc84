"""Our data classes are as the standard library's, for its own functions too."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from polyak import data_classes
from polyak.data.options import ReadOptions

MAKERS = (data_classes, dataclasses)


def made(by: Any) -> dict[str, Any]:
    """Make the same classes by either module."""

    @by.dataclass(frozen=True, slots=True)
    class Point:
        x: float
        y: float = 0.0
        tags: list[str] = by.field(default_factory=list)
        seen: int = by.field(default=0, compare=False, repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("left of zero")

    @by.dataclass(frozen=True, slots=True, kw_only=True)
    class Named(Point):
        name: str

    @by.dataclass(slots=True, eq=False)
    class Counter:
        total: int
        count: int = by.field(init=False, default=3)

    @by.dataclass()
    class Open:
        point: Point = by.field(default_factory=lambda: Point(1.0))

    return {cls.__name__: cls for cls in (Point, Named, Counter, Open)}


@pytest.mark.parametrize("by", MAKERS)
def test_objects_are_made_shown_and_compared(by: Any) -> None:
    Point, Named = made(by)["Point"], made(by)["Named"]
    assert repr(Point(1.0)).endswith("Point(x=1.0, y=0.0, tags=[])")
    assert Point(1.0, seen=1) == Point(1.0, 0.0, [], 2) != Point(2.0)
    assert repr(Named(1.0, name="a")).endswith("Named(x=1.0, y=0.0, tags=[], name='a')")
    assert Point(1.0).tags is not Point(1.0).tags
    assert Point(1.0, tags=()) != (1.0, 0.0, ())
    assert len({Point(1.0, tags=()), Point(1.0, tags=())}) == 1


@pytest.mark.parametrize("by", MAKERS)
def test_objects_are_copied(by: Any) -> None:
    cls = made(by)
    point = cls["Point"](1.0, tags=["a"], seen=5)
    assert by.replace(point, y=2.0) == cls["Point"](1.0, 2.0, ["a"])
    assert by.replace(point, y=2.0).seen == 5
    assert copy.deepcopy(point) == copy.copy(point) == point
    whole = by.asdict(cls["Open"](point))
    assert whole == {"point": {"x": 1.0, "y": 0.0, "tags": ["a"], "seen": 5}}
    assert whole["point"]["tags"] is not point.tags
    assert cls["Counter"](2).count == 3


@pytest.mark.parametrize("by", MAKERS)
@pytest.mark.parametrize(
    "wrong", [lambda p: p(), lambda p: p(1, 2, [], 0, 4), lambda p: p(1, x=1), lambda p: p(1, z=1)]
)
def test_wrong_values_are_refused(by: Any, wrong: Any) -> None:
    with pytest.raises(TypeError):
        wrong(made(by)["Point"])
    with pytest.raises(TypeError):
        made(by)["Named"](1.0, 2.0, [], 0, "a")
    with pytest.raises(TypeError):
        made(by)["Counter"](2, count=4)
    with pytest.raises(ValueError, match="left of zero"):
        made(by)["Point"](-1.0)


@pytest.mark.parametrize("by", MAKERS)
def test_what_is_frozen_stays(by: Any) -> None:
    point = made(by)["Point"](1.0)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")
    with pytest.raises(TypeError):
        hash(made(by)["Open"]())
    counter = made(by)["Counter"](1)
    counter.total += 1
    assert (counter.total, counter == copy.copy(counter)) == (2, False)


def test_the_standard_library_knows_them() -> None:
    options = ReadOptions(threads=2)
    assert dataclasses.is_dataclass(options)
    assert dataclasses.replace(options, threads=3) == data_classes.replace(options, threads=3)
    assert dataclasses.asdict(options) == data_classes.asdict(options)
    names = [one.name for one in data_classes.fields(options)]
    assert [one.name for one in dataclasses.fields(ReadOptions)] == names
    assert pickle.loads(pickle.dumps(options)) == options
    assert list(inspect.signature(ReadOptions).parameters) == names

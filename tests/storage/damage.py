"""Damaged files for the tests of loaders: the same ones in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

from polyak.storage.container import unpack

NEWEST = 99
"""A format that none is newer than."""


def mutants(data: bytes, count: int) -> Iterator[bytes]:
    """Flip bits, change, drop, repeat and insert bytes; never what was there before."""
    chance = random.Random(count)
    made = 0
    while made < count:
        bytes_ = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            # Half of the changes hit the header, where the structure is.
            reach = len(bytes_) if chance.random() < 0.5 else min(len(bytes_), 600)
            place = chance.randrange(max(reach, 1))
            kind = chance.randrange(6)
            if kind == 0:
                bytes_[place] ^= 1 << chance.randrange(8)
            elif kind == 1:
                bytes_[place] = chance.randrange(256)
            elif kind == 2:
                del bytes_[place : place + chance.choice((1, 8, 100))]
            elif kind == 3:
                bytes_[place:place] = bytes_[place : place + chance.choice((1, 8, 100))]
            elif kind == 4:
                bytes_[place:place] = chance.randbytes(chance.choice((1, 8)))
            else:
                bytes_[place] = ord(chance.choice('0123456789{}[]",:-eE'))
            if not bytes_:
                break
        if bytes(bytes_) != data:
            made += 1
            yield bytes(bytes_)


def means_the_same(data: bytes, original: bytes, kind: str) -> bool:
    """Whether two files have equal contents, apart from whitespace and excess digits."""
    (page, arrays), (page_then, arrays_then) = (
        unpack(file, "it", kind, NEWEST) for file in (data, original)
    )
    return (
        page == page_then
        and arrays.keys() == arrays_then.keys()
        and all(
            arrays[name].dtype == then.dtype and arrays[name].tobytes() == then.tobytes()
            for name, then in arrays_then.items()
        )
    )

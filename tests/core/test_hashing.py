"""The hash of names: fixed vectors, and the public implementation, whatever the machine."""

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from polyak._core import hash_name

VECTORS = {
    "": 0xEF46DB3751D8E999,
    "a": 0xD24EC4F1A98C6E5B,
    "abc": 0x44BC2CF5AD770999,
    "carrier=UA": 0xA9B8A88BD2B934D9,
    "a name that is longer than the thirty-two bytes of one stripe": 0xB24102C462011413,
}


@pytest.mark.parametrize("name", VECTORS)
def test_fixed_vectors(name: str) -> None:
    assert hash_name(name) == VECTORS[name]


@given(st.text(max_size=100))
def test_it_is_the_public_hash(name: str) -> None:
    assert hash_name(name) == xxhash.xxh64_intdigest(name.encode())

"""The plan: whatever is cut and shared out, every row is learned once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyak.distributed.plan import (
    FileFacts,
    Shard,
    ends_of_rounds,
    in_chains,
    in_rounds,
    joined,
    sampled,
    shards_of_files,
    shards_of_partitions,
    tree,
)

sizes = st.lists(st.integers(0, 1 << 28), min_size=1, max_size=12)
ends = st.lists(st.floats(0.01, 0.99), max_size=4).map(lambda some: [*sorted(some), 1.0])


@given(sizes=sizes, chains=st.integers(1, 9), ends=ends, least=st.integers(0, 1 << 29))
def test_every_byte_of_a_file_is_in_one_piece(
    sizes: list[int], chains: int, ends: list[float], least: int
) -> None:
    files = [FileFacts(f"{n}.svm", size, True) for n, size in enumerate(sizes)]
    shards = joined(shards_of_files(files, chains), least)
    learned = [
        shard
        for chain in in_chains(shards, chains)
        for some in in_rounds(chain, ends)
        for shard in some
    ]
    for file in files:
        own = sorted((p.begin or 0, p.end or 0) for p in learned if p.path == file.path)
        assert own[0][0] == 0
        assert own[-1][1] == file.size
        assert all(end == begin for (_, end), (begin, _) in pairwise(own))


@given(sizes=sizes, chains=st.integers(1, 9), ends=ends)
def test_a_file_that_cannot_be_cut_stays_whole(
    sizes: list[int], chains: int, ends: list[float]
) -> None:
    shards = shards_of_files([FileFacts(f"{n}.gz", s, False) for n, s in enumerate(sizes)], chains)
    learned = [p for chain in in_chains(shards, chains) for r in in_rounds(chain, ends) for p in r]
    assert sorted(p.name for p in learned) == sorted(p.name for p in shards)


@given(number=st.integers(1, 30), chains=st.integers(1, 9), ends=ends)
def test_every_share_of_a_partition_is_in_one_piece(
    number: int, chains: int, ends: list[float]
) -> None:
    in_order = in_chains(shards_of_partitions(number), chains)
    if number >= chains:  # then a partition is needed in one place only
        workers_of = [{shard.partition for shard in chain} for chain in in_order]
        assert sum(map(len, workers_of)) == number
    learned = [p for chain in in_order for some in in_rounds(chain, ends) for p in some]
    for n in range(number):
        own = sorted(p.share for p in learned if p.partition == n)
        assert own[0][0] == 0.0
        assert own[-1][1] == pytest.approx(1.0)
        assert all(end == pytest.approx(begin) for (_, end), (begin, _) in pairwise(own))


def test_chains_have_about_as_much_each() -> None:
    shards = shards_of_files([FileFacts("a.svm", 10**9, True), FileFacts("b.svm", 10**7, True)], 7)
    loads = [sum(shard.size for shard in chain) for chain in in_chains(shards, 7)]
    assert max(loads) < 1.001 * min(loads)


@given(states=st.integers(1, 40))
def test_a_tree_leaves_one(states: int) -> None:
    merged = [{n} for n in range(states)]
    for one, other in tree(states):
        assert merged[other]  # each goes into another once
        merged[one] = merged[one] | merged[other]
        merged[other] = set()
    assert merged[0] == set(range(states))


def test_rounds_follow_from_t0_and_the_rows() -> None:
    assert ends_of_rounds(16_384, 10_000, 0.0) == [1.0]
    assert len(ends_of_rounds(16_384, 500_000, 100.0)) == 2
    assert len(ends_of_rounds(16_384, 500_000, None)) > len(ends_of_rounds(16_384, 500_000, 100.0))
    assert len(ends_of_rounds(16_384, 500_000, 9000.0)) == len(
        ends_of_rounds(16_384, 500_000, None)
    )
    for rounds in (1, 3, 5):
        ends = ends_of_rounds(16_384, 500_000, 100.0, rounds)
        assert len(ends) == rounds
        assert ends == sorted(ends)
        assert ends[0] > 0.0
        assert ends[-1] == 1.0


def test_samples_come_from_all_over() -> None:
    assert sampled([Shard("one", 1.0)]) == [0]
    assert sampled([Shard(str(n), 1.0) for n in range(5)]) == [0, 1, 2, 3, 4]

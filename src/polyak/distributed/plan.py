"""The plan of a distributed run: shards of the data, chains of shards, rounds, and merges.

The plan depends only on the sizes of the data, the number of chains and the first rows, not on the
speed of the workers. The same tasks therefore run from the same states whatever happens to the
workers, and the model is the same to the last bit if the workers have the same kernels.

* A *shard* is what one task learns: a file, some lines of one, or rows of a partition.
* The *head* is learned first: the first rows of several shards, interleaved.
* A *chain* learns its shards one after the other; by default one per thread of the workers.
* A *round* ends when the chains are merged into one state, from which the next round begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

HEAD_ROWS = 1 << 14
"""The rows of the head: enough that the race has eliminated most candidates before the rounds."""
SAMPLED_SHARDS = 8
"""The number of shards that the head is taken from, so that none sets the learning rate alone."""
LARGEST_SHARD = 1 << 26
"""The most bytes of text per task, which bounds what a dead worker costs."""
SMALLEST_SHARD = 1 << 20
SHARD_PER_STATE = 32
"""The least ratio of a shard's bytes to the state's, so that moving states costs little: a byte of
a state costs about twice what a byte of text does."""
SHARDS_PER_CHAIN = 4
GROWTH = 8
"""The factor by which a round multiplies the rows learned so far, if averaging began early."""
SLOW_GROWTH = 2
"""The same, if averaging began after more than a tenth of the head."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows that one task learns.

    Attributes
    ----------
    name : str
        The name used in errors.
    path : str or None
        A file; None for a partition.
    begin, end : int or None
        The byte range in which its lines begin, if it is some lines of a file.
    start : dict or None
        The position to continue from in a file that is read whole.
    skip : int
        The number of rows of a partition that were learned with the head.
    share : pair of float
        The range of a partition's other rows, as fractions.
    size : float
        The approximate size, in bytes or rows.
    partition : int
        The partition's index.
    """

    name: str
    size: float
    path: str | None = None
    begin: int | None = None
    end: int | None = None
    start: dict[str, Any] | None = None
    skip: int = 0
    share: tuple[float, float] = (0.0, 1.0)
    partition: int = -1

    @property
    def can_be_cut(self) -> bool:
        """Whether a task can learn some of its rows without reading the others."""
        return self.path is None or self.end is not None

    def cut(self, begin: float, end: float) -> Shard:
        """Return the rows between two fractions of the shard.

        Examples
        --------
        >>> Shard("a.svm", 100, "a.svm", 0, 100).cut(0.25, 0.5)
        Shard(name='a.svm', size=25.0, path='a.svm', begin=25, end=50, ...)
        """
        size = self.size * (end - begin)
        if self.path is None:
            low, high = self.share
            inside = (low + begin * (high - low), low + end * (high - low))
            return replace(self, share=inside, size=size)
        assert self.begin is not None
        assert self.end is not None
        width = self.end - self.begin
        return replace(
            self,
            begin=self.begin + round(begin * width),
            end=self.begin + round(end * width),
            size=size,
        )


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file as a worker sees it: its size, if known, and whether it can be cut."""

    path: str
    size: int | None
    can_be_cut: bool


def shards_of_files(files: Sequence[FileFacts], chains: int) -> list[Shard]:
    """Cut files into shards.

    Examples
    --------
    >>> files = [FileFacts("a.svm", 4 << 20, True), FileFacts("b.gz", 4 << 20, False)]
    >>> [(shard.path, shard.begin, shard.end) for shard in shards_of_files(files, chains=1)]
    [('a.svm', 0, 2097152), ('a.svm', 2097152, 4194304), ('b.gz', None, None)]
    """
    total = sum(file.size or 0 for file in files)
    most = min(max(total / (SHARDS_PER_CHAIN * chains), SMALLEST_SHARD), LARGEST_SHARD)
    shards = []
    for file in files:
        size = file.size or 0
        if not file.can_be_cut or size == 0:
            shards.append(Shard(file.path, max(size, 1), file.path))
            continue
        whole = Shard(file.path, size, file.path, 0, size)
        number = max(round(size / most), 1)
        shards += [whole.cut(n / number, (n + 1) / number) for n in range(number)]
    return shards


def shards_of_partitions(number: int, workers_of: Sequence[str] | None = None) -> list[Shard]:
    """Return a shard for every partition; their sizes are not known yet.

    ``workers_of`` is the worker that holds each partition: those of one worker are put next to
    each other, so that a chain runs where its partitions are.

    Examples
    --------
    >>> [shard.partition for shard in shards_of_partitions(4, ["b", "a", "b", "a"])]
    [0, 2, 1, 3]
    """
    order = list(range(number))
    if workers_of is not None:
        places = list(dict.fromkeys(workers_of))
        order.sort(key=lambda n: places.index(workers_of[n]))
    return [Shard(f"partition {n}", 1.0, partition=n) for n in order]


def joined(shards: Sequence[Shard], least: float) -> list[Shard]:
    """Join consecutive shards of a file until they have at least ``least`` bytes.

    Every task unpacks and packs a state, which is expensive for wide models.

    Examples
    --------
    >>> shards = [Shard("a", 10, "a", n, n + 10) for n in range(0, 50, 10)]
    >>> [(shard.begin, shard.end) for shard in joined(shards, 20)]
    [(0, 20), (20, 40), (40, 50)]
    """
    longer: list[Shard] = []
    for shard in shards:
        last = longer[-1] if longer else None
        follows = last is not None and last.path == shard.path and last.end == shard.begin
        if last is not None and follows and shard.end is not None and last.size < least:
            longer[-1] = replace(last, end=shard.end, size=last.size + shard.size)
        else:
            longer.append(shard)
    return longer


def sampled(shards: Sequence[Shard]) -> list[int]:
    """Return the indices of the shards whose first rows form the head, evenly spaced.

    Examples
    --------
    >>> sampled([Shard(str(n), 1.0) for n in range(100)])
    [0, 12, 25, 37, 50, 62, 75, 87]
    """
    number = min(len(shards), SAMPLED_SHARDS)
    return [n * len(shards) // number for n in range(number)]


def in_chains(shards: Sequence[Shard], chains: int) -> list[list[Shard]]:
    """Divide shards among chains, in their order, so that all have about the same size.

    A shard across the border of two chains is cut there, if it can be. A partition is cut only if
    there are fewer partitions than chains, since two workers would need it.

    Examples
    --------
    >>> shards = [Shard("a", 32, "a", 0, 32), Shard("b", 16, "b")]
    >>> [[(p.name, p.size) for p in chain] for chain in in_chains(shards, 2)]
    [[('a', 24.0)], [('a', 8.0), ('b', 16)]]
    """
    borders = [n / chains for n in range(1, chains)]
    whole = len(shards) >= chains and any(shard.path is None for shard in shards)
    return [chain for chain in _cut_at(shards, borders, whole) if chain]


def in_rounds(chain: Sequence[Shard], ends: Sequence[float]) -> list[list[Shard]]:
    """Cut a chain into rounds that end at these fractions of it; the last is 1."""
    return _cut_at(chain, ends[:-1])


def _cut_at(
    shards: Sequence[Shard], borders: Sequence[float], whole: bool = False
) -> list[list[Shard]]:
    total = sum(shard.size for shard in shards)
    parts: list[list[Shard]] = [[] for _ in range(len(borders) + 1)]
    places = [border * total for border in borders]
    before = 0.0
    for shard in shards:
        after = before + shard.size
        inside = [place for place in places if before < place < after]
        first = sum(place <= before for place in places)
        if shard.can_be_cut and not whole:
            edges = [before, *inside, after]
            for n, (low, high) in enumerate(pairwise(edges)):
                some = shard.cut((low - before) / shard.size, (high - before) / shard.size)
                parts[first + n].append(some if inside else shard)
        else:
            middle = (before + after) / 2
            parts[sum(place <= middle for place in places)].append(shard)
        before = after
    return parts


def ends_of_rounds(
    head: int, rows: float, average_start: float | None, rounds: int | None = None
) -> list[float]:
    """Return where the rounds end, as fractions of the rows after the head.

    Each round multiplies the rows learned so far by the same factor. A chain's part of a round
    must be long compared to t0, the row at which averaging began, so that its initial state is
    forgotten: the factor is 8 if the head is at least ten times as long as t0, otherwise 2.

    Parameters
    ----------
    head : int
        The number of rows of the head.
    rows : float
        The approximate number of rows after it.
    average_start : float or None
        The row t0 after which averaging began; None if it has not begun.
    rounds : int, optional
        The number of rounds, if it is given.

    Examples
    --------
    >>> [round(end, 3) for end in ends_of_rounds(16_000, 2_000_000, 100)]
    [0.056, 1.0]
    >>> len(ends_of_rounds(16_000, 2_000_000, None)), len(ends_of_rounds(16_000, 10_000, 0))
    (6, 1)
    """
    whole = head + rows
    if rounds is None:
        early = average_start is not None and 10 * average_start <= head
        growth = GROWTH if early else SLOW_GROWTH
        rounds, so_far = 1, head * growth
        # A last round that would not double the rows is not worth another merge.
        while 2 * so_far <= whole:
            rounds, so_far = rounds + 1, so_far * growth
        ends = [head * float(growth) ** n for n in range(1, rounds)]
    else:
        ratio = (whole / head) ** (1.0 / rounds)
        ends = [head * ratio**n for n in range(1, rounds)]
    return [*((end - head) / max(rows, 1.0) for end in ends), 1.0]


def tree(states: int) -> list[tuple[int, int]]:
    """Return the pairwise merges, in a binary tree, that reduce this number of states to one.

    The second state of each pair is merged into the first.

    Examples
    --------
    >>> tree(5)
    [(0, 1), (2, 3), (0, 2), (0, 4)]
    """
    merges, step = [], 1
    while step < states:
        merges += [(n, n + step) for n in range(0, states - step, 2 * step)]
        step *= 2
    return merges

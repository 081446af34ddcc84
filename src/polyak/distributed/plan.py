"""Who learns what: shards of the data, chains of shards, rounds, and the tree of merges.

All of it follows from the data's sizes, the number of chains and the first rows alone, never from
which worker is quicker. So whatever happens to the workers, the same tasks are done, each from the
same state, and the answer is the same to the last bit, as long as the workers are of one kind.

* A *shard* is what one task learns: a file, some lines of one, or rows of a partition.
* The *head* is learned first: rows from the beginnings of several shards, in turn.
* A *chain* learns its shards one after the other. There are as many chains as workers' threads.
* A *round* ends with the chains merged into one state, from which the next round begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

HEAD_ROWS = 1 << 14
"""How many rows are learned before the data is shared out: enough for the race to leave few."""
SAMPLED_SHARDS = 8
"""From how many shards the head comes, so that one odd shard does not set the learning rate."""
LARGEST_SHARD = 1 << 26
"""How many bytes of text a task reads at most: what a dead worker's last task costs."""
SMALLEST_SHARD = 1 << 20
SHARD_PER_STATE = 32
"""How many times as large as the state a shard is at least, so that carrying states costs little:
a byte of a state costs about twice what a byte of text does."""
SHARDS_PER_CHAIN = 4
GROWTH = 8
"""By how much a round multiplies the rows learned so far, if averaging began early on."""
SLOW_GROWTH = 2
"""The same, if the head has not seen ten times as many rows as averaging waited for."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows that one task learns.

    Attributes
    ----------
    name : str
        What errors call it.
    path : str or None
        A file; None for a partition, which the task is given.
    begin, end : int or None
        The bytes within which its lines begin, if it is some lines of a file.
    start : dict or None
        Where to go on in a file that is read whole.
    skip : int
        How many rows of a partition were learned with the head.
    share : pair of float
        Which of a partition's other rows these are, as shares of them.
    size : float
        About how large it is, in bytes or rows.
    partition : int
        The partition's number.
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
        """Give the rows between two shares of it.

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
    """A file as a worker finds it: its size, if it has one, and whether it can be cut."""

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
    """Make a shard of every partition; nobody knows yet how long they are.

    ``workers_of`` says where each lies already: those of one place then come one after the other,
    so that a chain finds its partitions where it is.

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
    """Join shards of a file that follow each other, until they have so many bytes.

    Every task takes a state apart and puts one together, which a wide state makes worth saving.

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
    """Choose the shards whose first rows are the head, the first of all among them.

    Examples
    --------
    >>> sampled([Shard(str(n), 1.0) for n in range(100)])
    [0, 12, 25, 37, 50, 62, 75, 87]
    """
    number = min(len(shards), SAMPLED_SHARDS)
    return [n * len(shards) // number for n in range(number)]


def in_chains(shards: Sequence[Shard], chains: int) -> list[list[Shard]]:
    """Share shards out, in their order, so that every chain has about as much to learn.

    A shard that lies across the border of two chains is cut there, if it can be. A partition is
    not, unless there are too few of them: it would have to be in two places.

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
    """Cut a chain where the rounds end, which is given in shares of it; the last is its end."""
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
    """Say where the rounds end, in shares of the rows after the head.

    Rounds grow: the rows learned so far are multiplied by the same number in each. A part of a
    round must be long against what averaging waited for, t0, lest what it begins with still shows
    in its end; so they grow eightfold where the head is ten times as long as that, and twofold
    where it is not.

    Parameters
    ----------
    head : int
        How many rows were learned before.
    rows : float
        About how many there are after it.
    average_start : float or None
        After how many rows averaging began; None where it has not.
    rounds : int, optional
        How many rounds to make, if not as many as that takes.

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
        # A last round that would not even double the rows is not worth another merge.
        while 2 * so_far <= whole:
            rounds, so_far = rounds + 1, so_far * growth
        ends = [head * float(growth) ** n for n in range(1, rounds)]
    else:
        ratio = (whole / head) ** (1.0 / rounds)
        ends = [head * ratio**n for n in range(1, rounds)]
    return [*((end - head) / max(rows, 1.0) for end in ends), 1.0]


def tree(states: int) -> list[tuple[int, int]]:
    """List the merges of pairs that leave one of so many states: the second goes into the first.

    The pairs are those of a tree, fixed by the order of the states.

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

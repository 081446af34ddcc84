"""Generated documents: sparse rows with the statistics of newswire text.

Words follow Zipf's law; each document belongs to one of two classes, and many words, frequent and
rare alike, are used more by one class than by the other. The log-odds of the class are then a
linear function of the word counts: there is a linear truth to find, and no model finds all of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import SparseRows

# Flattens the head of Zipf's law: text vectors come without stop words, and in RCV1 the most
# frequent word that is left appears in four documents of ten.
HEAD = 20
# The share of words that lean to a class, and of labels that are wrong. With these a batch learner
# reaches about 5.4% error on 200,000 rows, one averaged pass 7%, its last iterate 7% to 16%.
LEANING = 0.5
MISLABELLED = 0.03
# The spread of the logarithm of a document's length.
LENGTH_SPREAD = 0.6
# Small enough for the sort to stay in cache. Blocks are always drawn whole, so that a longer set
# begins with the rows of a shorter one.
BLOCK = 4096


def rcv1_like(
    n_rows: int = 200_000, n_features: int = 47_000, nnz: int = 70, seed: int = 0
) -> tuple[SparseRows, NDArray[np.float64]]:
    """Draw documents that resemble RCV1: ``tf-idf`` values, rows of unit length, two classes.

    The rows are independent draws: take the last ones as a test set. A set with more rows begins
    with the rows of a smaller one of the same seed.

    Parameters
    ----------
    n_rows, n_features : int
    nnz : int
        How many different words a document has on average. Lengths vary as in real text.
    seed : int
        The same seed gives the same words, truth and documents.

    Returns
    -------
    rows : SparseRows
        ``float32`` values, ``int32`` indices, ascending within a row.
    y : array of -1.0 and +1.0

    Examples
    --------
    >>> rows, y = rcv1_like(n_rows=1000, n_features=5000)
    >>> rows.shape, y.shape
    ((1000, 5000), (1000,))
    >>> rows.values.dtype, rows.indices.dtype
    (dtype('float32'), dtype('int32'))
    """
    if n_rows < 1 or n_features < 1 or nnz < 1:
        raise ValueError(
            f"n_rows, n_features and nnz must be positive, not {n_rows}, {n_features} and {nnz}"
        )
    if 2 * nnz > n_features:
        raise ValueError(f"{nnz} different words a row need at least {2 * nnz} features")
    words = _Words(n_features, nnz, np.random.default_rng([seed, 0]))
    blocks = [
        words.documents(np.random.default_rng([seed, 1, block]))
        for block in range(-(-n_rows // BLOCK))
    ]
    counts, indices, values, y = map(np.concatenate, zip(*blocks, strict=True))
    end = int(counts[:n_rows].sum())
    indptr = np.zeros(n_rows + 1, np.int32 if end < 2**31 else np.int64)
    np.cumsum(counts[:n_rows], out=indptr[1:])
    return SparseRows(indptr, indices[:end], values[:end], n_features), y[:n_rows]


class _Words:
    """The vocabulary: how frequent each word is, to which class it leans, which id it has."""

    def __init__(self, n_features: int, nnz: int, rng: np.random.Generator) -> None:
        self.n = n_features
        # Frequencies proportional to 1/(HEAD + rank): the one form of Zipf's law whose
        # cumulative sum has an inverse in closed form, so that drawing a word is one `exp`.
        self.log_span = float(np.log1p(n_features / HEAD))
        frequency = np.diff(np.log1p(np.arange(n_features + 1) / HEAD)) / self.log_span
        self.idf = -np.log(frequency).astype(np.float32)
        leans = rng.random(n_features) < LEANING
        lean = np.sqrt(rng.random(n_features)) * rng.choice([-1, 1], n_features)
        self.lean = np.where(leans, lean, 0).astype(np.float32)
        # Ids say nothing about frequency, as in a real vocabulary: neighbours in memory are
        # strangers, and a benchmark cannot live off one warm corner of the weights.
        self.id = rng.permutation(n_features)
        self.rank = np.argsort(self.id)
        kept = 1 - np.abs(self.lean).mean() / 2
        self.draws = _draws_for(nnz, frequency) / kept

    def documents(
        self, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]]:
        """Draw one block: distinct words per row, their ids, their values, the labels."""
        y = rng.choice([-1.0, 1.0], BLOCK)
        middle = np.log(self.draws) - LENGTH_SPREAD**2 / 2
        length = rng.lognormal(middle, LENGTH_SPREAD, BLOCK).astype(np.int64) + 1
        # No document draws more words than there are, however long its tail of the lengths.
        row = np.repeat(np.arange(BLOCK), np.minimum(length, self.n))
        word = (HEAD * np.expm1(self.log_span * rng.random(len(row)))).astype(np.int64)
        np.minimum(word, self.n - 1, out=word)  # rounding may touch the upper end
        # A document passes over words that lean to the other class, in proportion to the lean.
        kept = rng.random(len(row), np.float32) < 1 + y[row] * self.lean[word]
        kept[np.diff(row, prepend=-1) > 0] = True  # no document is empty
        # One sort of (row, id) orders the rows, brings repetitions together and counts them.
        key = np.sort(row[kept] * self.n + self.id[word[kept]])
        first = np.flatnonzero(np.diff(key, prepend=-1))
        times = np.diff(first, append=len(key))
        row, index = np.divmod(key[first], self.n)
        value = (1 + np.log(times)) * self.idf[self.rank[index]]
        length_squared = np.bincount(row, value**2, BLOCK)
        value /= np.sqrt(length_squared)[row]
        y[rng.random(BLOCK) < MISLABELLED] *= -1
        counts = np.bincount(row, minlength=BLOCK)
        return counts, index.astype(np.int32), value.astype(np.float32), y


def _draws_for(distinct: float, frequency: NDArray[np.float64]) -> float:
    """Return the number of words to draw for this mean number of distinct words."""
    low, high = float(distinct), 100.0 * distinct
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        if -np.expm1(middle * np.log1p(-frequency)).sum() < distinct:
            low = middle
        else:
            high = middle
    return high

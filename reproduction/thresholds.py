"""The paper's words turned into numbers, once, before anything was measured with them."""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.tables import Table


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a word of the paper is taken to mean."""

    words: str
    where: str
    number: float
    meaning: str
    reason: str


THRESHOLDS = {
    "region": Threshold(
        "“asymptotic region”, “close to”",
        "sections 2, 6.1 and 6.2",
        2.0,
        "excess risk at most twice that of batch, and it stays so",
        "the proof of the second corollary on sample sizes: the region begins where the second "
        "term of the bound is no more than the first",
    ),
    "few thousands": Threshold(
        "“a few thousands”",
        "section 6.1",
        10_000,
        "fewer than 10,000 rows",
        "ten thousand is no longer a few thousand",
    ),
    "hundreds of thousands": Threshold(
        "“hundreds of thousands”",
        "section 6.1",
        100_000,
        "100,000 rows or more",
        "the plain meaning of the words",
    ),
    "huge": Threshold(
        "“huge difference”",
        "section 6.1",
        10.0,
        "at least ten times as many rows",
        "a power of ten is the least that one calls huge on the figure's logarithmic axis",
    ),
    "about 10^4": Threshold(
        "“after about 10⁴ examples”",
        "section 6.2",
        31_623,
        "by 31,623 rows",
        "on the figure's logarithmic axis numbers up to there are nearer to 10⁴ than to 10⁵",
    ),
    "ten times": Threshold(
        "“remains more than 10 times worse”",
        "section 6.2",
        10.0,
        "excess risk over ASGD's above 10 from those 31,623 rows on",
        "as it is written: both halves of the sentence speak of the same rows",
    ),
    "considerably": Threshold(
        "“considerably fast[er]”",
        "section 6.2",
        2.0,
        "at least twice as fast",
        "less would be slightly",
    ),
    "clearly": Threshold(
        "“clearly outperforms”",
        "section 6.3",
        2.0,
        "a mean paired difference of at least 2 standard errors over the orders of the rows",
        "the usual meaning of a clear difference; less is a tie",
    ),
    "most": Threshold(
        "“most of the data sets”", "section 6.3", 0.5, "more than half of them", "the plain meaning"
    ),
    "good": Threshold(
        "“good performance”, “pretty well”",
        "section 6.3",
        1.05,
        "test error at most 1.05 times the lowest that any of the six reaches in two passes",
        "lines closer than a twentieth cannot be told apart in the figures; “poorly” is not good",
    ),
    "many": Threshold(
        "“many other algorithms”", "section 6.3", 0.5, "at least half of them", "the plain meaning"
    ),
    "equally bad": Threshold(
        "“equally bad”",
        "section 6.3",
        0.45,
        "all errors above 45%",
        "half of the rows wrong is what guessing gives",
    ),
    "similar performance": Threshold(
        "“similar test performance”",
        "section 6.3",
        1.05,
        "test error at most 1.05 times the lowest that the other reaches in two passes",
        "as for “good performance”",
    ),
    "order": Threshold(
        "“O((λ₀γ₀)⁻¹)”",
        "section 2",
        10.0,
        "at most ten times as many",
        "more would be another order of magnitude",
    ),
    "much more": Threshold(
        "“much more samples”",
        "section 2",
        10.0,
        "more than ten times as many",
        "another order of magnitude",
    ),
    "similar": Threshold(
        "“similar” time",
        "section 6.3",
        2.0,
        "neither takes more than twice the other's time",
        "on the logarithmic axes of such figures a factor of two is small",
    ),
}
"""By our own short names."""


def number(name: str) -> float:
    """Return the number that a text stands for."""
    return THRESHOLDS[name].number


def thresholds_table() -> Table:
    """List them all."""
    return Table(
        "thresholds",
        "What the paper's words were taken to mean",
        "Each is fixed in one place, for all experiments and data sets alike.",
        ["the paper's words", "where", "taken to mean", "why"],
        [[t.words, t.where, t.meaning, t.reason] for t in THRESHOLDS.values()],
    )

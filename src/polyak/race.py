"""The race: candidates learn the same rows side by side, and the best one is the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.bank import Bank
from polyak.recipes import Candidate, Recipe, make_bank
from polyak.rows import Rows

Floats = NDArray[np.float64]


class Race:
    """Banks of candidates, and which of them leads.

    A recipe with a single candidate, as the paper's, is a race of one.
    """

    def __init__(
        self,
        candidates: list[Candidate],
        recipe: Recipe,
        *,
        outputs: int,
        one_vs_rest: bool,
        n_features: int | None,
        dtype: Any,
    ) -> None:
        self.outputs = outputs
        self.groups: list[list[Candidate]] = []
        for candidate in candidates:
            for group in self.groups:
                if candidate.shares_bank_with(group[0]):
                    group.append(candidate)
                    break
            else:
                self.groups.append([candidate])
        self.banks: list[Bank] = [
            make_bank(
                group,
                recipe,
                outputs=outputs,
                one_vs_rest=one_vs_rest,
                n_features=n_features,
                dtype=dtype,
            )
            for group in self.groups
        ]

    @property
    def clock(self) -> int:
        """How many rows of non-zero weight were learned."""
        return self.banks[0].clock

    def learn(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
        scores: Floats | None,
    ) -> None:
        """Let every candidate learn the rows; ``scores`` receives the leader's."""
        for bank in self.banks:
            bank.learn(rows, targets, weights, order=order, scores=scores)

    def leader(self) -> tuple[Candidate, Bank, slice]:
        """Find the best candidate, its bank, and its models within the bank."""
        return self.groups[0][0], self.banks[0], slice(0, self.outputs)

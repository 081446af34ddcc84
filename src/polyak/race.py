"""The race: candidates learn the same rows side by side, and the best one is the model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.averaging import Averaging
from polyak.bank import Bank
from polyak.recipes import Candidate, Recipe, make_bank
from polyak.rows import Rows
from polyak.schedules import Polynomial

Floats = NDArray[np.float64]

_BANK_ARRAYS = ("lines", "squares", "models")


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
        again: bool = False,
    ) -> None:
        """Let every candidate learn the rows; ``scores`` receives the leader's."""
        for bank in self.banks:
            bank.learn(rows, targets, weights, order=order, scores=scores, again=again)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out the candidates and all they have learned: what JSON holds, and arrays."""
        page: dict[str, Any] = {
            "candidates": [asdict(candidate) for group in self.groups for candidate in group],
            "outputs": self.outputs,
            "one_vs_rest": self.banks[0].one_vs_rest,
            "clock": self.clock,
        }
        arrays = {}
        for number, bank in enumerate(self.banks):
            state = bank.state()
            for name in _BANK_ARRAYS:
                arrays[f"bank{number}.{name}"] = state[name]
        return page, arrays

    @classmethod
    def from_state(
        cls,
        page: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        recipe: Recipe,
        n_features: int | None,
    ) -> Race:
        """Undo ``state``: the race goes on as if it had never stopped."""
        race = cls(
            [_candidate(fields) for fields in page["candidates"]],
            recipe,
            outputs=page["outputs"],
            one_vs_rest=page["one_vs_rest"],
            n_features=n_features,
            dtype=arrays["bank0.lines"].dtype,
        )
        for number, bank in enumerate(race.banks):
            state = {name: arrays[f"bank{number}.{name}"] for name in _BANK_ARRAYS}
            bank.set_state(state | {"clock": page["clock"]})
        return race

    def merge(self, others: list[Race]) -> None:
        """Become what these races learned together, each from rows of its own."""
        if any(len(other.banks) != len(self.banks) for other in others):
            raise ValueError("only races of the same candidates can be merged")
        for number, bank in enumerate(self.banks):
            bank.merge([other.banks[number] for other in others])

    def leader(self) -> tuple[Candidate, Bank, slice]:
        """Find the best candidate, its bank, and its models within the bank."""
        return self.groups[0][0], self.banks[0], slice(0, self.outputs)


def _candidate(fields: dict[str, Any]) -> Candidate:
    nested = {
        "schedule": Polynomial(**fields["schedule"]),
        "averaging": Averaging(**fields["averaging"]),
    }
    return Candidate(**fields | nested)

"""The race knows lanes by their protocol alone, and each lane refuses state that is not its own."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyak.learn.learner import Learner
from polyak.learn.race import race
from polyak.learn.race.lanes import LANES
from polyak.learn.race.lanes.protocol import Lane
from polyak.learn.recipes import Recipe

FOLDER = Path(race.__file__).parent
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1500, 4))
WIDE = np.where(RANDOM.random((1500, 1100)) < 0.01, 1.0, 0.0)
RECIPES = {
    "SgdLane": Recipe("squared_hinge", "sgd"),
    "ProximalLane": Recipe("log_loss", "auto", penalty="l1"),
    "NewtonRacer": Recipe("log_loss", "auto"),
    "ConstantLane": Recipe("huber", "auto"),
}


def learner_with(kind: str) -> tuple[Learner, int]:
    """Return a learner, and the place of a lane of some kind in its race."""
    rows = WIDE if kind == "ProximalLane" else X
    learner = Learner(RECIPES[kind])
    targets = X[:, 0] + 0.1 if kind == "ConstantLane" else X[:, 0] > 0
    learner.learn(rows, targets)
    assert learner.race is not None
    names = [type(lane).__name__ for lane in learner.race.lanes]
    return learner, names.index(kind)


def test_the_race_asks_no_lane_what_it_is() -> None:
    kinds = "|".join(kind.__name__ for kind in LANES)
    for file in FOLDER.glob("*.py"):
        source = file.read_text()
        assert not re.search(rf"isinstance\([^()]*(lane|{kinds})", source, re.IGNORECASE), file
        if file.name != "comparing.py":  # which is about one lane and the baseline
            assert not re.search(rf"\b({kinds})\b", source), file


@pytest.mark.parametrize("kind", LANES, ids=lambda kind: kind.__name__)
def test_a_lane_has_all_that_the_protocol_asks(kind: type[Lane]) -> None:
    assert Lane in kind.__mro__
    for name, member in vars(Lane).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        own = inspect.getattr_static(kind, name)
        body = inspect.getsource(member if inspect.isfunction(member) else member.fget)
        answers_here = re.search(r'"""\n\s+return', body)
        assert answers_here or own is not member, f"{kind.__name__} does not define {name}"
        if inspect.isfunction(member):
            asked, answered = (list(inspect.signature(one).parameters) for one in (member, own))
            assert asked == answered, f"{kind.__name__}.{name}"


@pytest.mark.parametrize("kind", RECIPES)
def test_corrupt_state_is_refused_with_the_name_of_the_field(kind: str) -> None:
    learner, place = learner_with(kind)
    page, arrays = learner.state()
    own = [name for name in arrays if name.startswith(f"lane{place}.")]
    assert own
    for name in own:
        field = re.escape(f"corrupt checkpoint: race.{name} ")
        wrong: list[np.ndarray[Any, Any]] = [
            arrays[name][None],
            np.zeros(arrays[name].shape, "int16"),
        ]
        if arrays[name].size:
            wrong.append(np.concatenate([arrays[name], arrays[name]], axis=-1))
        for array in wrong:
            with pytest.raises(ValueError, match=field):
                Learner.from_state(page, arrays | {name: array})
        with pytest.raises(ValueError, match=field):
            Learner.from_state(page, {n: a for n, a in arrays.items() if n != name})


@pytest.mark.parametrize("kind", RECIPES)
def test_missing_numbers_are_refused_with_the_name_of_the_field(kind: str) -> None:
    learner, place = learner_with(kind)
    page, arrays = learner.state()
    lane = page["race"]["lanes"][place]
    for name in lane.keys() - {"numbers"}:
        lanes = list(page["race"]["lanes"])
        lanes[place] = {key: value for key, value in lane.items() if key != name}
        damaged = page | {"race": page["race"] | {"lanes": lanes}}
        with pytest.raises(ValueError, match=f"corrupt checkpoint: race.lane{place}.{name} "):
            Learner.from_state(damaged, arrays)

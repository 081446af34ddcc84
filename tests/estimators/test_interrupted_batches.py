"""Ctrl-C inside partial_fit: the model is whole, or the next use says that it is not."""

from __future__ import annotations

import copy
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyak
from polyak import ASGDClassifier

PLACE = str(Path(polyak.__file__).parent)
TORN = "interrupted in the middle of a batch"


def calls(function: Callable[[], Any], interrupted: int = 0) -> int:
    """Return the number of calls inside polyak; SIGINT comes with one of them."""
    count = 0

    def trace(frame: types.FrameType, event: str, arg: Any) -> None:
        nonlocal count
        if not frame.f_code.co_filename.startswith(PLACE):
            return
        count += 1
        if count == interrupted:
            signal.raise_signal(signal.SIGINT)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def everything(model: ASGDClassifier) -> tuple[str, dict[str, bytes]]:
    page, arrays = model._run.learner.state()
    return str(page), {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("settings", "columns", "is_small"),
    [({}, 5, True), ({"intervals": True}, 5, True), ({}, 300, False)],
    ids=["default", "intervals", "dense"],
)
def test_partial_fit(settings: dict[str, Any], columns: int, is_small: bool) -> None:
    X = np.random.default_rng(0).normal(size=(1500, columns))
    y = (X[:, 0] > 0).astype(int)
    one_thread = ASGDClassifier(n_jobs=1, random_state=0, **settings)  # whose calls are counted
    model = one_thread.partial_fit(X[:1100], y[:1100], [0, 1])
    copy.deepcopy(model).partial_fit(X[1100:], y[1100:])  # what is imported later
    learned = copy.deepcopy(model)
    total = calls(lambda: learned.partial_fit(X[1100:], y[1100:]))
    ends, torn = (everything(model), everything(learned)), []
    for place in range(1, total - 10, total // 10):  # not where the batch has been learned
        one = copy.deepcopy(model)
        with pytest.raises(KeyboardInterrupt):
            calls(lambda one=one: one.partial_fit(X[1100:], y[1100:]), place)  # type: ignore[misc]
        try:
            found = everything(one)
        except RuntimeError:
            for use in (one.predict, lambda X, one=one: one.partial_fit(X, y)):
                with pytest.raises(RuntimeError, match=TORN):
                    use(X)
            torn.append(one)
        else:
            assert found in ends
    assert bool(torn) != is_small
    for one in torn[:1]:
        one.fit(X[:300], y[:300]).predict(X)

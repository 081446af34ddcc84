"""Every build of the kernels learns the same: all are held to the one without vectors.

To the last bit where neither or both multiply and add at once, which x86-64 does in its AVX2 build
alone; elsewhere such a product is rounded once instead of twice.
"""

from __future__ import annotations

import itertools
import platform

import numpy as np
import pytest
from problems import distance, make_bank, problem, same_bits, stored

from polyak import _core
from polyak.learn.bank import Bank

pytestmark = pytest.mark.skipif(
    "scalar" not in _core.kernel_builds,
    reason="only a core configured with POLYAK_SCALAR=ON has the build without SIMD",
)
TO_THE_BIT = {"portable"} if platform.machine() in ("x86_64", "AMD64") else set()
BOUND = {np.float64: 1e-12, np.float32: 1e-5}


def learned(build: str, models: int, dtype: type, storage: str, precondition: float) -> Bank:
    X, y = problem("log_loss", 600, 75, density=0.4, seed=models)
    bank = make_bank(
        "log_loss",
        alpha=np.geomspace(1e-4, 1e-2, models),
        dtype=dtype,
        precondition=precondition,
    )
    _core.use_kernels(build)
    try:
        bank.learn(stored(X.astype(dtype), storage), y)
    finally:
        _core.use_kernels(_core.kernels)
    return bank


@pytest.mark.parametrize("build", [b for b in _core.kernel_builds if b != "scalar"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("models", [1, 3, 8, 21])
def test_vectors_learn_what_plain_numbers_learn(models, dtype, storage, build):
    for precondition in (0.0, 0.5):
        options = (models, dtype, storage, precondition)
        mine, plain = learned(build, *options), learned("scalar", *options)
        if build in TO_THE_BIT:
            assert same_bits(mine, plain)
        else:
            assert distance(mine.coef, plain.coef) < BOUND[dtype]
            assert distance(mine.progressive_loss, plain.progressive_loss) < BOUND[dtype]


@pytest.mark.parametrize("build", [b for b in _core.kernel_builds if b != "scalar"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_vectors_score_what_plain_numbers_score(dtype, build):
    X, _ = problem("log_loss", 200, 75, density=0.4)
    bank = learned("scalar", 3, dtype, "dense", 0.0)
    scores = {}
    for storage, name in itertools.product(("dense", "sparse"), (build, "scalar")):
        _core.use_kernels(name)
        try:
            scores[name] = bank.decision_function(stored(X.astype(dtype), storage))
        finally:
            _core.use_kernels(_core.kernels)
        if name == "scalar":
            if build in TO_THE_BIT:
                assert np.array_equal(scores[build], scores["scalar"])
            assert distance(scores[build], scores["scalar"]) < BOUND[dtype]


def test_only_builds_that_are_here_can_be_chosen():
    with pytest.raises(ValueError, match="there are no kernels called 'sse9'"):
        _core.use_kernels("sse9")
    assert _core.kernel_builds[0] == _core.kernels

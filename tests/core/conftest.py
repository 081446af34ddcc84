from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyak import _core

KERNELS = ["portable"] if _core.kernels == "portable" else ["portable", "avx2"]


@pytest.fixture(params=KERNELS)
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once with every build of the kernels that this processor can run."""
    _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(_core.kernels)

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyak import _core


@pytest.fixture(params=_core.kernel_builds)
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once with every build of the kernels that this processor can run."""
    _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(_core.kernels)

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyak import _core

BUILDS = [
    pytest.param(build, marks=() if build == _core.kernels else pytest.mark.slow)
    for build in _core.kernel_builds
]


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test with the build of the kernels in use, and in the slow tier with all others."""
    _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(_core.kernels)

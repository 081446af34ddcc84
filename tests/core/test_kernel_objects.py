"""What a build of the kernels must not have in common with another.

The linker keeps one of several copies of a function that is not of a build's own namespace, such as
one of ``std::vector``. Should it keep that with AVX2, a processor without would end there.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = "build/*/CMakeFiles/kernels_{}.dir/core/**/*.o"
SHIPPED, WATCHED = ("portable", "avx2"), {"asan", "tsan"}  # the latter share what they like
OBJECTS = [
    (build, path)
    for build in SHIPPED
    for path in sorted(Path(__file__).parents[2].glob(BUILD.format(build)))
    if not WATCHED.intersection(path.parts)
]


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm says which functions an object has")
@pytest.mark.skipif(not OBJECTS, reason="only where the core was built in place")
def test_builds_share_no_function():
    shared = {}
    for build, path in OBJECTS:
        found = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True)
        kinds = (line.split(maxsplit=2)[-2:] for line in found.stdout.splitlines())
        weak = [name for kind, name in kinds if kind == "W" and f"polyak::{build}::" not in name]
        if weak:
            shared[path.name] = weak
    assert not shared

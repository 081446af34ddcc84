"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

OF_TESTS = ("tables", "zstd", "dask", "onnx", "skops", "reproduce", "test")
"""The extras that the tests use; those that build the documentation are as new as can be."""

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
required = list(project["dependencies"])
for extra in OF_TESTS:
    required += project["optional-dependencies"][extra]
pattern = re.compile(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)$")
lowest = {found[1]: found[2] for line in required if (found := pattern.match(line))}
for name, version in sorted(lowest.items()):
    print(f"{name}=={version}")

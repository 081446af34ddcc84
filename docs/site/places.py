"""The line at which a name is defined in a source file, for links in the pages."""

from __future__ import annotations

import re
from pathlib import Path

PYTHON = r"^\s*(?:async )?(?:def|class) {name}\b|^{name}\s*(?::[^=]+)?=[^=]"
CPP = (
    r"^\s*(?:struct|class|enum|namespace|using|#define) {name}\b"
    r"|^\s*(?!return\b)[\w:<>,&*\s]*[\w>&*]\s+[&*]?{name}\("
)


def line_of(path: Path, name: str) -> int | None:
    """Return the line that defines a name, ``function``, ``Class`` or ``Class.method``."""
    lines = path.read_text(encoding="utf-8").splitlines()
    line = 0
    for part in name.split("."):
        pattern = re.compile((PYTHON if path.suffix == ".py" else CPP).format(name=re.escape(part)))
        after = enumerate(lines[line:], line + 1)
        found = next((number for number, text in after if pattern.search(text)), None)
        if found is None:
            return None
        line = found
    return line

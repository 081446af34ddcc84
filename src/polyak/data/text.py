"""Sizes and limits of text.

This module imports nothing that takes time, so that the command line can take its defaults here.
"""

from __future__ import annotations

UNKNOWN_BASE = -1
"""The first feature id of svmlight text, as long as no line has shown it."""
BLOCK_BYTES = 1 << 23
"""Default number of bytes of text that are parsed at a time and become one batch."""
SCORED_BYTES = 1 << 22
"""The same for scoring, where the last block then comes sooner: on ARM 180 MB took 0.209 s instead
of 0.246 s."""
LONGEST_LINE = 1 << 26
"""Default limit on the bytes of a line; a longer one is refused."""
BLOCKS_AHEAD = 12
"""Blocks that are parsed before they are asked for; as rows they take about 4 MB each."""

KEPT_OF_VW = (["tag"], ["*"])
"""The choices of columns to keep that mean the tags of VW text."""

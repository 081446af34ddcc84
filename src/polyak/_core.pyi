from typing import Any

from numpy.typing import NDArray

# ---- core/bind_svmlight.cpp

def parse_svmlight(
    text: Any, *, float64: bool, base: int, largest_index: int, skip_bad_lines: bool
) -> tuple[
    NDArray[Any],  # targets
    NDArray[Any],  # indptr
    NDArray[Any],  # indices
    NDArray[Any],  # values
    int,  # the largest index, -1 if there is none
    int,  # the base, -1 if it is not known yet
    int,  # lines
    int,  # bad lines
    list[tuple[int, bytes, str]],  # of the first ten: line from zero, text, reason
]: ...

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# ---- core/python/bind_text.cpp

class LineTooLong(ValueError): ...  # noqa: N818  (it says which file)

_Names: TypeAlias = tuple[
    Integers,  # the hash buckets that have a name, in order
    Integers,  # the end offset of each name in the text
    NDArray[np.uint8],
]

class TextBlock:
    file: int
    end: int
    bytes_read: int
    targets: Floats  # NaN where there is no label
    weights: Floats | None  # if they are not all one
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    label_sets: list[tuple[float, ...]]  # multilabel: targets are indices into this list
    checked: CheckedRows  # the same indptr, indices and values as validated rows
    lines: int
    bad_lines: int
    first_bad: list[tuple[int, bytes, str]]  # the first ten: line from zero, text, reason
    bad_before: Integers  # for every bad line, the number of rows before it
    no_row_before: Integers  # the same for every line that is not a row, bad or not
    largest_index: int  # -1 if there is none
    base: int  # -1 if it is not known yet
    unlabelled: int  # rows left out because they have no label
    seen: list[bool]  # VW text: which of the namespaces in the options occur
    tags: bytes | None  # VW text, if requested: one line per row

class _Text:
    def next(self) -> TextBlock | None: ...
    def room(self) -> memoryview: ...
    def filled(self, count: int, bytes_read: int) -> bool: ...
    def parse(self, text: Any) -> TextBlock: ...
    def names(self) -> _Names: ...

class _Reading(TypedDict, total=False):
    file: int
    offset: int
    bytes_before: int
    block_bytes: int
    longest_line: int
    threads: int
    head_start: int
    float64: bool
    skip_bad_lines: bool
    several_labels: bool

class SvmlightText(_Text):
    def __init__(
        self,
        paths: Sequence[str] = (),
        *,
        base: int = ...,
        largest_index: int = ...,
        **reading: Unpack[_Reading],
    ) -> None: ...

class VwText(_Text):
    def __init__(
        self,
        paths: Sequence[str] = (),
        *,
        bits: int = ...,
        need_labels: bool = ...,
        names: int = ...,
        with_tags: bool = ...,
        with_base: bool = ...,
        crossed: Sequence[Sequence[str]] = (),
        dropped: Sequence[str] = (),
        **reading: Unpack[_Reading],
    ) -> None: ...

def hash_name(name: str | bytes) -> int: ...

# ---- core/python/bind_rows.cpp

class Rows:
    def __init__(
        self, indptr: NDArray[Any] | None, indices: NDArray[Any] | None, values: NDArray[Any]
    ) -> None: ...
    def __len__(self) -> int: ...

class CheckedRows(Rows):
    def __getitem__(self, part: slice, /) -> CheckedRows: ...
    @property
    def features(self) -> int: ...

def score_rows(rows: Rows, matrix: NDArray[Any]) -> NDArray[Any]: ...
def squared_norms(rows: Rows) -> Floats: ...
def shift_rows(
    rows: Rows, features: Integers, means: Floats
) -> tuple[Integers, NDArray[np.int32], NDArray[Any]]: ...
def random_order(count: int, seed: int) -> Integers: ...
def print_svmlight(rows: Rows, targets: Floats) -> bytes: ...
def print_lines(table: Floats) -> bytes: ...
def print_names(scores: Floats, names: list[str]) -> bytes: ...

# ---- core/python/bind_records.cpp

def csv_end(text: Any, delimiter: str, state: int = 0) -> tuple[int, int]: ...

class CsvColumns:
    lines: Integers
    bad_rows: list[tuple[int, int, int, int]]
    no_numbers: list[tuple[int, str, bytes]]
    no_text: list[tuple[int, str]]
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

def csv_columns(
    text: Any,
    delimiter: str,
    header: list[str],
    numbers: list[str],
    words: list[str],
    missing: list[str],
) -> CsvColumns: ...
def json_objects(
    text: Any, state: tuple[int, bool, bool, bool]
) -> tuple[bytearray, tuple[int, bool, bool, bool]]: ...

# ---- core/python/bind_newton.cpp

def coordinate_descent(
    H: Floats,
    c: Floats,
    ridge: Floats,
    threshold: Floats,
    lowest: Floats,
    v: Floats,
    enough: float,
    rounds: int,
) -> bool: ...
def fill_standard(
    rows: Rows,
    order: Integers | None,
    features: Integers,
    centre: Floats,
    per_unit: Floats,
    out: NDArray[Any],
    threads: int = 1,
) -> int: ...
def sparse_gram(Z: NDArray[Any], h: Floats | None, most: float) -> Floats | None: ...
def sparse_forms(Z: NDArray[Any], A: Floats, most: float) -> Floats | None: ...
def column_sizes(
    Z: NDArray[Any], places: Integers, limit: float, threads: int = 1
) -> tuple[Floats, Floats]: ...
def column_moments(Z: NDArray[Any]) -> tuple[Floats, Floats]: ...
def block_norms(Z: NDArray[Any], norms: Floats, threads: int = 1) -> float: ...
def block_scores(Z: NDArray[Any], W: NDArray[Any], threads: int) -> Floats: ...
def block_squares(Z: NDArray[Any], weights: Floats, threads: int) -> Floats: ...
def logistic_loss(
    Z: NDArray[Any],
    targets: Floats,
    weights: Floats | None,
    scores: Floats,
    step: Floats | None,
    threads: int,
) -> tuple[Floats, Floats, Floats]: ...
def logistic_curvature(scores: Floats) -> Floats: ...
def inverse_of_factor(matrix: NDArray[Any]) -> NDArray[Any]: ...
def logistic_sums(
    scores: Floats, targets: Floats, weights: Floats, limits: Floats, threads: int = 1
) -> Floats: ...

# ---- core/python/bind_bank.cpp

class NoRoom(ValueError): ...  # noqa: N818

def free_memory() -> int: ...

model_fields: list[str]
kernels: Literal["portable", "avx2"]
kernel_builds: tuple[Literal["portable", "avx2", "scalar"], ...]

def use_kernels(name: str) -> None: ...

class Bank:
    def __init__(
        self,
        *,
        float64: bool,
        loss: str,
        limit: int | None,
        power: float,
        average_power: float,
        precondition: float,
        adagrad: float | None,
        intercept: bool,
        implicit: bool,
        capped: bool,
        progressive: bool,
        group: int,
        softmax: bool,
        proximal: bool,
        l1_ratio: float,
        positive: bool,
        seed: int,
        output: list[int],
        replica: list[int],
        parameter: list[float],
    ) -> None: ...
    def learn(
        self,
        rows: Rows,
        targets: Floats | None,
        classes: Integers | None,
        weights: Floats | None,
        order: Integers | None,
        scores: Floats | None,
        limits: Floats | None,
        stops: Integers,
        offsets: Floats | None = None,
    ) -> Floats: ...
    def check(self, rows: Rows, targets: Floats | None, weights: Floats | None) -> CheckedRows: ...
    def warm_up(self, rows: Rows) -> None: ...
    def grow(self, features: int, /) -> None: ...
    def weights(self, last: bool, begin: int = 0, end: int | None = None) -> NDArray[Any]: ...
    def intercepts(self, last: bool) -> Floats: ...
    def state(self, models: NDArray[np.int64] | None = None) -> dict[str, Any]: ...
    def set_state(
        self, lines: NDArray[Any], squares: Floats, models: Floats, clock: int, looked: int
    ) -> None: ...
    def reset_progressive_sums(self) -> None: ...
    def models(self) -> Floats: ...
    def set_models(self, models: Floats) -> None: ...
    @property
    def clock(self) -> int: ...
    @property
    def features(self) -> int: ...

def add_in_order(numbers: Floats, totals: Floats) -> None: ...
def count_scores(
    scores: Floats, positive: NDArray[np.bool_], weights: Floats | None, counts: Floats
) -> None: ...
def add_softmax_losses(
    scores: Floats,
    positive: NDArray[np.bool_],
    weights: Floats | None,
    first: float,
    losses: Floats,
) -> None: ...
def replica_weight(seed: int, row: int, replica: int) -> float: ...

class _Loss(Protocol):
    @property
    def classifies(self) -> bool: ...
    @property
    def log_link(self) -> bool: ...
    def accepts(self, target: float) -> bool: ...
    def curvature(self, score: float, target: float, parameter: float = ...) -> float: ...
    def value(self, score: float, target: float, parameter: float = ...) -> float: ...
    def slope(self, score: float, target: float, parameter: float = ...) -> float: ...
    def implicit_slope(
        self, score: float, target: float, q: float, parameter: float = ...
    ) -> float: ...

squared_error: _Loss
squared_hinge: _Loss
hinge: _Loss
log_loss: _Loss
modified_huber: _Loss
huber: _Loss
quantile: _Loss
epsilon_insensitive: _Loss
poisson: _Loss
gamma: _Loss

# ---- core/python/bind_table.cpp

class TableEncoder:
    def __init__(
        self,
        columns: list[tuple[str, str, int, float, float]],
        interactions: list[list[int]],
        hashed_begin: int,
        bits: int,
        ngrams: int,
        float64: bool,
        names: int,
    ) -> None: ...
    def encode(
        self, schema: Any, array: Any, chosen: NDArray[np.uint8] | None = None
    ) -> tuple[
        Integers,
        NDArray[np.int32],
        NDArray[Any],
        list[tuple[int, int, bytes]],  # values too large: row, column, text
    ]: ...
    def names(self) -> _Names: ...

def number_matrix(schema: Any, array: Any) -> Floats: ...
def column_numbers(schema: Any, array: Any) -> Floats: ...

# ---- core/python/bind_written.cpp

def written_numbers(
    schema: Any, array: Any, decimal: str, thousands: str, missing: list[str]
) -> tuple[Floats, Integers]: ...
def written_dates(
    schema: Any, array: Any, order: str, missing: list[str]
) -> tuple[Integers, Integers, bool]: ...

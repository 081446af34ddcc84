"""How to read: the choices that a format may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from numpy.typing import DTypeLike

from polyak.data.head_start import BLOCK_BYTES, LONGEST_LINE
from polyak.processors import number_of_threads

if TYPE_CHECKING:
    from polyak.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What a table's columns are for, where their types do not tell.

    Attributes
    ----------
    target : str, optional
        The column to predict.
    positive : str, optional
        The target's value that positive scores mean; all others are one class.
    weight : str, optional
        The column of the rows' weights.
    drop, only : tuples of str
        Columns to leave out, or the only ones to learn from.
    categorical : tuple of str
        Columns whose values are names, even if they look like numbers or dates.
    text : tuple of str
        Columns of text: lower-cased words, hashed one by one.
    ngrams : int
        The longest run of words that is a feature.
    interact : tuple of str
        Columns to cross, such as ``"origin:dest"``.
    bits : int
        Hashed features share 2^bits slots.
    names : bool
        Remember the names of the heaviest hashed features.

    Examples
    --------
    >>> Columns(target="arr_delay", drop=("air_time",)).target
    'arr_delay'
    """

    target: str | None = None
    positive: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ngrams: int = 1
    interact: tuple[str, ...] = ()
    bits: int = 18
    names: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 30:
            raise ValueError(f"bits must be from 1 to 30, not {self.bits}")
        if not 1 <= self.ngrams <= 8:
            raise ValueError(f"ngrams must be from 1 to 8, not {self.ngrams}")
        for crossed in self.interact:
            if len([part for part in crossed.split(":") if part]) < 2:
                raise ValueError(f"columns to cross are named as in a:b, not as in {crossed!r}")
        if self.positive is not None and self.target is None:
            raise ValueError("a positive value needs a target column")


class Options(NamedTuple):
    """What `polyak.data.open.open_stream` was asked for; its docstring says what each means."""

    y: Any = None
    dtype: DTypeLike | None = None
    n_features: int | None = None
    zero_based: bool | Literal["auto"] = "auto"
    skip_bad_lines: bool = False
    threads: int | None = None
    block_bytes: int = BLOCK_BYTES
    longest_line: int = LONGEST_LINE
    batch_rows: int = 2048
    columns: Columns = Columns()
    schema: Schema | None = None
    targets: bool = True
    keep: tuple[str, ...] = ()

    def number_of_threads(self) -> int:
        """Return how many threads read and parse ahead."""
        return number_of_threads(self.threads)

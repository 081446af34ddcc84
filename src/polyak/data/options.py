"""Options for reading a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import DTypeLike

from polyak.data.text import BLOCK_BYTES, LONGEST_LINE
from polyak.model.dialect import Dialect
from polyak.processors import number_of_threads
from polyak.storage.feature_names import DEFAULT_BITS, MOST_NAMES

if TYPE_CHECKING:
    from polyak.model.features import Hashing
    from polyak.model.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The roles of a table's columns, where their types do not show them.

    Attributes
    ----------
    target : str, optional
        The column to predict. For NumPy files, the target and the weight name an array of the
        ``.npz`` file, or a ``.npy`` file.
    positive : str, optional
        The target's value that positive scores mean; all others are one class.
    weight : str, optional
        The column of the rows' weights.
    exposure : str, optional
        The column with the time, or amount, that the target was counted over. Rows are learned as
        rates, the target divided by it, with it as their weight.
    offset : str, optional
        The column that is added to the score as it is, as a feature whose weight is one.
    drop, only : tuples of str
        Columns to leave out, or the only ones to learn from.
    categorical : tuple of str
        Columns whose values are names, even if they look like numbers or dates.
    numeric : tuple of str
        Columns to read as numbers: their words are missing values.
    text : tuple of str
        Columns of text: lower-cased words, hashed one by one.
    ngrams : int
        The longest run of words that is a feature.
    interact : tuple of str
        Columns to cross, such as ``"origin:dest"``.
    bits : int, optional
        Hashed features share 2^bits slots: 2^18 by default, fewer where classes are many.
    names : int, optional
        How many hashed features keep their name in a model, those with the largest weights; by
        default 100,000, and none for VW text, which is read faster without.

    Examples
    --------
    >>> Columns(target="arr_delay", drop=("air_time",)).target
    'arr_delay'
    """

    target: str | None = None
    positive: str | None = None
    weight: str | None = None
    exposure: str | None = None
    offset: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ngrams: int = 1
    interact: tuple[str, ...] = ()
    bits: int | None = None
    names: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.slot_bits <= 30:
            raise ValueError(f"bits must be from 1 to 30, not {self.bits}")
        if not 1 <= self.ngrams <= 8:
            raise ValueError(f"ngrams must be from 1 to 8, not {self.ngrams}")
        for crossed in self.interact:
            if len([part for part in crossed.split(":") if part]) < 2:
                raise ValueError(f"columns to cross are named as in a:b, not as in {crossed!r}")
        if self.positive is not None and self.target is None:
            raise ValueError("a positive value needs a target column")
        if self.names is not None and self.names < 0:
            raise ValueError(f"the number of names must not be negative, unlike {self.names}")

    @property
    def slot_bits(self) -> int:
        """The bits of slots, as far as classes are not too many for them."""
        return DEFAULT_BITS if self.bits is None else self.bits

    @property
    def names_to_keep(self) -> int:
        """How many names a model keeps at most."""
        return MOST_NAMES if self.names is None else self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read: made once, and passed whole to all that open a source.

    Attributes
    ----------
    format : {"svmlight", "vw", "npy", "npz", "csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        Inferred from the suffix if not given, else from the first bytes; see
        `polyak.data.formats.registry`.
        VW text is hashed, as `polyak.data.formats.vw` says. A ``.npz`` holds ``X``, or a sparse
        matrix as `scipy.sparse.save_npz` writes it, and perhaps ``y`` and ``weights``.
    y : array, optional
        The targets, where the source has none.
    columns : Columns
        The roles of a table's columns, where their types do not show them.
    schema : Schema, optional
        Read a table as the one that this is the schema of, which a model keeps; ``columns`` then
        does not count.
    hashing : Hashing, optional
        Hash the names of VW text as a model does that keeps this; ``columns`` then does not count.
    dialect : Dialect
        How a table's text is written, where its first rows do not show it; what is not given here
        is as in the schema.
    member : str, optional
        Which file in a zip archive to read, where there are several.
    targets : bool
        Whether to read a table's targets. Without them no row is left out because its target is
        missing.
    keep : list of str
        Columns of a table to carry along in ``Batch.kept``, as they are.
    dtype : float32 or float64, optional
        The type of the values. If not given, float32 for text, and as they are for arrays.
    n_features : int, optional
        The width of the rows. A feature beyond is an error. If not given, rows of text are as
        wide as the largest feature seen so far.
    zero_based : bool or "auto"
        Whether the first feature of svmlight text has the id 0 rather than 1. "auto" takes it to
        be 1 unless the first block of lines has a feature 0; should one come up later, the error
        says to give this option.
    skip_bad_lines : bool
        Count the lines that cannot be read, instead of raising an error for the first.
    multilabel : bool
        Rows of svmlight or VW text may have several labels, as in ``1,5,7``; a target is then a
        tuple of labels.
    gaps : bool
        Say in ``Batch.gaps`` where such lines stood, be it in a batch without rows.
    threads : int, optional
        How many threads read and parse ahead; by default the number of processors, up to
        four. With 0, what asks for a batch reads it itself. The batches are the same for any
        number.
    shuffle_buffer : int
        Shuffle rows within a buffer of this size; for files that are sorted.
    random_order : bool
        Read pieces from all over the files in a random order, and shuffle the rows of many pieces
        together; for files that are sorted and do not fit into memory. What cannot be read in
        pieces, such as a compressed file, is shuffled within a buffer alone (of
        ``shuffle_buffer`` rows, if that is given); a pipe comes as it is, unless that is given.
    warn_if_sorted : bool
        Warn if the first rows look sorted by class.
    block_bytes : int
        How much text to parse at a time.
    longest_line : int
        How many bytes a line of text may have; a longer one is an error, before it fills the
        memory. Line breaks within quotation marks of CSV do not end a line.
    batch_rows : int
        How many rows of an array to deliver at a time.
    """

    format: str | None = None
    y: Any = None
    columns: Columns = Columns()
    schema: Schema | None = None
    hashing: Hashing | None = None
    dialect: Dialect = field(default_factory=Dialect)
    member: str | None = None
    targets: bool = True
    keep: Sequence[str] = ()
    dtype: DTypeLike | None = None
    n_features: int | None = None
    zero_based: bool | Literal["auto"] = "auto"
    skip_bad_lines: bool = False
    multilabel: bool = False
    gaps: bool = False
    threads: int | None = None
    shuffle_buffer: int = 0
    random_order: bool = False
    warn_if_sorted: bool = True
    block_bytes: int = BLOCK_BYTES
    longest_line: int = LONGEST_LINE
    batch_rows: int = 2048

    def number_of_threads(self) -> int:
        """Return how many threads read and parse ahead."""
        return number_of_threads(self.threads)

    def whole_dialect(self) -> Dialect:
        """Return the dialect of text: that given here, else that of the schema."""
        if self.schema is None:
            return self.dialect
        return replace(self.schema.dialect, **self.dialect.said())

    def what_counts(self) -> dict[str, Any]:
        """Return the options that change the rows of the same data, as JSON holds them."""
        names = (
            *("format", "n_features", "zero_based", "skip_bad_lines", "shuffle_buffer"),
            *("member", "random_order", "multilabel"),
        )
        own = {name: getattr(self, name) for name in names}
        return own | {"columns": asdict(self.columns), "dialect": self.dialect.said()}

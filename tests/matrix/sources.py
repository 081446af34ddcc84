"""The same rows in every form that can be read: plain and compressed, as a file and from a pipe."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from pyarrow import feather, parquet
from scipy import sparse

ROWS = 5000
CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Quito")
WORDS = ("red", "green", "blue", "old", "new", "big", "small", "round")
EARLY = "antique"
"""A word that only the first row has: a run that goes on later never sees it again."""
FAR_ROW, FAR_ID = ROWS - 500, 90_000
"""Row ``FAR_ROW``, long after the first rows, has the feature ``FAR_ID``, far beyond theirs."""

Row = dict[str, Any]


@cache
def rows(n_rows: int = ROWS) -> tuple[Row, ...]:
    """Draw rows of four numbers, a city and some words, and whether something was bought."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(n_rows, 4)).round(3)
    cities = random.integers(0, len(CITIES), n_rows)
    words = random.random((n_rows, len(WORDS))) < 0.3
    words[:, 0] |= ~words.any(axis=1)  # a text is not empty
    texts = [" ".join(np.array(WORDS)[some]) for some in words]
    texts[0] += " " + EARLY
    score = numbers @ [2.0, -1.0, 0.5, 0.0] + (cities - 2) / 2 + words @ np.linspace(-1, 1, 8)
    bought = score + random.logistic(size=n_rows) / 2 > 0
    return tuple(
        {
            **{name: float(value) for name, value in zip("abcd", numbers[n], strict=True)},
            "city": CITIES[cities[n]],
            "words": texts[n],
            "bought": "yes" if bought[n] else "no",
        }
        for n in range(n_rows)
    )


def _features(row: Row) -> dict[int, float]:
    """Number a row's features from 1."""
    found = {j + 1: row[name] for j, name in enumerate("abcd") if row[name]}
    found[5 + CITIES.index(row["city"])] = 1.0
    found |= {10 + WORDS.index(word): 1.0 for word in row["words"].split() if word != EARLY}
    return found


def _numbered(some: tuple[Row, ...]) -> list[dict[int, float]]:
    """Number the features of all rows, one of which makes the model wide."""
    found = [_features(row) for row in some]
    if len(some) == ROWS:
        found[FAR_ROW][FAR_ID] = 1.0
    return found


def _sign(row: Row) -> int:
    return 1 if row["bought"] == "yes" else -1


def _svmlight(some: tuple[Row, ...]) -> bytes:
    lines = (
        f"{_sign(row)} {' '.join(f'{j}:{v:g}' for j, v in sorted(features.items()))}\n"
        for row, features in zip(some, _numbered(some), strict=True)
    )
    return "".join(lines).encode()


def _vw(some: tuple[Row, ...]) -> bytes:
    lines = (
        f"{_sign(row)} |n {' '.join(f'{name}:{row[name]:g}' for name in 'abcd')} "
        f"|city {row['city']} |words {row['words']} |id {n}\n"
        for n, row in enumerate(some)
    )
    return "".join(lines).encode()


def _separated(by: str) -> Callable[[tuple[Row, ...]], bytes]:
    def text(some: tuple[Row, ...]) -> bytes:
        lines = [by.join(some[0]), *(by.join(map(str, row.values())) for row in some)]
        return ("\n".join(lines) + "\n").encode()

    return text


def _nested(row: Row) -> Row:
    """Put columns within columns, where a form can have them: a list of numbers, and an object."""
    others = {name: row[name] for name in ("c", "d", "words", "bought")}
    return {"ab": [row["a"], row["b"]], "at": {"city": row["city"]}, **others}


def _json_lines(some: tuple[Row, ...]) -> bytes:
    return "".join(json.dumps(_nested(row)) + "\n" for row in some).encode()


TEXT = {
    "svm": _svmlight,
    "vw": _vw,
    "csv": _separated(","),
    "tsv": _separated("\t"),
    "jsonl": _json_lines,
}
PACKED = {
    "": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def matrix_and_targets(some: tuple[Row, ...]) -> tuple[sparse.csr_matrix, Any]:
    """Return the rows as a sparse matrix, and their targets."""
    places = [
        (n, j - 1, value)
        for n, features in enumerate(_numbered(some))
        for j, value in sorted(features.items())
    ]
    at, ids, values = zip(*places, strict=True)
    data = np.array(values, np.float32)
    return sparse.csr_matrix((data, (at, ids))), np.array([float(_sign(r)) for r in some])


def _npz(path: Path, some: tuple[Row, ...], packing: str) -> None:
    X, y = matrix_and_targets(some)
    save = np.savez_compressed if packing else np.savez
    parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
    save(path, **parts, format="csr", y=y)


def _parquet(path: Path, some: tuple[Row, ...], packing: str) -> None:
    table = pa.Table.from_pylist(list(some))
    parquet.write_table(table, path, row_group_size=400, compression=packing or "none")


def _arrow(path: Path, some: tuple[Row, ...], packing: str) -> None:
    table = pa.Table.from_pylist([_nested(row) for row in some])
    feather.write_feather(table, path, chunksize=400, compression=packing or "uncompressed")


BINARY: dict[str, tuple[Callable[[Path, tuple[Row, ...], str], None], tuple[str, ...]]] = {
    "npz": (_npz, ("", "deflate")),
    "parquet": (_parquet, ("", "zstd")),
    "arrow": (_arrow, ("", "lz4")),
}
TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")


@dataclass(frozen=True, slots=True)
class Source:
    """Rows in one form: the form, how it is compressed, and whether it comes from a pipe."""

    form: str
    packing: str = ""
    is_pipe: bool = False

    def __str__(self) -> str:
        packing = f".{self.packing}" if self.packing else ""
        return f"{self.form}{packing}-{'pipe' if self.is_pipe else 'file'}"

    @property
    def is_table(self) -> bool:
        """Whether it has columns."""
        return self.form in TABLES

    @property
    def has_names(self) -> bool:
        """Whether its features are named and hashed."""
        return self.is_table or self.form == "vw"

    @property
    def plain(self) -> Source:
        """The same form as a file that is not compressed."""
        return Source(self.form)

    @property
    def options(self) -> list[str]:
        """What the command line has to be told to read it."""
        found = ["--target", "bought", "--text", "words"] if self.is_table else []
        found += ["--bits", "10"] if self.has_names else []
        found += ["--interact", "city:words", "--drop", "id"] if self.form == "vw" else []
        format = {"svm": "svmlight"}.get(self.form, self.form)
        return [*found, "--format", format] if self.is_pipe else found

    def write(self, folder: Path, name: str = "rows", some: tuple[Row, ...] = ()) -> Path:
        """Write rows as a file of this form, and give its path."""
        some = some or rows()
        if self.form in TEXT:
            end = f".{self.packing}" if self.packing else ""
            path = folder / f"{name}.{self.form}{end}"
            path.write_bytes(PACKED[self.packing](TEXT[self.form](some)))
            return path
        path = folder / f"{name}-{self.packing or 'plain'}.{self.form}"
        BINARY[self.form][0](path, some, self.packing)
        return path


FILES = [
    *(Source(form, packing) for form in TEXT for packing in PACKED),
    *(Source(form, packing) for form, (_, packings) in BINARY.items() for packing in packings),
]
PIPES = [Source(form, packing, is_pipe=True) for form in TEXT for packing in PACKED]
SOURCES = FILES + PIPES

"""Files of every kind whose rows are sorted by their target, and have their number as a value."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
ROWS = 3000


def columns(rows: int = ROWS) -> dict[str, list[Any]]:
    random = np.random.default_rng(0)
    return {
        "number": list(range(rows)),
        "target": [int(row >= rows // 2) for row in range(rows)],
        "word": [f"w{n}" for n in random.integers(0, 50, rows)],
        "x": random.normal(size=rows).round(3).tolist(),
    }


def svmlight(path: Path) -> Path:
    table = columns()
    rows = zip(table["number"], table["target"], table["x"], strict=True)
    path.write_text("".join(f"{t} 1:{n + 1} {2 + n % 7}:{x}\n" for n, t, x in rows))
    return path


def vw(path: Path) -> Path:
    table = columns()
    rows = zip(*table.values(), strict=True)
    path.write_text("".join(f"{t} |a {w} n:{n + 1}\n" for n, t, w, _ in rows))
    return path


def delimited(path: Path) -> Path:
    comma = "\t" if path.suffix == ".tsv" else ","
    table = columns()
    lines = [comma.join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([comma.join(table), *lines]))  # the last line has no end
    return path


def quoted(path: Path) -> Path:
    table = columns()
    rows = zip(*table.values(), strict=True)
    lines = [f'{n},{t},"{w}, or\n""{n}""\n, not",{x}' for n, t, w, x in rows]
    path.write_text("number,target,word,x\n" + "\n".join(lines) + "\n")
    return path


def jsonl(path: Path) -> Path:
    table = columns()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    path.write_text("\ufeff" + "".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path) -> Path:
    from pyarrow import parquet

    parquet.write_table(pa.table(columns()), path, row_group_size=170)
    return path


def arrow(path: Path) -> Path:
    table = pa.table(columns())
    with pa.ipc.new_file(path, table.schema) as file:
        for batch in table.to_batches(max_chunksize=40):
            file.write_batch(batch)
    return path


def arrays() -> tuple[np.ndarray, np.ndarray]:
    table = columns()
    X = np.array([table["number"], table["x"]], dtype=float).T
    return X, np.array(table["target"])


def npy(path: Path) -> Path:
    np.save(path, arrays()[0])
    return path


def npz(path: Path) -> Path:
    X, y = arrays()
    np.savez(path, X=X, y=y)
    return path


def packed(path: Path) -> Path:
    X, y = arrays()
    np.savez_compressed(path, X=X, y=y)
    return path


def zipped(path: Path) -> Path:
    path.write_bytes(gzip.compress(svmlight(path.with_suffix(".svm")).read_bytes()))
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "a.svm": svmlight,
    "a.vw": vw,
    "a.csv": delimited,
    "a.tsv": delimited,
    "quoted.csv": quoted,
    "a.jsonl": jsonl,
    "a.parquet": parquet,
    "a.arrow": arrow,
    "a.npy": npy,
    "a.npz": npz,
    "packed.npz": packed,
    "a.svm.gz": zipped,
}
FAST = ("a.svm", "a.csv", "a.parquet", "a.npz")
every_file = pytest.mark.parametrize(
    "name",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FILES],
)


def made(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    path = FILES[name](folder / name)
    is_table = name not in ("a.svm", "a.vw", "a.npy", "a.npz", "packed.npz")
    choices: dict[str, Any] = {"target": "target"} if is_table and "svm" not in name else {}
    if name == "a.npy":
        choices["y"] = arrays()[1]
    return path, choices

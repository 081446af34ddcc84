"""Damaged ``.npy`` and ``.npz`` files: rows as they were saved, or one sentence with the file."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.storage.damage import mutants

from polyak.data.open import open_stream
from polyak.errors import DataError
from polyak.rows.batch import Batch

random = np.random.default_rng(3)
X = np.where(random.random((60, 6)) < 0.5, random.normal(size=(60, 6)), 0)
Y = np.arange(60.0)
CSR = sparse.csr_array(X)
PARTS = {"data": CSR.data, "indices": CSR.indices, "indptr": CSR.indptr, "shape": X.shape}


def read_all(path: Path, **options: Any) -> list[Batch]:
    with open_stream(path, **options) as stream:
        return list(stream)


def packed(save: Callable[..., None], **arrays: object) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def npy(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


FILES = {
    "dense.npz": packed(np.savez, X=X, y=Y, weights=np.ones(60)),
    "packed.npz": packed(np.savez_compressed, X=X, y=Y, weights=np.ones(60)),
    "columns.npz": packed(np.savez_compressed, X=np.asfortranarray(X), y=Y),
    "sparse.npz": packed(np.savez, **PARTS, format=b"csr", y=Y),
    "packed-sparse.npz": packed(np.savez_compressed, **PARTS, y=Y),
    "rows.npy": npy(X),
    "big-endian.npy": npy(np.asfortranarray(X.astype(">f4"))),
}


def read(path: Path) -> bytes:
    y = Y if path.suffix == ".npy" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return b"".join(
            np.asarray(part).tobytes()
            for batch in read_all(path, batch_rows=16, **({} if y is None else {"y": y}))
            for part in (
                [batch.rows.indptr, batch.rows.indices, batch.rows.values]
                if hasattr(batch.rows, "indptr")
                else [batch.rows]
            )
            + [batch.targets]
        )


@pytest.mark.parametrize("name", FILES)
def test_every_mutant_is_read_as_it_was_or_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    whole = read(path)
    checked = name.endswith(".npz")  # a .npy file has no checksum
    refused = 0
    for mutant in mutants(FILES[name], 300):
        path.write_bytes(mutant)
        try:
            found = read(path)
        except DataError as error:
            refused += 1
            message = str(error)
            assert str(path) in message
            assert "\n" not in message
        else:
            # What the checksums do not cover are the members' names: y may be gone, or weights.
            assert not checked or len(found) != len(whole) or found == whole
    assert refused > 60


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_flipped_bit_in_a_member_is_found_by_its_checksum(
    tmp_path: Path, save: Callable[..., None]
) -> None:
    path = tmp_path / "d.npz"
    save(path, X=np.arange(6000.0).reshape(1000, 6), y=np.arange(1000.0))
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("X.npy")
    data = bytearray(path.read_bytes())
    data[member.header_offset + member.compress_size - 100] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"d\.npz is not a valid \.npz file: its member X: ") as got:
        read_all(path, batch_rows=64)
    if save is np.savez_compressed:
        assert got.value.__cause__ is not None


def test_objects_are_refused_and_the_member_named(tmp_path: Path) -> None:
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "o.npz", X=X, y=np.array([{}] * 60), allow_pickle=True)
        with pytest.raises(DataError, match="its member y: it holds Python objects"):
            open_stream(tmp_path / "o.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4"])
def test_big_endian_numbers_are_read_right(
    tmp_path: Path, save: Callable[..., None], dtype: str
) -> None:
    values = (X * 100).astype(dtype)
    csr = sparse.csr_array(values.astype("=f8"))
    save(tmp_path / "dense.npz", X=values, y=Y.astype(">f8"))
    save(
        tmp_path / "sparse.npz",
        data=csr.data.astype(dtype),
        indices=csr.indices.astype(">i4"),
        indptr=csr.indptr.astype(">i8"),
        shape=csr.shape,
        y=Y.astype(">i2"),
    )
    dense_rows = np.concatenate([b.rows for b in read_all(tmp_path / "dense.npz", batch_rows=7)])
    assert np.array_equal(dense_rows, values)
    for i, batch in enumerate(read_all(tmp_path / "sparse.npz", batch_rows=7)):
        rows = batch.rows
        part = sparse.csr_array((rows.values, rows.indices, rows.indptr), (len(rows), 6))
        assert np.array_equal(part.toarray(), values[7 * i : 7 * i + 7])
        assert np.array_equal(batch.targets, Y[7 * i : 7 * i + 7])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_header_that_claims_more_than_there_is(tmp_path: Path, save: Callable[..., None]) -> None:
    path = tmp_path / "d.npz"
    save(path, X=X, y=Y)
    header = b"(60, 6), }" + b" " * 20
    claim = b"(600000000000, 6), }" + b" " * 10
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        kind = archive.infolist()[0].compress_type
    assert header in members["X.npy"]
    members["X.npy"] = members["X.npy"].replace(header, claim)
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(DataError, match="its member X: its header speaks of float64 of shape"):
        read_all(path)


def run_with_memory(code: str, *arguments: str, room: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory there is")
@pytest.mark.slow
def test_compressed_arrays_that_do_not_fit_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d.npz"
    np.savez_compressed(path, X=np.zeros((10_000_000, 40)), y=np.zeros(1))
    code = (
        "import sys; from polyak.data.open import open_stream\n"
        "try: open_stream(sys.argv[1])\n"
        "except ValueError as error: print(error)"
    )
    done = run_with_memory(code, str(path), room=3 << 30)
    assert "the member X of" in done.stdout, done.stderr
    assert "would take 3.2 GB of memory" in done.stdout


def test_a_mapped_file_that_becomes_shorter(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros((100_000, 10)))
    size = (tmp_path / "X.npy").stat().st_size
    stream = open_stream(tmp_path / "X.npy")
    next(stream)
    with (tmp_path / "X.npy").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(DataError, match=f"became shorter.* had {size} bytes, and now has 5000"):
        list(stream)

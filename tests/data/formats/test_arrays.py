"""Arrays in memory and in NumPy's files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reading import assert_same, dense, read_all, read_with_positions
from scipy import sparse

from polyak.data.open import open_stream
from polyak.errors import DataError
from polyak.rows.sparse import SparseRows

random = np.random.default_rng(0)
X = np.where(random.random((500, 20)) < 0.3, random.normal(size=(500, 20)), 0)
Y = random.integers(0, 3, 500)


def check(source: object, **options: object) -> None:
    mine, targets = dense(read_all(source, batch_rows=64, **options), 20)
    assert np.array_equal(mine, X)
    assert np.array_equal(targets, Y)


class TestInMemory:
    @pytest.mark.parametrize(
        "kind",
        [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix],
    )
    def test_whatever_they_are_kept_as(self, kind: type) -> None:
        check((kind(X), Y))
        check(kind(X), y=Y)

    def test_rows(self) -> None:
        csr = sparse.csr_matrix(X)
        check((SparseRows(csr.indptr, csr.indices, csr.data, 20), Y))

    def test_types_are_kept_or_as_asked(self) -> None:
        for dtype in (np.float32, np.float64):
            assert read_all(X.astype(dtype))[0].rows.dtype == dtype
            assert read_all(X, dtype=dtype)[0].rows.dtype == dtype
            assert read_all(sparse.csr_matrix(X), dtype=dtype)[0].rows.values.dtype == dtype
        assert read_all(np.eye(3, dtype=np.int8))[0].rows.dtype == np.float64

    def test_lists(self) -> None:
        (batch,) = read_all(([[1, 2], [3, 4]], ["a", "b"], [1, 0.5]))
        assert batch.rows.tolist() == [[1, 2], [3, 4]]
        assert batch.targets.tolist() == ["a", "b"]
        assert batch.weights.tolist() == [1, 0.5]

    def test_targets_need_not_be(self) -> None:
        assert read_all(X)[0].targets is None

    def test_what_it_tells(self) -> None:
        with open_stream((X, Y), batch_rows=200) as stream:
            assert (stream.format, stream.n_features, stream.bytes_total) == ("arrays", 20, None)
            assert [len(batch) for batch in stream] == [200, 200, 100]
            assert stream.rows_read == 500

    def test_going_on(self) -> None:
        batches, positions = read_with_positions((X, Y), batch_rows=64)
        for i, position in enumerate(positions):
            assert_same(batches[i:], read_all((X, Y), batch_rows=64, start=position))

    def test_floats_of_128_bits(self, tmp_path: Path) -> None:
        wide = {"X": X, "y": X[:, 0], "weights": np.ones(500)}
        np.savez(tmp_path / "a.npz", **{n: a.astype(np.longdouble) for n, a in wide.items()})
        (batch,) = read_all(tmp_path / "a.npz")
        for array in (batch.rows, batch.targets, batch.weights):
            assert array.dtype == np.float64

    def test_fingerprint(self) -> None:
        first = open_stream((X, Y)).fingerprint
        assert open_stream((X.copy(), Y)).fingerprint == first
        assert open_stream((X[:-1], Y[:-1])).fingerprint != first
        assert open_stream((X, Y + 1)).fingerprint != first
        changed = X.copy()
        changed[len(X) // 2] += 1
        assert open_stream((changed, Y)).fingerprint != first
        assert open_stream((sparse.csr_matrix(X), Y)).fingerprint != first


class TestRefused:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, bad: float) -> None:
        broken = X.copy()
        broken[321, 5] = bad
        # In dense rows a NaN is a missing value.
        for kind in (sparse.csr_matrix, *([] if np.isnan(bad) else [np.asarray])):
            with pytest.raises(DataError, match="the array, row 321: a value is not finite"):
                read_all(kind(broken))
        with pytest.raises(DataError, match="row 321: the target is not finite"):
            read_all((X, broken[:, 5]))
        with pytest.raises(DataError, match="row 321: the weight is not finite"):
            read_all((X, Y, np.abs(broken[:, 5])))

    def test_large_but_finite(self) -> None:
        large = np.full((10, 10), 3e38, np.float32)
        assert np.array_equal(read_all(large)[0].rows, large)

    def test_negative_weight(self) -> None:
        with pytest.raises(DataError, match="row 2: the weight is negative"):
            read_all((X[:3], Y[:3], [1, 1, -1]))

    def test_lengths(self) -> None:
        with pytest.raises(DataError, match=r"500 rows, but targets of shape \(499,\)"):
            open_stream((X, Y[1:]))

    def test_not_rows(self) -> None:
        for source in (3, np.zeros(3), (X, Y, Y, Y), [["a"]]):
            with pytest.raises(DataError):
                open_stream(source)

    def test_no_rows(self) -> None:
        with pytest.raises(DataError, match="the array has no rows"):
            read_all(X[:0])

    def test_indices_that_lead_astray(self) -> None:
        indptr, ones = np.array([0, 1]), np.ones(1)
        for rows in (
            SparseRows(indptr, np.array([7]), ones, 3),
            SparseRows(indptr, np.array([-1]), ones, 3),
            SparseRows(np.array([0, 5]), np.array([1]), ones, 3),
        ):
            with pytest.raises(DataError):
                read_all(rows)

    def test_more_features_than_given(self) -> None:
        with pytest.raises(DataError, match="20 features, more than the 19 given"):
            open_stream(X, n_features=19)


class TestNumpyFiles:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, ">f8"])
    def test_npy(self, tmp_path: Path, dtype: str) -> None:
        np.save(tmp_path / "X.npy", (X * 100).astype(dtype))
        np.save(tmp_path / "y.npy", Y)
        for targets in ({"y": Y}, {"target": str(tmp_path / "y.npy")}):
            batches = read_all(tmp_path / "X.npy", **targets, batch_rows=33)
            mine, targets = dense(batches, 20)
            assert np.array_equal(mine, (X * 100).astype(dtype))
            assert np.array_equal(targets, Y)

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_npz_dense(self, tmp_path: Path, save) -> None:
        save(tmp_path / "d.npz", X=X, y=Y, weights=np.ones(500))
        check(tmp_path / "d.npz")
        save(tmp_path / "d.npz", y=Y, a=1, X=np.asfortranarray(X))
        check(tmp_path / "d.npz")

    @pytest.mark.parametrize("compressed", [False, True])
    @pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
    def test_npz_sparse(self, tmp_path: Path, kind: type, compressed: bool) -> None:
        sparse.save_npz(tmp_path / "s.npz", kind(X), compressed=compressed)
        check(tmp_path / "s.npz", y=Y)
        csr = sparse.csr_matrix(X)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        np.savez(tmp_path / "t.npz", **parts, shape=csr.shape, y=Y)
        check(tmp_path / "t.npz")

    def test_aligned_and_whole(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "d.npz", odd=np.array([b"x"]), X=X, y=Y)
        for batch in read_all(tmp_path / "d.npz"):
            assert batch.rows.flags.aligned
            assert batch.rows.flags.c_contiguous

    def test_progress_and_going_on(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "d.npz", X=X, y=Y)
        batches, positions = read_with_positions(tmp_path / "d.npz", batch_rows=64)
        for i, position in enumerate(positions):
            with open_stream(tmp_path / "d.npz", start=position, batch_rows=64) as stream:
                assert_same(batches[i:], list(stream))
                assert stream.bytes_read == stream.bytes_total

    def test_not_sound(self, tmp_path: Path) -> None:
        for name in ("a.npy", "a.npz"):
            path = tmp_path / name
            for data in (b"", b"nonsense", b"\x93NUMPY\x01\x00\x76\x00{'descr'"):
                path.write_bytes(data)
                with pytest.raises(DataError, match=rf"{name} is not a valid"):
                    open_stream(path)
        np.savez(tmp_path / "a.npz", X=X, y=Y)
        path.write_bytes(path.read_bytes()[:-3000])
        with pytest.raises(DataError, match=r"a\.npz is not a valid"):
            open_stream(path)
        np.savez(tmp_path / "a.npz", Z=X)
        with pytest.raises(DataError, match="holds Z, but neither X nor a sparse matrix"):
            open_stream(path)
        np.save(tmp_path / "a.npy", np.array([object()]), allow_pickle=True)
        with pytest.raises(DataError, match="Python objects"):
            open_stream(tmp_path / "a.npy")
        np.save(tmp_path / "a.npy", np.zeros(3))
        with pytest.raises(DataError, match="must hold a matrix of numbers"):
            open_stream(tmp_path / "a.npy")

    def test_memory_stays_bounded(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "d.npz", X=np.zeros((200_000, 100)))
        code = (
            "import sys, resource; from polyak.data.open import open_stream\n"
            "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "stream = open_stream(sys.argv[1]); next(stream); before = peak()\n"
            "for batch in stream: pass\n"
            "print(peak() - before)"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "d.npz")]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        unit = 1 if sys.platform == "darwin" else 1024
        assert int(done.stdout) * unit < 60e6

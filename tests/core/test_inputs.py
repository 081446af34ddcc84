"""Any width of number and any layout of rows gives the same model, without a copy of the rows."""

from __future__ import annotations

import resource
import tracemalloc

import numpy as np
import pytest
from problems import distance, make_bank, problem, same_bits, stored
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from polyak.rows.sparse import SparseRows, as_rows

X, Y = problem("squared_hinge", 400, 19)
KB, MB = 2**10, 2**20


def learned(rows, **options):
    bank = make_bank(n_features=19, **options)
    bank.learn(rows, Y)
    return bank


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("indptr", [np.int32, np.int64])
@pytest.mark.parametrize("weights", [np.float32, np.float64])
def test_every_width_of_index_and_value(values, indices, indptr, weights, kernels):
    csr = csr_array(X)
    rows = SparseRows(
        csr.indptr.astype(indptr), csr.indices.astype(indices), csr.data.astype(values), 19
    )
    want = learned(csr, dtype=weights)
    got = learned(rows, dtype=weights)
    # The values are numbers of float32: nothing is lost on the way to either type of weight.
    assert distance(got.coef, want.coef) < (1e-5 if weights == np.float32 else 1e-14)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_other_types_are_converted_in_parts(storage, shuffled, kernels):
    big, y = problem("squared_hinge", 3000, 40)  # several parts of 16,384 values
    order = np.random.default_rng(0).permutation(3000) if shuffled else None
    native = stored(big.astype(np.float32), storage)
    other = stored(big.astype(np.float32).astype(np.float64), storage)
    if storage == "sparse":
        other = SparseRows(other.indptr, other.indices.astype(np.int64), other.data, 40)
    banks = [make_bank(n_features=40, dtype=np.float32) for _ in range(2)]
    for bank, rows in zip(banks, (native, other), strict=True):
        bank.learn(rows, y, order=order)
    assert same_bits(*banks)
    assert np.array_equal(banks[0].decision_function(native), banks[0].decision_function(other))


def test_a_bad_value_among_converted_rows_is_named_by_its_row():
    big, y = problem("squared_hinge", 3000, 40)
    big[2500, 3] = np.nan
    with pytest.raises(ValueError, match="row 2500 has the value nan"):
        make_bank(dtype=np.float32).learn(big.astype(np.float64), y)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, csc_array, coo_array])
def test_every_sparse_matrix_of_scipy(kind):
    assert same_bits(learned(kind(X)), learned(csr_array(X)))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, bool, ">f8", ">f4"])
def test_other_numbers_are_converted(dtype):
    numbers = np.random.default_rng(0).integers(0, 2, size=(400, 19))
    assert same_bits(learned(numbers.astype(dtype)), learned(numbers.astype(float)))
    if np.dtype(dtype).kind != "f":  # scipy knows no other floats than ours
        csr = csr_array(numbers)
        assert same_bits(learned(csr.astype(dtype)), learned(csr.astype(float)))


def test_lists_are_rows():
    assert same_bits(learned(X.tolist()), learned(X))


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_read_only_rows(storage):
    rows = stored(X.copy(), storage)
    parts = (rows.indptr, rows.indices, rows.data) if storage == "sparse" else (rows,)
    y, weights = Y.copy(), np.ones(400)
    for part in (*parts, y, weights):
        part.flags.writeable = False
    bank = make_bank(n_features=19)
    bank.learn(rows, y, weights)
    assert same_bits(bank, learned(stored(X, storage)))


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_memory_mapped_rows(storage, tmp_path):
    def mapped(name, array):
        np.save(tmp_path / name, array)
        return np.load(tmp_path / name, mmap_mode="r")

    if storage == "dense":
        rows = mapped("X.npy", X)
    else:
        csr = csr_array(X)
        parts = [mapped(f"{n}.npy", getattr(csr, n)) for n in ("indptr", "indices", "data")]
        rows = SparseRows(*parts, 19)
    assert same_bits(learned(rows), learned(stored(X, storage)))


def views():
    wide = np.zeros((400, 64))
    wide[:, 5:24] = X
    yield "columns of a wider array", wide[:, 5:24]
    spaced = np.zeros((1200, 19))
    spaced[::3] = X
    yield "every third row", spaced[::3]
    yield "rows upside down", np.ascontiguousarray(X[::-1])[::-1]
    yield "in Fortran's order", np.asfortranarray(X)
    wide = np.zeros((400, 38))
    wide[:, ::2] = X
    yield "every other column", wide[:, ::2]
    raw = np.zeros(X.nbytes + 1, np.uint8)
    shifted = raw[1:].view(np.float64).reshape(X.shape)
    shifted[:] = X
    yield "off the boundaries of its numbers", shifted
    table = np.zeros(400, [("flag", "u1"), ("x", "f8", 19)])
    table["x"] = X
    yield "a field of a packed record", table["x"]


@pytest.mark.parametrize(("name", "view"), list(views()), ids=[name for name, _ in views()])
@pytest.mark.parametrize("precondition", [0.0, 0.5])
def test_views_of_other_arrays(name, view, precondition, kernels):
    assert same_bits(
        learned(view, precondition=precondition), learned(X, precondition=precondition)
    )


def test_sparse_parts_that_are_views():
    csr = csr_array(X)
    spread = [np.repeat(part, 2)[::2] for part in (csr.indptr, csr.indices, csr.data)]
    assert same_bits(learned(SparseRows(*spread, 19)), learned(csr))


def test_features_of_a_row_may_stand_in_any_order(kernels):
    csr = csr_array(X)
    shuffled = csr.copy()
    rng = np.random.default_rng(0)
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        order = begin + rng.permutation(end - begin)
        shuffled.indices[begin:end] = csr.indices[order]
        shuffled.data[begin:end] = csr.data[order]
    for precondition in (0.0, 0.5):
        got = learned(shuffled, precondition=precondition)
        assert distance(got.coef, learned(csr, precondition=precondition).coef) < 1e-12


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_the_core_reads_rows_where_they_stand(storage):
    """No NumPy array of the size of the rows appears while they are learned."""
    big, y = problem("squared_hinge", 4000, 200)
    rows = stored(big, storage)
    bank = make_bank(n_features=200)
    tracemalloc.start()
    try:
        bank.learn(rows, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * KB < big.nbytes / 20


def test_a_view_larger_than_its_memory_stays_small():
    """One row a hundred thousand times over is 800 MB as numbers, and 8 KB in memory."""
    rows = np.broadcast_to(np.ones(2000, np.float32), (100_000, 2000))
    bank = make_bank(dtype=np.float32, n_features=2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bank.learn(rows, np.ones(100_000))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert bank.clock == 100_000
    assert grown * KB < 100 * MB


def test_as_rows_copies_nothing_it_need_not():
    csr = csr_array(X)
    rows = as_rows(csr)
    assert rows.values is csr.data
    assert rows.indices is csr.indices
    assert rows.indptr is csr.indptr
    assert as_rows(X) is X
    assert np.shares_memory(as_rows(X[::2, 3:9]), X)

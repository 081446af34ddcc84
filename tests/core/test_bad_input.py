"""What cannot be learned from is refused by name, and the bank stays as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from problems import RATE, make_bank, problem, same_bits
from scipy.sparse import csr_array

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.rows.sparse import SparseRows

WIDTH = 6
# A long batch is learned as it comes and undone if need be; a short one is looked at first.
SIZES = {"long batch": 500, "short batch": 3}


class Case:
    """A batch in order, in parts to be spoilt."""

    def __init__(self, n_rows: int, storage: str) -> None:
        self.X, self.y = problem("squared_hinge", n_rows, WIDTH, density=0.9, seed=1)
        self.X[-2:] = np.arange(1.0, WIDTH + 1)
        csr = csr_array(self.X)
        self.indptr, self.indices, self.values = csr.indptr, csr.indices, csr.data
        self.n_rows, self.storage = n_rows, storage
        self.weights, self.order = np.ones(n_rows), None
        self.bad = n_rows - 2  # the row to spoil: late, so that much was learned before it

    @property
    def rows(self):
        if self.storage == "dense":
            return self.X
        return SparseRows(self.indptr, self.indices, self.values, WIDTH)

    def put(self, value: float) -> None:
        """Spoil the third value of the bad row."""
        self.X[self.bad, 2] = value
        self.values[self.indptr[self.bad] + 2] = value

    def put_index(self, value: int, at: int = 2) -> None:
        self.indices[self.indptr[self.bad] + at] = value


def refused(case: Case, message: str, **options) -> None:
    bank = make_bank(**{"n_features": WIDTH, "averaging": Averaging(0), **options})
    X, y = problem("squared_hinge", 20, WIDTH)
    bank.learn(X, np.repeat(y[:, None], 3, axis=1) if bank.outputs.any() else y)
    before = pickle.dumps(bank.state())
    with pytest.raises(ValueError, match=message):
        bank.learn(case.rows, case.y, case.weights, order=case.order)
    assert pickle.dumps(bank.state()) == before


@pytest.fixture(params=SIZES)
def size(request):
    return SIZES[request.param]


@pytest.fixture(params=["sparse", "dense"])
def case(request, size):
    return Case(size, request.param)


@pytest.fixture
def sparse(size):
    return Case(size, "sparse")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("precondition", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(case, value, precondition, dtype, kernels):
    case.put(value)
    message = rf"row {case.bad} has the value -?{abs(value)} for feature 2"
    refused(case, message, precondition=precondition, dtype=dtype)


def test_values_of_rows_with_features_that_are_new(sparse, kernels):
    bank = make_bank(n_features=WIDTH, width=2)
    before, value = pickle.dumps(bank.state()), sparse.values[sparse.indptr[sparse.bad] + 2]
    sparse.put(np.nan)
    with pytest.raises(ValueError, match=f"row {sparse.bad} has the value nan for feature 2"):
        bank.learn(sparse.rows, sparse.y)
    assert pickle.dumps(bank.state()) == before
    sparse.put(value)
    bank.learn(sparse.rows, sparse.y)
    roomy = make_bank(n_features=WIDTH)
    roomy.learn(sparse.rows, sparse.y)
    assert same_bits(bank, roomy)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_of_single_precision(case, value, kernels):
    case.put(value)
    case.X, case.values = case.X.astype(np.float32), case.values.astype(np.float32)
    refused(case, rf"row {case.bad} has the value {value} for feature 2", dtype=np.float32)


def test_values_of_rows_that_count_nothing(case):
    """A row of weight zero is not learned, but what is in it must still be a number."""
    case.put(np.nan)
    case.weights[case.bad] = 0.0
    refused(case, f"row {case.bad} has the value nan for feature 2")


def test_values_of_rows_that_the_order_leaves_out(case):
    case.put(np.nan)
    case.order = np.delete(np.arange(case.n_rows), case.bad)
    refused(case, f"row {case.bad} has the value nan for feature 2")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_targets_that_are_no_numbers(case, value):
    case.y[case.bad] = value
    refused(case, f"row {case.bad} has the target {value}")
    refused(case, f"row {case.bad} has the target {value}", loss="squared_error")


@pytest.mark.parametrize("value", [0.0, 2.0, 0.5])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss"])
def test_targets_that_are_no_signs(case, value, loss):
    case.y[case.bad] = value
    refused(case, rf"row {case.bad} has the target {value:g}; .* -1 or \+1", loss=loss)


@pytest.mark.parametrize("value", [np.nan, 0.5, np.inf])
def test_classes_that_are_no_numbers_of_classes(case, value):
    case.y = np.zeros(case.n_rows)
    case.y[case.bad] = value
    refused(case, f"row {case.bad} has the class {value}", one_vs_rest=True)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, -1e-300])
def test_weights(case, value):
    case.weights[case.bad] = value
    refused(case, f"row {case.bad} has the weight {value:g}")


@pytest.mark.parametrize("value", [WIDTH, 2**31 - 1])
def test_indices_out_of_range(sparse, value, kernels):
    sparse.put_index(value, at=5)
    refused(sparse, f"row {sparse.bad} has the feature index {value}, .* only 6 features")


@pytest.mark.parametrize("value", [-1, -(2**31)])
def test_negative_indices(sparse, value, kernels):
    sparse.put_index(value)
    refused(sparse, f"row {sparse.bad} has the negative feature index {value}")
    sparse.put_index(2)
    sparse.put_index(value, at=0)
    refused(sparse, f"row {sparse.bad} has the negative feature index {value}")


def test_indices_of_sixty_four_bits(sparse, kernels):
    sparse.indices = sparse.indices.astype(np.int64)
    for value in (2**62, 2**63 - 1):
        sparse.put_index(value, at=5)
        refused(sparse, f"row {sparse.bad} has the feature index {value}, but .* below 2.31")
    sparse.put_index(-(2**63), at=0)
    refused(sparse, f"row {sparse.bad} has the feature index {-(2**63)}, but .* at least 0")


@pytest.mark.parametrize("at", [1, 3, 5])
def test_repeated_indices(sparse, at, kernels):
    sparse.put_index(0, at=at)
    refused(sparse, f"row {sparse.bad} has the feature index 0 twice")


def test_a_bad_index_next_to_come_is_not_fetched_ahead(kernels):
    """Large stores are fetched a row ahead, which must not reckon with wild addresses."""
    width, n_rows = 80_000, 600_000
    indices = np.arange(n_rows, dtype=np.int32) % width
    indices[-1] = 2**31 - 1
    rows = SparseRows(np.arange(n_rows + 1), indices, np.ones(n_rows), width)
    bank = make_bank(n_features=width)
    with pytest.raises(ValueError, match=f"row {n_rows - 1} has the feature index {2**31 - 1}"):
        bank.learn(rows, np.ones(n_rows))
    assert bank.clock == 0
    assert np.isfinite(bank.decision_function(rows)).all()  # unknown: counts nothing


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (0, -1, "begins with -1"),
        (-1, 10**6, "1000000 at row"),
        (1, 10**6, "at row 0"),
        (-2, 0, "to 0 at"),
    ],
)
@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_broken_indptr(sparse, where, value, message, width):
    sparse.indptr = sparse.indptr.astype(width)
    sparse.indptr[where] = value
    refused(sparse, message)


def test_unlike_lengths(case):
    for name in ("y", "weights"):
        short = Case(case.n_rows, case.storage)
        setattr(short, name, getattr(short, name)[:-1])
        refused(short, f"there are {case.n_rows} rows but {case.n_rows - 1}")
    long = Case(case.n_rows, case.storage)
    long.y = np.append(long.y, 1.0)
    refused(long, f"there are {case.n_rows} rows but {case.n_rows + 1}")


def test_unlike_parts(sparse):
    sparse.values = sparse.values[:-1]
    refused(sparse, "indices and values differ in length")


def test_shapes(case):
    for shape in [(case.n_rows, 1, 1), (case.n_rows, 2, 3)]:
        case.y = np.ones(shape)
        refused(case, "dimension")
    case.y = np.ones(case.n_rows)
    case.weights = np.ones((case.n_rows, 1, 1))
    refused(case, "dimension")
    case.weights = np.ones((case.n_rows, 3))
    refused(case, "1 models but 3 columns of weights")


def test_a_missing_output(case):
    refused(case, "wants output 2 of 1", outputs=[0, 2])


def test_a_negative_output():
    with pytest.raises(ValueError, match="wants output -1"):
        make_bank(outputs=[-1]).learn(np.ones((2, 2)), [1.0, -1.0])


@pytest.mark.parametrize("row", [-1, 10**6])
def test_order(case, row):
    case.order = np.array([0, 1, row])
    refused(case, f"the order asks for row {row} of {case.n_rows}")


@pytest.mark.parametrize("rows", [np.empty((0, WIDTH)), csr_array((0, WIDTH))])
def test_no_rows(rows):
    bank = make_bank()
    with pytest.raises(ValueError, match="no rows"):
        bank.learn(rows, np.empty(0))
    assert bank.clock == 0


@pytest.mark.parametrize("X", [np.ones(6), np.ones((2, 3, 4)), 1.0])
def test_rows_of_other_shapes(X):
    with pytest.raises(ValueError, match="two-dimensional"):
        make_bank().learn(X, [1.0])


def test_rows_of_no_numbers_at_all():
    with pytest.raises(ValueError, match="could not convert"):
        make_bank().learn([["a", "b"]], [1.0])
    with pytest.raises((ValueError, TypeError)):
        make_bank().learn(np.ones((2, 2), complex), [1.0, 1.0])


def test_scores_that_could_not_be_returned():
    """An array of another dtype or layout would be copied, and the caller's never filled."""
    X, y = problem("squared_hinge", 20, WIDTH)
    for room in (np.empty((20, 1), np.float32), np.empty((20, 4))[:, ::4], np.empty((20, 2))):
        with pytest.raises((ValueError, TypeError)):
            make_bank().learn(X, y, scores=room)


def test_a_penalty_too_large_for_the_rate():
    with pytest.raises(ValueError, match=r"alpha = 20.0 and gamma0 = 0.05"):
        make_bank(alpha=20.0, schedule=RATE)
    with pytest.raises(ValueError, match=r"alpha = 20.0 and gamma0 = 0.05"):
        make_bank(alpha=[0.1, 20.0], schedule=RATE)
    make_bank(alpha=20.0, schedule=RATE, step="implicit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be .* not -1"),
        ({"alpha": np.nan}, "alpha must be .* not nan"),
        ({"alpha": [0.1, np.inf]}, "alpha must be .* not inf"),
        ({"loss": "zero_one"}, "no loss called 'zero_one'"),
        ({"step": "sideways"}, "not 'sideways'"),
        ({"dtype": np.float16}, "not float16"),
        ({"precondition": -0.5}, "not -0.5"),
        ({"n_features": -1}, "not -1"),
    ],
)
def test_settings(options, message):
    with pytest.raises(ValueError, match=message):
        make_bank(**options)


@pytest.mark.parametrize(
    "numbers", [(0.0, 0.1, 0.5), (np.nan, 0.1, 0.5), (0.1, -1.0, 0.5), (0.1, 0.1, 2.0)]
)
def test_schedules(numbers):
    with pytest.raises(ValueError, match="must be"):
        Polynomial(*numbers)


@pytest.mark.parametrize("options", [{"start": "later"}, {"start": -1}, {"power": -1.0}])
def test_averages(options):
    with pytest.raises(ValueError, match=r"average|averaging"):
        Averaging(**options)

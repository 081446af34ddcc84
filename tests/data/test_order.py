"""The order of rows: shuffled as far as a buffer reaches, and a word when they come sorted."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from reading import assert_same, read_all, read_with_positions

from polyak.data.open import open_stream
from polyak.errors import DataError
from polyak.rows.labels import sorted_by_class


def numbered(n: int) -> bytes:
    """Row i has the label i and i % 5 features, all of value i."""
    lines = [f"{i} " + " ".join(f"{j + 1}:{i}" for j in range(i % 5)) for i in range(n)]
    return "\n".join(lines).encode()


class TestShuffled:
    @pytest.mark.parametrize("size", [1, 2, 7, 100, 999, 1000, 5000])
    def test_every_row_once_and_whole(self, size: int) -> None:
        batches = read_all(io.BytesIO(numbered(1000)), shuffle_buffer=size, block_bytes=700)
        order = []
        for batch in batches:
            bounds = zip(batch.rows.indptr[:-1], batch.rows.indptr[1:], strict=True)
            for target, (begin, end) in zip(batch.targets, bounds, strict=True):
                assert batch.rows.values[begin:end].tolist() == [target] * int(target % 5)
                assert batch.rows.indices[begin:end].tolist() == list(range(int(target % 5)))
                order.append(int(target))
        assert sorted(order) == list(range(1000))
        assert (order == sorted(order)) == (size == 1)

    def test_far_and_even(self) -> None:
        batches = read_all(io.BytesIO(numbered(10_000)), shuffle_buffer=2000)
        order = np.concatenate([batch.targets for batch in batches])
        moved = np.abs(order - np.arange(10_000))
        assert np.median(moved) > 400
        # Those who stay stay by chance only: half of them each time.
        assert np.mean(moved > 2000) > 0.05

    def test_depends_on_the_seed_only(self) -> None:
        def order(**options: int) -> list[float]:
            batches = read_all(io.BytesIO(numbered(1000)), shuffle_buffer=100, **options)
            return [target for batch in batches for target in batch.targets]

        assert order() == order(threads=4, block_bytes=50) == order(threads=1, block_bytes=999)
        assert order() != order(seed=1)

    def test_going_on(self) -> None:
        options = {"shuffle_buffer": 90, "block_bytes": 500}
        batches, positions = read_with_positions(io.BytesIO(numbered(1000)), **options)
        for i, position in enumerate(positions):
            with open_stream(io.BytesIO(numbered(1000)), start=position, **options) as stream:
                assert_same(batches[i:], list(stream))
                assert stream.rows_read == 1000

    def test_going_on_otherwise_is_refused(self) -> None:
        _, positions = read_with_positions(io.BytesIO(numbered(50)), shuffle_buffer=9)
        for options in {"shuffle_buffer": 8}, {"shuffle_buffer": 9, "seed": 1}, {}:
            with pytest.raises(DataError, match="place to go on from"):
                open_stream(io.BytesIO(numbered(50)), start=positions[1], **options)

    def test_bad_lines_are_counted_to_the_end(self) -> None:
        text = numbered(20) + b"\nbad\n"
        with open_stream(io.BytesIO(text), shuffle_buffer=4, skip_bad_lines=True) as stream:
            assert sum(map(len, stream)) == 20
        assert stream.bad_lines == 1

    def test_dense_rows_with_weights(self) -> None:
        X = np.arange(300.0).reshape(100, 3)
        batches = read_all((X, X[:, 0], X[:, 1]), shuffle_buffer=30, batch_rows=7)
        for batch in batches:
            assert np.array_equal(batch.rows[:, 0], batch.targets)
            assert np.array_equal(batch.rows[:, 1], batch.weights)
        order = np.concatenate([batch.targets for batch in batches])
        assert sorted(order) == X[:, 0].tolist() != order.tolist()

    def test_no_rows(self) -> None:
        with pytest.raises(DataError, match="has no rows but 1 bad lines"):
            read_all(io.BytesIO(b"bad\n"), format="svmlight", shuffle_buffer=4, skip_bad_lines=True)


class TestSortedByClass:
    @pytest.mark.parametrize(
        "targets",
        [
            [1] * 1000,
            [-1] * 700 + [1] * 700,
            np.repeat(np.arange(10), 150),
            ["ham"] * 900 + ["spam"] * 900,
        ],
    )
    def test_sorted(self, targets: object) -> None:
        assert sorted_by_class(targets)

    @pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 0.003])
    def test_random_order_is_never_taken_for_sorted(self, share: float) -> None:
        random = np.random.default_rng(0)
        for _ in range(300):
            targets = random.random(1500) < share
            if targets.any():
                assert not sorted_by_class(targets)

    def test_too_few_to_tell_and_numbers(self) -> None:
        assert not sorted_by_class([0] * 400 + [1] * 400)
        assert not sorted_by_class(np.linspace(0, 1, 2000))


class TestWarning:
    sorted_rows = b"-1 1:1\n" * 3000 + b"1 2:1\n" * 3000

    def test_once(self) -> None:
        with (
            open_stream(io.BytesIO(self.sorted_rows), block_bytes=2000) as stream,
            pytest.warns(UserWarning, match=r"sorted by class.*shuffle_buffer") as caught,
        ):
            list(stream)
        assert len(caught) == 1

    def test_arrays(self) -> None:
        with pytest.warns(UserWarning, match="sorted by class"):
            list(open_stream((np.ones((2000, 1)), np.arange(2000) // 1000)))

    def test_not_when_shuffled_resumed_mixed_or_unwanted(self) -> None:
        mixed = b"-1 1:1\n1 1:1\n1 1:1\n" * 1000
        with open_stream(io.BytesIO(self.sorted_rows), warn_if_sorted=False) as stream:
            list(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            list(open_stream(io.BytesIO(mixed)))
            list(open_stream(io.BytesIO(self.sorted_rows), shuffle_buffer=100))
            list(open_stream(io.BytesIO(self.sorted_rows), warn_if_sorted=False))
            list(open_stream(io.BytesIO(self.sorted_rows), start=stream.position))

"""Converted files: the rows of the source, to the last bit, and the model learned from them."""

from __future__ import annotations

import os
import struct
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyak._core import Rows, SvmlightText, print_svmlight
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.write.convert import convert, open_source
from polyak.errors import DataError
from polyak.learn.recipes import Recipe
from polyak.model.linear import LinearModel
from polyak.training.job import Job
from polyak.training.loop import train


def converted(source: Any, path: Path, **options: Any) -> str:
    with open_stream(source, warn_if_sorted=False, **options) as stream:
        convert(stream, str(path))
    return str(path)


def learned(source: Any, recipe: Recipe | None = None, **reading: Any) -> LinearModel:
    job = Job(
        source=source,
        recipe=recipe or Recipe(loss="squared_hinge", recipe="paper"),
        reading=ReadOptions(**reading),
        order="as-is",
    )
    model = train(job).model
    assert model is not None
    return model


def assert_same_model(model: LinearModel, other: LinearModel, *apart: str) -> None:
    """The same to the last bit, and all that is known about them too, but for the names given."""
    for name in ("weights", "intercept", "sigmoids", "classes"):
        mine, theirs = getattr(model, name), getattr(other, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)
    known = [asdict(m.features) | asdict(m.report) for m in (model, other)]
    plain = [{k: v for k, v in page.items() if k not in apart} for page in known]
    assert plain[0] == plain[1]


def vw_text(weighted: bool, n_rows: int = 1500) -> str:
    random = np.random.default_rng(3)
    lines = []
    for i in range(n_rows):
        words = random.integers(0, 300, 6)
        weight = f" {random.integers(0, 3) / 2}" if weighted and i > 700 else ""
        names = " ".join(f"w{w}:{v:.7g}" for w, v in zip(words, random.normal(size=6), strict=True))
        lines.append(f"{1 if (words < 150).sum() > 2 else -1}{weight} 't{i}|text {names} |b bias")
    return "\n".join(lines)


def svmlight_text(first_id: int, n_rows: int = 1500) -> str:
    random = np.random.default_rng(4)
    lines = []
    for _ in range(n_rows):
        ids = np.unique(random.integers(0, 200, 8))
        values = random.normal(size=len(ids))
        label = round(values[ids < 100].sum(), 3)
        pairs = zip((ids + first_id).tolist(), values.tolist(), strict=True)
        lines.append(f"{label} {' '.join(f'{i}:{v!r}' for i, v in pairs)}")
    return "\n".join(lines)


OUTPUTS = ["npz", "svm"]


class TestTheSameModel:
    @pytest.mark.parametrize("output", OUTPUTS)
    @pytest.mark.parametrize("first_id", [0, 1])
    def test_from_svmlight(self, tmp_path: Path, output: str, first_id: int) -> None:
        source = tmp_path / "rows.svm"
        source.write_text(svmlight_text(first_id))
        path = converted(str(source), tmp_path / f"converted.{output}", block_bytes=9000)
        recipe = Recipe(loss="squared_error", recipe="paper")
        direct = learned(str(source), recipe=recipe)
        apart = [] if output != "svm" else ["first_id"]  # the text we write begins at 1
        assert_same_model(learned(path, recipe=recipe), direct, *apart)

    @pytest.mark.parametrize("output", OUTPUTS)
    @pytest.mark.parametrize("bits", [6, 18])
    def test_from_vw(self, tmp_path: Path, output: str, bits: int) -> None:
        source = tmp_path / "rows.vw"
        source.write_text(vw_text(weighted=False))
        columns = Columns(bits=bits)
        path = converted(str(source), tmp_path / f"converted.{output}", columns=columns)
        direct = learned(str(source), columns=columns)
        assert direct.features.bits == bits
        # svmlight text has no place to say that its ids are hashes.
        apart = [] if output != "svm" else ["first_id", "bits"]
        assert_same_model(learned(path), direct, *apart)

    def test_weights_are_kept(self, tmp_path: Path) -> None:
        source = tmp_path / "rows.vw"
        source.write_text(vw_text(weighted=True))
        # Blocks without any weight come first.
        path = converted(str(source), tmp_path / "converted.npz", block_bytes=5000)
        direct = learned(str(source))
        assert_same_model(learned(path), direct)
        source.write_text(vw_text(weighted=False))
        assert not np.array_equal(learned(str(source)).weights, direct.weights)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_from_a_matrix_with_named_classes(self, tmp_path: Path, dtype: type) -> None:
        X = np.random.default_rng(0).normal(size=(2500, 5)).astype(dtype)
        y = np.array(["a", "bb", "a long name"])[np.argmax(X[:, :3], axis=1)]
        path = converted((X, y), tmp_path / "converted.npz", batch_rows=400)
        assert_same_model(learned(path), learned((X, y)))


def table_text(n_rows: int = 2000) -> str:
    random = np.random.default_rng(5)
    lines = ["id,when,city,code,size,late,kind,weight"]
    for i in range(n_rows):
        city, size = random.choice(["Rome", "NA", "Łódź", "a,b"]), random.normal()
        late = round(size + (city == "Rome"), 4) if i % 40 else ""
        kind = random.choice(["x", "y", "long name"])
        row = f'{i},2013-0{1 + i % 9}-02 1{i % 10}:00,"{city}",00{i % 7},{size!r},{late},{kind}'
        lines.append(f"{row},{random.integers(1, 4)}")
    return "\n".join(lines) + "\n"


class TestTables:
    @pytest.fixture
    def source(self, tmp_path: Path) -> str:
        path = tmp_path / "rows.csv"
        path.write_text(table_text())
        return str(path)

    def columns(self, **more: Any) -> Columns:
        return Columns(target="late", categorical=("code",), drop=("id",), weight="weight", **more)

    @pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
    def test_parquet_has_the_columns(self, tmp_path: Path, source: str, loss: str) -> None:
        columns = self.columns()
        if loss == "log_loss":  # of three classes
            columns = Columns(target="kind", categorical=("code",), drop=("id", "late"))
        path = str(tmp_path / "rows.parquet")
        reading = ReadOptions(columns=Columns(categorical=("code",)))
        with open_source(source, path, reading) as stream:
            convert(stream, path)
        how: dict[str, Any] = {"columns": columns, "recipe": Recipe(loss=loss, recipe="paper")}
        direct, model = learned(source, **how), learned(path, **how)
        assert_same_model(model, direct, "schema")
        # What is read as words is written as words, and the schema knows: 007 is not 7.
        schema = direct.features.schema
        columns = [
            replace(one, stored="string") if one.name == "code" else one for one in schema.columns
        ]
        assert model.features.schema == replace(schema, columns=tuple(columns))

    def test_npz_has_the_features(self, tmp_path: Path, source: str) -> None:
        path, recipe = str(tmp_path / "rows.npz"), Recipe(loss="squared_error", recipe="paper")
        with open_source(source, path, ReadOptions(columns=self.columns())) as stream:
            convert(stream, path)
            assert stream.rows_without_target == 50
        direct = learned(source, columns=self.columns(), recipe=recipe)
        apart = ("schema", "rows_without_target", "names")  # numbers have no names
        assert_same_model(learned(path, recipe=recipe), direct, *apart)

    def test_a_column_that_changes_its_type(self, tmp_path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
        parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
        path = str(tmp_path / "all.parquet")
        with (
            open_source(str(tmp_path / "?.parquet"), path, ReadOptions()) as stream,
            pytest.raises(DataError, match=r"2\.parquet: the column a holds string, but it was"),
        ):
            convert(stream, path)
        assert not os.path.exists(path)


class TestFilesOfRows:
    def test_npz_is_what_scipy_reads(self, tmp_path: Path) -> None:
        from scipy.sparse import load_npz

        source = tmp_path / "rows.svm"
        source.write_text("1 1:0.5 4:2\n-1\n3 2:1\n")
        matrix = load_npz(converted(str(source), tmp_path / "rows.npz"))
        assert matrix.toarray().tolist() == [[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 1, 0, 0]]
        with np.load(tmp_path / "rows.npz") as arrays:
            assert arrays["y"].tolist() == [1, -1, 3]

    def test_the_same_rows_give_the_same_file(self, tmp_path: Path) -> None:
        source = tmp_path / "rows.vw"
        source.write_text(vw_text(weighted=True, n_rows=300))
        one = Path(converted(str(source), tmp_path / "one.npz", block_bytes=3000, threads=1))
        other = Path(converted(str(source), tmp_path / "other.npz", threads=2))
        assert one.read_bytes() == other.read_bytes()


class TestWhatCannotBeWritten:
    def test_weights_and_words_in_svmlight_text(self, tmp_path: Path) -> None:
        X, path = np.eye(3), tmp_path / "rows.svm"
        with pytest.raises(DataError, match=r"no place for the rows' weights; \.npz and"):
            converted((X, np.ones(3), np.array([1, 2, 1])), path)
        with pytest.raises(DataError, match="targets that are numbers, not words"):
            converted((X, np.array(["a", "b", "c"])), path)
        with pytest.raises(DataError, match="targets that are numbers, that the source has none"):
            converted(X, path)
        assert os.listdir(tmp_path) == []

    def test_rows_in_parquet(self, tmp_path: Path) -> None:
        source, path = tmp_path / "rows.svm", str(tmp_path / "rows.parquet")
        source.write_text("1 1:1\n")
        said = r"rows\.svm has no columns, which Parquet needs: svmlight rows are converted"
        with pytest.raises(DataError, match=said):
            open_source(str(source), path, ReadOptions())
        with pytest.raises(DataError, match="has no columns, which Parquet needs"):
            converted(str(source), Path(path))
        assert os.listdir(tmp_path) == ["rows.svm"]

    @pytest.mark.parametrize("output", OUTPUTS)
    def test_what_fails_on_the_way_leaves_what_was_there(self, tmp_path: Path, output: str) -> None:
        source, path = tmp_path / "rows.svm", tmp_path / f"converted.{output}"
        source.write_text("1 1:1\n" * 1000 + "1 1:x\n")
        path.write_text("what was there")
        with pytest.raises(DataError, match="line 1001"):
            converted(str(source), path, block_bytes=600)
        assert path.read_text() == "what was there"
        assert sorted(os.listdir(tmp_path)) == sorted(["rows.svm", path.name])


class TestNumbersInText:
    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=8),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
        st.integers(0, 9),
    )
    def test_they_come_back(self, floats: list, doubles: list, decimals: int) -> None:
        floats = [*floats, *(np.float32(round(x, decimals)) for x in floats)]
        doubles = [*doubles, *(round(x, decimals) for x in doubles)]
        for numbers in (np.array(floats, np.float32), np.array(doubles)):
            numbers = numbers[np.isfinite(numbers)]
            ends = np.array([0, len(numbers)])
            text = print_svmlight(
                Rows(ends, np.arange(len(numbers), dtype=np.int32), numbers), np.array(doubles[:1])
            )
            wide = numbers.dtype == np.float64
            block = SvmlightText(float64=wide, base=1).parse(text)
            assert struct.pack("d", block.targets[0]) == struct.pack("d", doubles[0])
            assert block.values.tobytes() == numbers.tobytes()
            assert block.indices.tolist() == list(range(len(numbers)))

    def test_no_more_digits_than_it_takes(self) -> None:
        values = np.array([[0.1, 2.0, -0.25, 0.000001, 123456.789, 1e-30]], np.float64)
        text = print_svmlight(Rows(None, None, values), np.array([-1.0]))
        assert text == b"-1 1:0.1 2:2 3:-0.25 4:0.000001 5:123456.789 6:1.0000000000000001e-30\n"

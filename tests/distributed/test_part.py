"""The tasks of a distributed run, without any engine: functions of their arguments alone."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_rows import as_text, rows
from scipy import sparse

from polyak import __version__
from polyak.data.options import Columns, ReadOptions
from polyak.distributed import tasks as part
from polyak.distributed.dask.run import run
from polyak.distributed.plan import Shard
from polyak.distributed.run_counts import RunCounts
from polyak.distributed.tasks import How
from polyak.errors import DataError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss
from polyak.model.columns import SourceColumns


def how(**options: Any) -> How:
    recipe = {"loss": "log_loss", "recipe": "auto"}
    for name in Recipe.__slots__:
        if name in options:
            recipe[name] = options.pop(name)
    return How(version=__version__, recipe=Recipe(**recipe), reading=ReadOptions(**options))


def loss(learner: Learner, X: Any, y: Any) -> float:
    return float(get_loss(learner.recipe.loss).value(learner.model().scores(X)[:, 0], y).mean())


def begun(path: str, options: How) -> tuple[bytes, Shard]:
    ((file,), *_) = part.survey(path, options)
    assert file.size is not None
    shard = Shard(file.path, file.size, file.path, 0, file.size)
    one = part.sample(shard, 5000, options)
    assert one.shard is not None
    return part.begin(options, [one]), one.shard


class TestTasks:
    def test_the_same_state_and_piece_give_the_same_bytes(self, files: list[str]) -> None:
        options = how(zero_based=False)
        state, rest = begun(files[0], options)
        assert state == begun(files[0], options)[0]
        learned = part.learn(state, rest, options)
        assert learned == part.learn(state, rest, options)
        smaller = replace(options.reading, block_bytes=1 << 14)
        assert learned == part.learn(state, rest, replace(options, reading=smaller))
        assert part.merge(False, learned, learned, state) == part.merge(
            False, learned, learned, state
        )

    def test_nothing_is_learned_twice_or_left_out(self, files: list[str]) -> None:
        options = how(zero_based=False)
        state, rest = begun(files[0], options)
        for shard in (rest.cut(0.0, 0.3), rest.cut(0.3, 0.8), rest.cut(0.8, 1.0)):
            state = part.learn(state, shard, options)
        assert part.unpacked(state)[0].rows_seen == 30_000

    def test_one_chain_is_one_learner(self, files: list[str]) -> None:
        """Without a race, a chain of shards learns what one pass over the rows does."""
        result = run(files[:1], how(recipe="paper"), chains=1, rounds=1)
        X, y = rows(40_000, 0)
        whole = Learner(Recipe(loss="log_loss", recipe="paper"))
        whole.learn(X[:30_000], y[:30_000])
        test = rows(20_000, 1)
        assert result.learner.rows_seen == 30_000
        assert loss(result.learner, *test) == pytest.approx(loss(whole, *test), rel=2e-3)

    def test_the_head_is_made_of_all_pieces_in_turn(self) -> None:
        """One odd partition neither comes first nor sets the learning rate."""
        X, y = rows(4000, 0)
        odd = how(recipe="paper")
        samples = [part.sample(Shard("odd", 1.0), 500, odd, (30 * X[:500], y[:500], None))]
        samples += [
            part.sample(Shard(str(n), 1.0), 500, odd, (X[some], y[some], None))
            for n, some in enumerate(np.array_split(np.arange(500, 4000), 7))
        ]
        only = part.unpacked(part.begin(odd, samples[:1]))[0].report().winner
        mixed = how(recipe="auto")
        auto = part.unpacked(part.begin(mixed, samples))[0]
        alone = part.unpacked(part.begin(mixed, samples[1:]))[0]
        assert auto.race is not None
        assert alone.race is not None
        lengths = [race.candidates[0].schedule.gamma0 for race in (auto.race, alone.race)]
        assert only.largest_squared_length > 900 * 4
        assert lengths[0] > lengths[1] / 900  # an eighth of the rows, not all of them

    def test_other_versions_are_refused(self, files: list[str]) -> None:
        other = replace(how(), version="0.0.1")
        with pytest.raises(DataError, match=r"this worker has polyak .*started by polyak 0\.0\.1"):
            part.survey(files, other)

    def test_sparse_and_frames_are_partitions_too(self) -> None:
        X, y = rows(3000, 0)
        options = how(n_features=X.shape[1])
        weights = np.random.default_rng(0).integers(1, 3, 3000).astype(float)
        shard = Shard("partition 0", 1.0)
        states = [
            part.begin(options, [part.sample(shard, 3000, options, block)])
            for block in (
                (X, y, weights),
                (sparse.csr_matrix(X), y, weights),
                (pd.DataFrame(X), pd.Series(y), pd.Series(weights)),
            )
        ]
        models = [part.unpacked(state)[0].model() for state in states]
        for model in models[1:]:
            np.testing.assert_allclose(model.weights, models[0].weights, rtol=1e-9)


class TestBadInput:
    def partition(self, *block: Any, **options: Any) -> Any:
        X, y = rows(2000, 0)
        options = {"n_features": X.shape[1]} | options
        head = part.begin(
            how(**options),
            [part.sample(Shard("partition 0", 1.0), 2000, how(**options), (X, y, None))],
        )
        return part.learn(head, Shard("partition 7", 1.0), how(**options), block), head

    def test_an_empty_partition_is_fine(self) -> None:
        learned, head = self.partition(np.zeros((0, 20)), np.zeros(0), None)
        assert part.unpacked(learned)[0].rows_seen == 2000
        merged = part.merge(False, learned, learned, head)
        np.testing.assert_array_equal(
            part.unpacked(merged)[0].model().weights, part.unpacked(head)[0].model().weights
        )

    @pytest.mark.parametrize(
        ("block", "words"),
        [
            ((np.ones((5, 19)), np.ones(5), None), "has 19 features instead of 20"),
            ((np.ones((5, 20)), np.ones(4), None), "has 5 rows, but 4 targets"),
            ((np.ones((5, 20)), np.ones(5), np.ones(6)), "has 5 rows, but 6 weights"),
            ((np.full((5, 20), np.nan), np.ones(5), None), "row 0: a value is missing"),
            (
                (np.ones((5, 20)), np.arange(5.0), None),
                "row 1 of those learned there has the label 0",
            ),
            ((pd.DataFrame([["x"] * 20] * 5), np.ones(5), None), "could not convert"),
        ],
    )
    def test_errors_name_the_partition(self, block: Any, words: str) -> None:
        with pytest.raises(DataError, match=f"partition 7.*{words}"):
            self.partition(*block)

    def test_errors_name_the_file(self, files: list[str], tmp_path: Path) -> None:
        options = how(zero_based=False)
        state, _ = begun(files[0], options)
        bad = tmp_path / "bad.svm"
        bad.write_text("1 1:1\n1 one:1\n")
        with pytest.raises(DataError, match=r"bad\.svm, line 2"):
            part.learn(state, Shard(str(bad), 20, str(bad), 0, 20), options)
        gone = str(tmp_path / "gone.svm")
        with pytest.raises(DataError, match=r"gone\.svm cannot be read"):
            part.learn(state, Shard(gone, 20, gone, 0, 20), options)
        with pytest.raises(DataError, match=r"no file matches .*\*\.nothing"):
            part.survey(str(tmp_path / "*.nothing"), options)

    def test_no_rows_at_all(self, tmp_path: Path) -> None:
        empty = tmp_path / "empty.svm"
        empty.write_text("")
        with pytest.raises(DataError, match="there are no rows to learn from"):
            run([str(empty)], how(), chains=1)

    def test_one_class_only(self) -> None:
        X, _ = rows(500, 0)
        with pytest.raises(DataError, match="all of class 1"):
            part.begin(how(), [part.sample(Shard("p", 1.0), 500, how(), (X, np.ones(500), None))])


class TestRunsInThreads:
    def test_files_of_any_kind(self, files: list[str], tmp_path: Path) -> None:
        """Compressed files cannot be cut, empty ones have nothing, and bad lines are counted."""
        X, y = rows(6000, 5)
        packed = tmp_path / "packed.svm.gz"
        packed.write_bytes(gzip.compress(as_text(X, y).encode()))
        (tmp_path / "empty.svm").write_text("")
        (tmp_path / "bad.svm").write_text("1 1:1\n" + "what\n" * 3 + "-1 2:1\n")
        source = [*files, str(packed), str(tmp_path / "empty.svm"), str(tmp_path / "bad.svm")]
        result = run(source, how(skip_bad_lines=True), chains=3)
        assert result.learner.rows_seen == 46_002
        assert result.run_counts.bad_lines == 3
        assert [line.line for line in result.run_counts.first_bad_lines] == [2, 3, 4]
        assert result.chains == 3

    def test_ids_that_begin_at_zero_in_some_files_only(self, tmp_path: Path) -> None:
        X, y = rows(4000, 0)
        X[:2000, 0] = 0.0
        for name, some in {"a": slice(0, 2000), "b": slice(2000, None)}.items():
            text = "".join(
                f"{t:g} {' '.join(f'{j}:{v:.4g}' for j, v in enumerate(row) if v)}\n"
                for row, t in zip(X[some], y[some], strict=True)
            )
            (tmp_path / f"{name}.svm").write_text(text)
        result = run(str(tmp_path / "*.svm"), how(), chains=2)
        assert result.how.reading.zero_based is True
        assert result.learner.model().n_features == X.shape[1]

    def test_files_of_different_width(self, tmp_path: Path) -> None:
        X, y = rows(24_000, 0)
        (tmp_path / "a.svm").write_text(as_text(X[:12_000, :15], y[:12_000]))
        (tmp_path / "b.svm").write_text(as_text(X[12_000:], y[12_000:]))
        result = run([str(tmp_path / "a.svm"), str(tmp_path / "b.svm")], how(), chains=2)
        assert result.learner.rows_seen == 24_000
        assert result.learner.model().n_features == X.shape[1]

    @pytest.mark.parametrize(
        ("recipe", "chains", "rounds"), [("auto", 2, None), ("paper", 5, None), ("auto", 3, 4)]
    )
    def test_the_loss_is_that_of_one_pass(
        self, files: list[str], recipe: str, chains: int, rounds: int | None
    ) -> None:
        result = run(files, how(recipe=recipe), chains=chains, rounds=rounds)
        assert result.learner.rows_seen == 40_000
        assert result.rounds == (rounds or 1)
        whole = Learner(Recipe(loss="log_loss", recipe=recipe))
        whole.learn(*rows(40_000, 0))
        test = rows(50_000, 1)
        assert loss(result.learner, *test) < 1.005 * loss(whole, *test)

    def test_sorted_parts_are_warned_of(self, tmp_path: Path) -> None:
        X, y = rows(20_000, 0)
        order = np.argsort(y, kind="stable")
        blocks = [(X[some], y[some], None) for some in np.array_split(order, 4)]
        with pytest.warns(UserWarning, match="partition 0 seem to be sorted by class"):
            run(blocks, how(n_features=X.shape[1]), chains=2)


def test_fields_that_only_a_later_file_of_json_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        extra = ', "late": "word"' if name == "b" else ""
        lines = (f'{{"a": {n}, "y": {n % 5}{extra}}}\n' for n in range(1200))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    paths = [str(tmp_path / f"{name}.jsonl") for name in "ab"]
    options = how(loss="squared_error", columns=Columns(target="y"))
    found = part.survey(paths, options)
    assert found.schema is not None
    assert [column.name for column in found.schema.columns] == ["a", "late"]
    assert found.remark == ""
    monkeypatch.setattr(part, "MOST_TO_SEARCH", 1000)
    assert "occurs only in other files is not learned" in part.survey(paths, options).remark


@pytest.mark.parametrize(
    ("recipe", "method", "waits"),
    [
        ({}, "newton", False),
        ({"curves": "all"}, "curves", False),
        ({"curves": "all", "pairs": "auto"}, "curves and pairs", False),
        ({"recipe": "paper"}, "averaged SGD", True),
        ({"recipe": "sgd", "average": False}, "averaged SGD", False),
    ],
)
def test_only_an_average_is_waited_for(recipe: Any, method: str, waits: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.sin(3 * X[:, 0]) if "curves" in method else X[:, 0]
    y = y + (X[:, 1] * X[:, 2] if "pairs" in method else 0) + 0.1 * rng.normal(size=6000)
    columns = SourceColumns.of_array(3)
    learner = Learner(Recipe(loss="squared_error", **recipe), n_features=3, columns=columns)
    learner.learn(X, y)
    assert learner.report().winner.method == method
    rows, begun, _ = part.measure_head(part._packed(learner, RunCounts()))
    assert rows == 6000
    assert (begun != 0.0) == waits

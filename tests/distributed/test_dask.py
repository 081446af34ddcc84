"""Runs on a real cluster: a scheduler and worker processes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from made_rows import as_text, rows
from scipy import sparse

from distributed import Client, LocalCluster, wait
from polyak import ASGDClassifier, ASGDRegressor, __version__
from polyak.data.options import ReadOptions
from polyak.distributed.dask import DaskASGDClassifier, DaskASGDRegressor
from polyak.distributed.dask.cluster import check_workers, connected
from polyak.distributed.dask.run import run
from polyak.distributed.tasks import How
from polyak.errors import ClusterError, DataError
from polyak.learn.recipes import Recipe
from polyak.model.features import FeatureMap
from polyak.training.job import Progress

pytestmark = pytest.mark.slow

SLOWLY = 1 << 11  # so little text at a time that there is a middle to be killed in


def how(**options: Any) -> How:
    recipe = Recipe(loss="log_loss", recipe="auto")
    return How(version=__version__, recipe=recipe, reading=ReadOptions(**options))


def same(some: Any, others: Any) -> bool:
    one, other = some.learner.model(), others.learner.model()
    return bool(
        np.array_equal(one.weights, other.weights)
        and np.array_equal(one.intercept, other.intercept)
        and some.learner.report() == others.learner.report()
    )


def _with_words_in_the_last(block: pd.DataFrame) -> pd.DataFrame:
    return block.assign(age="old") if block.index.max() == 5999 else block


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    return rows(40_000, 0)


class TestEstimators:
    def test_what_cannot_be_solved_as_asked_is_said(self, client: Client) -> None:
        X = np.random.default_rng(0).normal(size=(2000, 1100))
        lazy = da.from_array(X, chunks=(500, 1100))
        counts = da.from_array(np.round(np.exp(X[:, 0])), chunks=500)
        wide = DaskASGDRegressor(loss="poisson", alpha=0.1, random_state=0)
        with pytest.warns(UserWarning, match="too many features to find the optimum with alpha"):
            wide.fit(lazy, counts)

    def test_arrays(self, client: Client, table: tuple[Any, Any]) -> None:
        X, y = table
        labels = np.where(y > 0, "yes", "no")
        lazy = da.from_array(X, chunks=(5000, 7))  # several blocks a row
        classifier = DaskASGDClassifier(random_state=0, loss="log_loss")
        classifier.fit(lazy, da.from_array(labels, chunks=10_000))
        for method in (classifier.predict, classifier.decision_function, classifier.predict_proba):
            with pytest.raises(ValueError, match="offset= is not for Dask collections"):
                method(lazy, offset=lazy[:, 0])
        assert (classifier.chains_, classifier.n_features_in_) == (2, X.shape[1])
        assert classifier.classes_.tolist() == ["no", "yes"]
        assert classifier.t_ == 40_001
        test, truth = rows(20_000, 1)
        predicted = classifier.predict(da.from_array(test, chunks=(3000, -1)))
        assert isinstance(predicted, da.Array)
        assert (predicted.dtype, predicted.shape) == (labels.dtype, (20_000,))
        np.testing.assert_array_equal(predicted.compute(), classifier.predict(test))
        chances = classifier.predict_proba(da.from_array(test, chunks=(3000, -1)))
        assert chances.shape == (20_000, 2)
        np.testing.assert_allclose(chances.compute(), classifier.predict_proba(test))
        alone = ASGDClassifier(random_state=0, loss="log_loss").fit(X, labels)
        score = alone.score(test, np.where(truth > 0, "yes", "no"))
        assert classifier.score(test, np.where(truth > 0, "yes", "no")) > score - 0.005
        assert classifier.progressive_score_ == pytest.approx(alone.progressive_score_, abs=0.01)
        classifier.partial_fit(X[:500], labels[:500])  # and on, without the cluster
        assert classifier.t_ == 40_501

    def test_frames(self, client: Client, table: tuple[Any, Any]) -> None:
        X, _ = table
        names = [f"x{j}" for j in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names).assign(y=X @ np.arange(20))
        lazy = dd.from_pandas(frame, npartitions=8)
        regressor = DaskASGDRegressor(random_state=0).fit(lazy[names], lazy["y"])
        assert regressor.feature_names_in_.tolist() == names
        assert regressor.to_model().features.all_names() == dict(enumerate(names))
        assert regressor.score(frame[names], frame["y"]) > 0.999
        assert 0.9 < regressor.progressive_score_ <= 1.0
        predicted = regressor.predict(lazy[names])
        assert isinstance(predicted, dd.Series)
        back = predicted.compute()
        assert back.index.equals(frame.index)
        np.testing.assert_allclose(back.to_numpy(), regressor.predict(frame[names]))
        assert len(regressor.predict(lazy[names].partitions[0]).compute()) == 5000

    @pytest.mark.parametrize("kind", ["words", "categories", "missing", "missing late"])
    def test_frames_that_need_a_schema(self, client: Client, kind: str) -> None:
        """Words, categories and missing values are encoded as on one machine."""
        random = np.random.default_rng(0)
        frame = pd.DataFrame(
            {"age": random.normal(40, 9, 12_000), "city": random.choice(["oslo", "rome"], 12_000)}
        )
        y = frame["age"] / 9 + 3.0 * (frame["city"] == "rome")
        if kind == "categories":
            frame["city"] = frame["city"].astype("category")
        elif kind.startswith("missing"):
            frame["city"] = (frame["city"] == "rome").astype(float)
            some = slice(11_990, None) if kind == "missing late" else slice(None, None, 7)
            frame.loc[frame.index[some], "age"] = np.nan
        lazy = dd.from_pandas(frame.assign(y=y), npartitions=6)
        lazy = dd.concat([lazy.partitions[0].loc[-1:-1], lazy])  # the first partition has no rows
        X = lazy[["age", "city"]]
        regressor = DaskASGDRegressor(random_state=0).fit(X, lazy["y"])
        alone = ASGDRegressor(random_state=0).fit(frame, y)
        learned, expected = regressor.to_model().features, alone.to_model().features
        assert [(one.name, one.kind) for one in learned.schema.columns] == [
            (one.name, one.kind) for one in expected.schema.columns
        ]
        assert learned.all_names() == expected.all_names()
        assert regressor.feature_names_in_.tolist() == ["age", "city"]
        assert (regressor.n_features_in_, regressor.t_) == (2, 12_001)
        assert regressor.score(frame, y) > alone.score(frame, y) - 0.005
        predicted = regressor.predict(X).compute()
        assert predicted.index.equals(frame.index)
        np.testing.assert_allclose(predicted.to_numpy(), regressor.predict(frame))
        regressor.partial_fit(frame[:500], y[:500])  # and on, without the cluster
        assert regressor.t_ == 12_501

    def test_a_column_that_turns_into_words(self, client: Client) -> None:
        frame = pd.DataFrame({"city": ["oslo", "rome"] * 3000, "age": np.arange(6000.0)})
        lazy = dd.from_pandas(frame, npartitions=3)
        odd = lazy.map_partitions(_with_words_in_the_last, meta=lazy._meta)
        with pytest.raises(DataError, match=r"partition 2: .*column age holds .*was a number"):
            DaskASGDRegressor().fit(odd, lazy["age"])

    def test_several_outputs_and_sparse_blocks(
        self, client: Client, table: tuple[Any, Any]
    ) -> None:
        X, _ = table
        lazy = da.from_array(X, chunks=(5000, -1)).map_blocks(sparse.csr_matrix)
        y = da.from_array(np.stack([X[:, 0], X[:, 1] - X[:, 2]], axis=1), chunks=(5000, -1))
        regressor = DaskASGDRegressor(random_state=0).fit(lazy, y)
        assert regressor.coef_.shape == (2, X.shape[1])
        expected = np.zeros((2, X.shape[1]))
        expected[0, 0], expected[1, 1:3] = 1.0, (1.0, -1.0)
        np.testing.assert_allclose(regressor.coef_, expected, atol=0.05)
        assert regressor.predict(da.from_array(X[:10])).compute().shape == (10, 2)

    def test_several_classes_and_files(self, client: Client, tmp_path: Path) -> None:
        X, _ = rows(9000, 2)
        y = np.argmax(X[:, :3], axis=1)
        paths = []
        for n, some in enumerate(np.array_split(np.arange(9000), 3)):
            paths.append(str(tmp_path / f"{n}.svm"))
            Path(paths[-1]).write_text(as_text(X[some], y[some]))
        classifier = DaskASGDClassifier(random_state=0, intervals=True).fit(paths)
        assert classifier.classes_.tolist() == [0.0, 1.0, 2.0]
        assert classifier.score(X, y) > 0.9
        assert classifier.coef_std_err_.shape == classifier.coef_.shape
        assert classifier.decision_function(da.from_array(X)).compute().shape == (9000, 3)

    def test_hashed_names_are_found_again(self, client: Client, tmp_path: Path) -> None:
        X, y = rows(6000, 3)
        paths = []
        for n, some in enumerate(np.array_split(np.arange(6000), 2)):
            paths.append(str(tmp_path / f"{n}.vw"))
            lines = (
                f"{target:g} | {' '.join(f'x{j}:{value:.5g}' for j, value in enumerate(row))}\n"
                for row, target in zip(X[some].tolist(), y[some].tolist(), strict=True)
            )
            Path(paths[-1]).write_text("".join(lines))
        model = DaskASGDClassifier(random_state=0, loss="log_loss").fit(paths).to_model()
        assert model.features == FeatureMap.hashed(18)
        assert model.report is not None
        assert model.report.engine is not None
        model.save(tmp_path / "m.polyak")
        command = [sys.executable, "-m", "polyak", "predict", str(tmp_path / "m.polyak"), *paths]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        predicted = np.array([float(line) for line in said.split()])
        assert (predicted == y).mean() > 0.8

    def test_what_does_not_fit_together(self, client: Client, table: tuple[Any, Any]) -> None:
        X = da.from_array(table[0], chunks=(10_000, -1))
        y = da.from_array(table[1], chunks=10_000)
        with pytest.raises(ValueError, match="y is required"):
            DaskASGDClassifier().fit(X)
        with pytest.raises(ValueError, match="y must be a Dask collection"):
            DaskASGDClassifier().fit(X, table[1])
        with pytest.raises(ValueError, match="nor file names"):
            DaskASGDClassifier().fit(table[0], table[1])
        with pytest.raises(DataError, match=r"label -1.*not among 0, 1.*"):
            DaskASGDClassifier().fit(X, y, classes=[0, 1])

    def test_a_partition_of_another_width(self, client: Client) -> None:
        from dask import delayed

        X, y = rows(2000, 0)
        parts = [
            da.from_delayed(delayed(X[:, :width]), shape=(2000, 20), dtype=float)
            for width in (20, 20, 19)
        ]
        lazy = da.concatenate(parts)
        with pytest.raises(DataError, match=r"partition 2 has 19 features.*worker tcp://"):
            DaskASGDClassifier().fit(lazy, da.from_array(np.tile(y, 3), chunks=2000))

    def test_partitions_stay_where_they_are(self, client: Client, table: tuple[Any, Any]) -> None:
        """Between workers go states, and the first rows; not the partitions."""
        X, y = (
            da.tile(da.from_array(part, chunks=(5000, -1)[: part.ndim]), (10, 1)[: part.ndim])
            .rechunk(40_000)
            .persist()
            for part in table
        )
        wait([X, y])

        def received(dask_worker: Any) -> int:
            return sum(int(one["total"]) for one in dask_worker.transfer_incoming_log)

        before = sum(client.run(received).values())
        DaskASGDClassifier(random_state=0, recipe="paper").fit(X, y)
        wait([X, y])
        moved = sum(client.run(received).values()) - before
        assert moved < 0.2 * X.nbytes


class TestSameBits:
    def test_the_cluster_and_threads_agree(self, client: Client, files: list[str]) -> None:
        on_cluster = run(files, how(), client=client, chains=3)
        assert on_cluster.progress.share == 1.0
        assert on_cluster.progress.rows == on_cluster.learner.rows_seen == 40_000
        assert same(on_cluster, run(files, how(), chains=3))

    def killed(self, files: list[str], rows_first: int) -> tuple[Any, int]:
        """Run, and kill one of two workers with SIGKILL after this number of rows."""
        kills = 0

        def watch(progress: Progress) -> None:
            nonlocal kills
            if progress.rows >= rows_first and not kills:
                kills += 1
                os.kill(pids[0], signal.SIGKILL)

        with connected(None, 2) as client:
            client.wait_for_workers(2, timeout=60)
            pids = list(client.run(os.getpid).values())
            return run(files, how(block_bytes=SLOWLY), client=client, watch=watch), kills

    def test_a_worker_that_is_killed_leaves_no_trace(self, files: list[str]) -> None:
        expected = run(files, how(block_bytes=SLOWLY), chains=2)
        result, kills = self.killed(files, 20_000)
        assert kills == 1
        assert same(result, expected)


@contextmanager
def third_worker(cluster: LocalCluster, *options: str, **environment: str) -> Iterator[Client]:
    """Start a worker beside the cluster's two; wait until it has left again."""
    start = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    worker = subprocess.Popen(
        [*start, "--no-nanny", "--nthreads", "1", "--no-dashboard", *options],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with Client(cluster) as client:
        try:
            client.wait_for_workers(3, timeout=60)
            yield client
        finally:
            worker.terminate()
            worker.wait(30)
        deadline = time.monotonic() + 30
        while len(client.nthreads()) > 2 and time.monotonic() < deadline:
            time.sleep(0.1)


class TestBadClusters:
    def test_a_worker_of_another_version(self, cluster: LocalCluster, tmp_path: Path) -> None:
        """A real third worker, which finds another version's description first."""
        described = tmp_path / "polyak-9.9.9.dist-info"
        described.mkdir()
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: polyak\nVersion: 9.9.9\n")
        with (
            third_worker(cluster, PYTHONPATH=str(tmp_path)) as client,
            pytest.raises(ClusterError, match=r"worker tcp://.* has polyak 9\.9\.9, but"),
        ):
            check_workers(client)

    def test_workers_of_several_kinds_are_named(
        self, cluster: LocalCluster, tmp_path: Path
    ) -> None:
        """A third worker does as one without this processor's instructions would."""
        older = tmp_path / "older.py"
        older.write_text(
            "from polyak import _core\n"
            "_core.use_kernels('portable')\n"
            "_core.kernels = 'an older build'\n"
        )
        said = r"an older build on \w+: tcp://[\d.:]+[;)].* only on machines of one kind"
        with (
            third_worker(cluster, "--preload", str(older)) as client,
            pytest.warns(UserWarning, match=said),
        ):
            check_workers(client)
        with Client(cluster) as client, warnings.catch_warnings():
            warnings.simplefilter("error")
            check_workers(client)  # the two that are left are alike

    def test_a_scheduler_without_workers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from polyak.distributed.dask import cluster as dask_cluster

        monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
        with (
            LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
            Client(empty, set_as_default=False) as client,
            pytest.raises(ClusterError, match="has no workers"),
        ):
            run(["x.svm"], how(), client=client)

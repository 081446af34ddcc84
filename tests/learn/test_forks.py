"""A forked process has the memory of the one it came from but not its threads, and still learns."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")

SECONDS = 300
"""Far beyond what any of it takes: what hangs, hangs for ever."""

BEGINNING = """
import multiprocessing, os, sys, threading, warnings
import numpy as np
from polyak import ASGDClassifier, open_stream
from polyak.data.options import ReadOptions
from polyak.training.job import Job
from polyak.training.loop import train

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = (X @ np.arange(6) > 0).astype(int)

def fit(seed=0):
    return ASGDClassifier(random_state=seed, n_jobs=3, max_iter=1).fit(X, y).coef_.tolist()

def in_fork(function):
    "Run a function in a forked process, and say what came of it."
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.write(theirs, repr(function()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        said = file.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return eval(said)
"""


def run(code: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_os_fork() -> None:
    run("""
        before = fit()
        assert in_fork(fit) == before
        assert in_fork(lambda: in_fork(fit)) == before
        assert fit() == before
    """)


@pytest.mark.slow
def test_joblib() -> None:
    run("""
        from joblib import Parallel, delayed
        from sklearn.model_selection import cross_val_score
        alone = [fit(seed) for seed in range(4)]
        for backend in ("multiprocessing", "loky", "threading"):
            assert Parallel(n_jobs=2, backend=backend)(delayed(fit)(i) for i in range(4)) == alone
        model = ASGDClassifier(random_state=0)
        several = cross_val_score(model, X, y, n_jobs=2)
        assert several.tolist() == cross_val_score(model, X, y).tolist()
    """)


def svmlight(path: Path, rows: int = 20_000) -> Path:
    path.write_text("".join(f"{i % 2} 1:{i % 7} 2:{i % 5} 3:{i % 2}\n" for i in range(rows)))
    return path


@pytest.mark.slow
def test_after_reading_a_file(tmp_path: Path) -> None:
    run(
        """
        def learn():
            reading = ReadOptions(block_bytes=1 << 14, threads=3)
            job = Job(source=sys.argv[1], reading=reading)
            return train(job).model.weights.tolist()
        before = learn()
        assert in_fork(learn) == before
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.apply(learn) == before
        """,
        svmlight(tmp_path / "rows.svm"),
    )


@pytest.mark.slow
def test_in_the_middle_of_a_file(tmp_path: Path) -> None:
    """What another process reads on is not read twice; who tries is told, and both can end."""
    run(
        """
        for name in sys.argv[1:]:
            stream = open_stream(name, block_bytes=1 << 14, threads=3)
            rows = len(next(stream)) + len(next(stream))

            def go_on():
                try:
                    next(stream)
                except (RuntimeError, ValueError) as error:
                    return str(error)

            assert "opened before a fork" in in_fork(go_on)
            child = os.fork()
            if not child:
                del stream
                sys.exit(0)  # with all that is done at the end
            assert os.waitpid(child, 0)[1] == 0
            assert rows + sum(len(batch) for batch in stream) == 20_000
        """,
        svmlight(tmp_path / "rows.svm"),
        _compressed(svmlight(tmp_path / "more.svm")),
    )


def _compressed(path: Path) -> Path:
    import gzip

    packed = path.with_suffix(".svm.gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    return packed


@pytest.mark.slow
def test_a_model_that_was_being_learned() -> None:
    """What another thread was in the middle of cannot be used, and says so; all else can."""
    run("""
        from polyak.learn.learner import Learner
        from polyak.learn.recipes import Recipe
        learner = Learner(Recipe(loss="log_loss", recipe="auto"))
        learner.learn(X, y)
        other = Learner(Recipe(loss="log_loss", recipe="auto"))
        inside, end = threading.Event(), threading.Event()

        def hold():
            with learner.lock:
                inside.set()
                end.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()

        def ask():
            try:
                learner.model()
            except RuntimeError as error:
                other.learn(X, y)
                return str(error), other.rows_seen
        said, rows = in_fork(ask)
        assert "another thread was learning when this process was forked" in said
        assert rows == 3000
        end.set()
        thread.join()
        assert in_fork(lambda: learner.model().weights.tolist()) == learner.model().weights.tolist()
    """)


@pytest.mark.slow
def test_many_forks_while_others_learn() -> None:
    run("""
        warnings.simplefilter("ignore")  # newer Pythons warn of what is tested here
        over = threading.Event()
        def learn():
            while not over.is_set():
                fit()
        threads = [threading.Thread(target=learn) for _ in range(2)]
        for thread in threads:
            thread.start()
        right = fit()
        for _ in range(5):
            assert in_fork(fit) == right
        over.set()
        for thread in threads:
            thread.join()
    """)

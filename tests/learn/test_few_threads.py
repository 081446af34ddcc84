"""Where the system has no more threads to give, those there are do all the work."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from polyak.data.readahead import ordered_map
from polyak.threads import on_threads

if sys.platform == "linux":
    import resource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")


ROOM = {"any": None, "two": (1 << 30, 3 << 30), "none": (1 << 46, -1)}
"""For how many threads there is room: the stack that each of them asks for, and all there is."""


def polyak(*arguments: object, threads: str) -> None:
    """Run the command with memory limits that leave room for ``threads`` threads."""

    def limit() -> None:
        if (room := ROOM[threads]) is not None:
            resource.setrlimit(resource.RLIMIT_STACK, (room[0], resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_AS, (room[1], resource.RLIM_INFINITY))

    done = subprocess.run(
        [sys.executable, "-m", "polyak", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)


SOURCES = {
    "rows.svm": [f"{i % 2} 1:{i % 7} 2:{i % 5}" for i in range(6000)],
    "rows.vw": [f"{i % 2 * 2 - 1} |a b:{i % 7} c:{i % 5}" for i in range(6000)],
    "rows.svm.gz": [f"{i % 2} 1:{i % 7} 2:{i % 5}" for i in range(6000)],
}


@pytest.mark.parametrize(
    "name",
    [
        "rows.svm.gz",
        pytest.param("rows.svm", marks=pytest.mark.slow),
        pytest.param("rows.vw", marks=pytest.mark.slow),
    ],
)
def test_train(tmp_path: Path, name: str) -> None:
    text = ("\n".join(SOURCES[name]) + "\n").encode()
    source = tmp_path / name
    source.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    models = []
    for threads in ROOM:
        model = tmp_path / f"model-{threads}"
        options = ["--threads", "4", "--block-bytes", "20000"]
        polyak("train", source, "-m", model, *options, threads=threads)
        models.append(model.read_bytes())
    assert models[0] == models[1] == models[2]


def none_to_give(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    started = []
    start = threading.Thread.start

    def may_fail(thread: threading.Thread) -> None:
        if len(started) >= after:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", may_fail)


@pytest.mark.parametrize("after", [0, 1])
def test_any_number_will_do(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    none_to_give(monkeypatch, after)
    assert list(ordered_map(abs, iter(range(-50, 0)), threads=3)) == list(range(50, 0, -1))
    assert on_threads(abs, range(-50, 0), threads=3) == list(range(50, 0, -1))


def test_all_are_done_before_one_fails() -> None:
    done = []

    def work(item: int) -> None:
        if item % 2:
            raise ValueError(f"item {item}")
        done.append(item)

    for _ in range(20):
        done.clear()
        with pytest.raises(ValueError, match=r"item 1$"):
            on_threads(work, range(8), threads=4)
        assert sorted(done) == [0, 2, 4, 6]

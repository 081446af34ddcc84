"""Threads: in order, bounded, and gone when they should be."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from polyak.data.open import open_stream
from polyak.data.readahead import ordered_map


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "polyak-reader"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_in_order(threads: int) -> None:
    def slow(i: int) -> int:
        time.sleep((i * 7 % 5) / 2000)
        return i * i

    assert list(ordered_map(slow, iter(range(100)), threads)) == [i * i for i in range(100)]
    assert not readers()


def test_bounded() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = ordered_map(lambda item: item, items(), 3)
    next(results)
    time.sleep(0.05)
    assert taken <= 1 + 3 + 2
    results.close()
    assert not readers()


@pytest.mark.parametrize("threads", [1, 4])
def test_errors_come_in_their_place(threads: int) -> None:
    def fail(i: int) -> int:
        if i == 7:
            raise ValueError("seven")
        return i

    results = ordered_map(fail, iter(range(100)), threads)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="seven"):
        next(results)
    assert not readers()


def test_errors_of_the_source() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise OSError("gone")

    results = ordered_map(lambda item: item, items(), 3)
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(OSError, match="gone"):
        next(results)


class TestStoppingEarly:
    def test_close(self, text: bytes) -> None:
        with open_stream(io.BytesIO(text), block_bytes=1000, threads=4) as stream:
            next(stream)
            next(stream)
            assert readers()
        assert not readers()
        assert next(stream, None) is None

    def test_forgotten(self, text: bytes) -> None:
        stream = open_stream(io.BytesIO(text), block_bytes=1000)
        next(stream)
        next(stream)
        del stream
        assert not readers()

    def test_shuffled(self, text: bytes, write: Callable[..., str]) -> None:
        with open_stream(write(text), block_bytes=1000, shuffle_buffer=50) as stream:
            next(stream)
        assert not readers()

    def test_while_a_pipe_keeps_silent(self) -> None:
        read, write = os.pipe()
        # More than a pipe holds, so it has to be written while it is read.
        writer = threading.Thread(target=os.write, args=(write, b"1 1:1\n" * 20_000))
        writer.start()
        with os.fdopen(read, "rb", buffering=0) as file:
            stream = open_stream(file, block_bytes=10_000, warn_if_sorted=False)
            for _ in range(12):
                next(stream)
            writer.join(5)
            begin = time.monotonic()
            stream.close()
            assert time.monotonic() - begin < 3
            os.close(write)  # lets the thread that waits come to an end
            for thread in readers():
                thread.join(5)
        assert not readers()

    def run(self, code: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", f"from polyak.data.open import open_stream\n{code}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def test_the_interpreter_ends(self, text: bytes, write: Callable[..., str]) -> None:
        path = write(text)
        process = self.run(
            f"stream = open_stream({path!r}, block_bytes=1000)\nnext(stream); next(stream)"
        )
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (0, b"")

    def test_interrupted(self) -> None:
        process = self.run(
            "with open_stream('-', block_bytes=1000) as stream:\n"
            "    for batch in stream: print('batch', flush=True)"
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1 1:1\n" * 20_000)
        process.stdin.flush()
        assert process.stdout.readline() == b"batch\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode != 0
        assert b"KeyboardInterrupt" in errors
        assert b"Fatal" not in errors

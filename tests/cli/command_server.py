"""A process that has imported what commands need, and becomes each of them in a child of its own.

To start Python and import what commands need takes most of the time of one on a small file, and
the tests run more than a thousand. A test of how a command starts or ends, or of its imports,
starts a new process.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from importlib import import_module
from typing import Any

REQUEST = 1 << 20


class CommandServer:
    """Runs commands; started with the first."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def run(
        self, arguments: list[str], cwd: str, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with nothing as standard input."""
        if self._socket is None:
            self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            words = [sys.executable, __file__, str(other.fileno())]
            subprocess.Popen(words, pass_fds=[other.fileno()], cwd=os.sep)
            other.close()
        with (
            open(os.devnull) as nothing,
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
        ):
            fds = array.array("i", [file.fileno() for file in (nothing, out, err)])
            request = json.dumps([arguments, cwd, dict(os.environ)]).encode()
            self._socket.settimeout(timeout)
            self._socket.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            answer = self._socket.recv(64)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, int(answer), out.read(), err.read())


def serve(connection: socket.socket) -> list[str] | None:
    """Wait for commands; give its arguments to the child that is to become one."""
    while True:
        request, fds, _, _ = socket.recv_fds(connection, REQUEST, 3)
        if not request:
            return None
        child = os.fork()
        if child == 0:
            connection.close()
            return _become(json.loads(request), fds)
        for fd in fds:
            os.close(fd)
        status = os.waitpid(child, 0)[1]
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: Any, fds: list[int]) -> list[str]:
    arguments, cwd, environment = request
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    return list(map(str, arguments))


def run(words: list[str]) -> int:
    """Run a command; return its exit code."""
    from polyak.__main__ import main

    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


PRELOADED = (
    "importlib.metadata",
    "numpy.ma",
    "numpy.random",
    "pandas",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.json",
    "pyarrow.parquet",
    "safetensors.numpy",
    "threadpoolctl",
    "zipfile",
    "polyak.cli.commands.convert",
    "polyak.cli.commands.evaluate",
    "polyak.cli.commands.export",
    "polyak.cli.commands.inspect",
    "polyak.cli.commands.predict",
    "polyak.cli.commands.report",
    "polyak.cli.commands.train",
    "polyak.data.formats.svmlight",
    "polyak.data.formats.tables",
    "polyak.data.formats.vw",
    "polyak.data.tables.reader",
    "polyak.data.tables.text.csv",
    "polyak.data.write.predictions",
    "polyak.learn.learner",
    "polyak.learn.newton.solver",
    "polyak.reporting",
    "polyak.storage.model_file",
    "polyak.training.load_in_memory",
    "polyak.training.loop",
)
"""What commands import sooner or later: a third to nine tenths of the time of a small one."""

if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as commands do before they import NumPy
    for name in PRELOADED:
        import_module(name)
    gc.freeze()
    words = serve(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        code = run(words)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # to take the interpreter down takes as long as many a command

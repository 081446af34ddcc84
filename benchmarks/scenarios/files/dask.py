"""Text files of one gigabyte in all, on one worker and on two: the same job, a core each.

The cluster is started and has imported everything before the clock starts: on a real one it is
there already.
"""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, Target, in_process, speedup
from benchmarks.text_files import train_and_test

ONE, TWO, HALF = "one worker", "two workers", "one worker, half the text"


def contests(name: str, quick: bool) -> list[Contest]:
    megabytes = 180 if quick else 1000
    train, test = map(str, train_and_test(megabytes, "svm"))

    def entry(label: str, workers: int, share: float = 1.0) -> Any:
        return in_process(label, "dask:learn", path=train, test=test, workers=workers, share=share)

    def throughput(result: Result) -> Figures:
        share = 0.5 if result.label == HALF else 1.0
        return {"MB/s": share * megabytes / result.best}

    def lost(results: dict[str, Result]) -> float:
        return results[TWO].best / results[HALF].best - 1.0

    return [
        Contest(
            title=f"Dask, {megabytes} MB of text, a core a worker",
            contestants=[entry(ONE, 1), entry(TWO, 2), entry(HALF, 1, 0.5)],
            reference=ONE,
            cores=2,
            repeats=2 if quick else 5,
            derive=throughput,
            targets=[
                Target("times as fast with two workers", speedup(TWO, ONE), at_least=1.7),
                Target("time lost when data and workers double", lost, at_most=0.05),
            ],
        )
    ]


def learn(path: str, test: str, workers: int, share: float) -> Job:
    import os

    from polyak import __version__
    from polyak.distributed import tasks as part
    from polyak.distributed.dask.cluster import connected
    from polyak.distributed.dask.run import run
    from polyak.distributed.tasks import How
    from polyak.learn.recipes import Recipe

    how = How(version=__version__, recipe=Recipe(loss="squared_hinge", recipe="auto"))
    source = path if share == 1.0 else _cut(path, share)
    context = connected(None, workers)
    client = context.__enter__()
    client.run(part.check_version, how)  # which imports all that a task needs
    results: list[Any] = []

    def cpu() -> float:
        import time

        return time.process_time()

    before = client.run(cpu)

    def work() -> None:
        results.append(run([source], how, client=client))

    def judge() -> dict[str, float]:
        from polyak.data.open import open_stream
        from polyak.model.evaluation import Evaluation

        after = client.run(cpu)
        spent = [after[address] - before[address] for address in before]
        context.__exit__(None, None, None)
        if source != path:
            os.remove(source)
        evaluation = Evaluation(results[0].learner.model())
        with open_stream(test, zero_based=False, warn_if_sorted=False) as stream:
            for batch in stream:
                evaluation.add(batch.rows, batch.targets)
        return {
            "CPU s, all workers": sum(spent),
            "CPU s, busiest": max(spent),
            "rounds": results[0].rounds,
            "test loss": evaluation.report()["loss"],
        }

    return work, judge


def _cut(path: str, share: float) -> str:
    """Copy the first lines of a file."""
    import os
    import shutil
    import tempfile

    from polyak.data.sources.files import Span

    span = Span(path, 0, round(share * os.path.getsize(path)))
    handle, copy = tempfile.mkstemp(suffix=".svm")
    with open(path, "rb") as file, os.fdopen(handle, "wb") as out:
        left = span.last
        while left and (block := file.read(min(left, 1 << 24))):
            out.write(block)
            left -= len(block)
    shutil.copystat(path, copy)
    return copy

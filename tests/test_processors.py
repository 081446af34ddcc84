"""How many processors there are for this process, and who keeps to it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from polyak import ASGDClassifier
from polyak.learn.race import race
from polyak.processors import number_of_threads, processors, quota


def cgroups(root: Path, files: dict[str, str], own: str) -> float | None:
    for name, text in files.items():
        path = root / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "own").write_text(own)
    return quota(str(root / "cgroup"), str(root / "own"))


V1 = "11:memory:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/a\n"
CASES: dict[str, tuple[dict[str, str], str, float | None]] = {
    "version 2, in a container": ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
    "version 2, no limit": ({"cpu.max": "max 100000\n"}, "0::/\n", None),
    "version 2, of a group above": (
        {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n", "a/b/c/cpu.max": "8 1\n"},
        "0::/a/b/c\n",
        2.0,
    ),
    "version 2 beside version 1": (
        {"unified/a/cpu.max": "50000 100000\n"},
        "4:cpu:/\n0::/a\n",
        0.5,
    ),
    "version 1": (
        {"cpu/a/b/cpu.cfs_quota_us": "300000\n", "cpu/a/b/cpu.cfs_period_us": "100000\n"},
        V1,
        3.0,
    ),
    "version 1, under both names": (
        {
            "cpu,cpuacct/a/b/cpu.cfs_quota_us": "25000\n",
            "cpu,cpuacct/a/b/cpu.cfs_period_us": "50000\n",
        },
        V1,
        0.5,
    ),
    "version 1, seen from within a container": (
        {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        "4:cpu:/docker/1234\n",
        1.0,
    ),
    "version 1, no limit": (
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
        "4:cpu:/\n",
        None,
    ),
    "nonsense": ({"cpu.max": "much\n"}, "0::/\n\nwhat\n4:cpu\n", None),
    "nothing": ({}, "", None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_control_groups_grant(tmp_path: Path, case: str) -> None:
    files, own, granted = CASES[case]
    assert cgroups(tmp_path, files, own) == granted


def test_a_system_without_control_groups(tmp_path: Path) -> None:
    assert quota(str(tmp_path), str(tmp_path / "absent")) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not tied here")
def test_a_process_tied_to_one_processor() -> None:
    code = """
        import os, threading
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
        import numpy as np
        from polyak import ASGDClassifier
        from polyak.distributed.dask.work import Work
        from polyak.processors import number_of_threads, processors
        assert processors() == number_of_threads(None) == Work(None, print).threads == 1
        X = np.random.default_rng(0).normal(size=(2000, 3))
        ASGDClassifier(max_iter=1).fit(X, X[:, 0] > 0)
        assert threading.active_count() == 1, threading.enumerate()
        ASGDClassifier(max_iter=1, n_jobs=3).fit(X, X[:, 0] > 0)
        assert threading.active_count() == 3, threading.enumerate()
    """
    import textwrap

    run = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("jobs", [1, 2, 3, -1])
def test_n_jobs_is_the_number_of_threads(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def on_threads(function: object, items: object, threads: int) -> object:
        asked.append(threads)
        return real(function, items, threads)

    real = race.on_threads
    monkeypatch.setattr(race, "on_threads", on_threads)
    X = np.random.default_rng(0).normal(size=(2000, 3))
    fitted = ASGDClassifier(max_iter=1, n_jobs=jobs, random_state=0).fit(X, X[:, 0] > 0)
    assert set(asked) == {processors() if jobs == -1 else jobs}
    other = ASGDClassifier(max_iter=1, random_state=0).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(fitted.coef_, other.coef_)


def test_no_threads_at_all_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 3))
    with pytest.raises(ValueError, match="n_jobs"):
        ASGDClassifier(n_jobs=0).fit(X, X[:, 0] > 0)
    assert threading.active_count() >= 1
    assert number_of_threads(0) == 0

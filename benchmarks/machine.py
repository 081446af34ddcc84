"""The machine and the versions of a run."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.runner import ROOT

PACKAGES = ("polyak", "numpy", "scipy", "scikit-learn", "vowpalwabbit", "liblinear-official")


def describe() -> dict[str, object]:
    """Return the machine, the versions and the commit."""
    return {
        "machine": {
            "processor": _processor(),
            "architecture": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "system": f"{platform.system()} {platform.release()}",
        },
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in PACKAGES},
        "commit": _commit(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    if not any(line.startswith("model name") for line in lines):  # as on ARM, which has numbers
        lines = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.lower().startswith("model n")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None

"""The same rows in other formats: speed in MB/s of the equivalent text."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.cache import cached
from benchmarks.contestant import Job
from benchmarks.runner import ROOT, Contest, Contestant, Figures, Result, job
from benchmarks.scenarios.files.commands import MODELS, files, train_ours, train_vw

OURS = "ours, gz"


def contests(name: str, quick: bool) -> list[Contest]:
    megabytes = 40 if quick else 180
    train, _ = files(megabytes)
    subprocess.run(job("formats:make_files", train=str(train)), check=True, cwd=ROOT)
    size = train.stat().st_size / 1e6

    def throughput(result: Result) -> Figures:
        return {"MB/s of text": size / result.best}

    def beside(suffix: str) -> Path:
        return train.with_name(train.stem + suffix)

    ours = {
        "ours, text": train,
        OURS: beside(".svm.gz"),
        "ours, npz": beside(".npz"),
    }
    return [
        Contest(
            title=f"other containers to model, {size:.0f} MB of text, two cores",
            contestants=[
                *(Contestant(k, train_ours(f, MODELS / "formats.polyak")) for k, f in ours.items()),
                Contestant("Vowpal Wabbit, gz", train_vw(beside(".vw.gz"), MODELS / "formats.vw")),
                Contestant("gzip -dc", ("sh", "-c", f"gzip -dc {beside('.svm.gz')} > /dev/null")),
            ],
            reference=OURS,
            cores=2,
            repeats=2 if quick else 5,
            derive=throughput,
        )
    ]


def make_files(train: str) -> Job:
    """Write the rows of an svmlight file as gz, as npz, and VW's form as gz."""
    import gzip

    import numpy as np
    from scipy.sparse import save_npz
    from sklearn.datasets import load_svmlight_file

    text = Path(train)

    def compress(source: Path, path: Path) -> None:
        with source.open("rb") as plain, gzip.open(path, "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)

    def arrays(path: Path) -> None:
        X, y = load_svmlight_file(train, dtype=np.float32, zero_based=False)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        save_npz(path, X, compressed=False)
        with np.load(path) as parts:
            np.savez(path, **parts, y=y)

    def work() -> None:
        cached(f"{text.stem}.svm.gz", lambda path: compress(text, path))
        cached(f"{text.stem}.vw.gz", lambda path: compress(text.with_suffix(".vw"), path))
        cached(f"{text.stem}.npz", arrays)

    return work, dict

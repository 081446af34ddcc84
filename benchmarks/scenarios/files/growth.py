"""Memory stays constant and time grows linearly with the rows on a pipe."""

from __future__ import annotations

from benchmarks.runner import Contest, Contestant, Figures, Result, Target
from benchmarks.scenarios.files.commands import MODELS, files, train_ours

BASE = 10  # megabytes


def contests(name: str, quick: bool) -> list[Contest]:
    train, _ = files(BASE)
    learn = " ".join(train_ours("-", MODELS / "growth.polyak"))
    times = {f"{n}× rows": n for n in ((1, 10) if quick else (1, 10, 100, 1000))}
    # By 100 MB every buffer of the pipeline has been filled once, by 1 GB in every order.
    flat = [
        Target(
            f"peak memory at {much} over that at {less}",
            lambda results, n=n: results[f"{10 * n}× rows"].peak_mb / results[f"{n}× rows"].peak_mb,
            at_most=1.1,
        )
        for n, less, much in ((10, "100 MB", "1 GB"), (100, "1 GB", "10 GB"))
    ]

    def rate(result: Result) -> Figures:
        return {"MB/s": BASE * times[result.label] / result.best}

    return [
        Contest(
            title=f"growth: {BASE} MB of svmlight text on a pipe, again and again, two cores",
            contestants=[
                Contestant(
                    label, ("sh", "-c", f"for i in $(seq {n}); do cat {train}; done | {learn}")
                )
                for label, n in times.items()
            ],
            reference="1× rows",
            cores=2,
            repeats=2,
            derive=rate,
            targets=[] if quick else flat,
        )
    ]

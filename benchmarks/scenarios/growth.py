"""Memory stays flat and time grows in proportion as the rows on a pipe become more."""

from __future__ import annotations

from benchmarks.runner import Contest, Contestant, Figures, Result, Target
from benchmarks.scenarios.commands import MODELS, files, train_ours

BASE = 10  # megabytes


def contests(name: str, quick: bool) -> list[Contest]:
    train, _ = files(BASE)
    learn = " ".join(train_ours("-", MODELS / "growth.polyak"))
    times = {f"{n}× rows": n for n in ((1, 10) if quick else (1, 10, 100))}
    # Held against 100 MB: by then every buffer of the pipeline has been filled once.
    flat = Target(
        "peak memory at 1 GB over that at 100 MB",
        lambda results: results["100× rows"].peak_mb / results["10× rows"].peak_mb,
        at_most=1.1,
    )

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
            targets=[] if quick else [flat],
        )
    ]

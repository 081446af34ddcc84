"""``python -m benchmarks [--quick] [scenario …]``: run, print, and store the results as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

from rich.console import Console

from benchmarks import machine, runner, table
from benchmarks.scenarios import NAMES, QUICK, module_of

LATEST = runner.ROOT / "benchmarks" / "results" / "latest.json"


def main() -> None:
    """Run the scenarios given on the command line, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="smaller and fewer: two minutes")
    parser.add_argument("--repeats", type=int, help="how often each contestant runs")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(NAMES)
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    # A pipe has no width; the default of eighty columns would wrap every label.
    console = Console(width=None if sys.stdout.isatty() else 150)
    record = {"date": time.strftime("%Y-%m-%d %H:%M:%S"), **machine.describe(), "scenarios": {}}
    kind = record["machine"]
    console.print(
        f"{kind['processor']} ({kind['architecture']}), {kind['cores']} cores, "
        f"{record['date']}, commit {record['commit']}\n",
        highlight=False,
    )
    for name in options.scenarios or (QUICK if options.quick else NAMES):
        contests = []
        for contest in import_module(module_of(name)).contests(name, options.quick):
            if options.repeats:
                contest = replace(contest, repeats=options.repeats)
            with console.status("", refresh_per_second=1) as status:
                results = runner.run(contest, status.update)
            table.show(contest, results, console)
            contests.append(_as_json(contest, results))
        record["scenarios"][name] = contests
        # Written after each scenario, so that an interrupted run keeps its results.
        LATEST.parent.mkdir(exist_ok=True)
        LATEST.write_text(json.dumps(_without_nan(record), indent=1))


def _without_nan(value: Any) -> Any:
    """Replace NaN by None: NaN is not JSON."""
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_nan(entry) for entry in value]
    return None if value != value else value


def _as_json(contest: runner.Contest, results: runner.Results) -> dict[str, object]:
    return {
        "title": contest.title,
        "cores": contest.cores,
        "results": [asdict(r) | {"best": r.best, "median": r.median} for r in results.values()],
        "targets": [
            {
                "promise": target.promise,
                "value": (value := target.value(results)),
                "at_least": target.at_least,
                "at_most": target.at_most,
                "kept": target.kept(value),
            }
            for target in contest.targets
        ],
    }


if __name__ == "__main__":
    main()

"""Learn a table in one pass, print the model with intervals, and write a report page.

python examples/demo.py
python examples/demo.py --folder build/demo --rows 200000
"""

from __future__ import annotations

import argparse
import csv
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

CITIES = {"Lisbon": 360, "Faro": 240, "Porto": 180, "Braga": 30, "Coimbra": 0}
KINDS = {"house": 150, "flat": 0, "studio": -60}


def write_rents(path: Path, rows: int) -> None:
    """Write a table of rents: words and numbers, with missing values."""
    rng = np.random.default_rng(0)
    city, kind = rng.choice(list(CITIES), rows), rng.choice(list(KINDS), rows)
    area, built = rng.gamma(6.0, 13.0, rows), rng.integers(1900, 2024, rows)
    rooms = np.maximum(1, np.round(area / 25 + rng.normal(size=rows)))
    rent = 300 + 8 * area + 0.8 * (built - 1950) + 90 * rng.normal(size=rows)
    rent += [CITIES[c] + KINDS[k] for c, k in zip(city, kind, strict=True)]
    areas = np.where(rng.random(rows) < 0.05, "", np.char.mod("%.0f", area))
    years = np.where(rng.random(rows) < 0.1, "n/a", np.char.mod("%d", built))
    whole = [np.char.mod("%.0f", column) for column in (rooms, rent)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["city", "kind", "area", "rooms", "built", "rent"])
        writer.writerows(zip(city, kind, areas, whole[0], years, whole[1], strict=True))


def polyak(title: str, *words: str) -> None:
    """Print a title and a command, and run it."""
    print(f"\n== {title}\n\n$ polyak {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "polyak", *words], check=True)


def main() -> None:
    """Write a table, learn it, print the model and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/demo"))
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    table, model, page = (str(options.folder / f"rents.{end}") for end in ("csv", "polyak", "html"))

    write_rents(Path(table), options.rows)
    print("== A generated table: words and numbers, some of them missing\n")
    print(f"$ head -4 {table}")
    with open(table, encoding="utf-8") as file:
        print("".join(next(file) for _ in range(4)).rstrip())
    polyak(
        f"Learn its {options.rows:,} rows in one pass: how columns are read, and the result",
        *("train", table, "--target", "rent", "--intervals", "--model", model, "--report", page),
    )
    polyak("The model: each weight with its standard error and interval", "inspect", model)
    print(f"\n== The report\n\nOpen {page} in a browser.")


if __name__ == "__main__":
    main()

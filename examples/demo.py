"""What polyak does with a table: learn it in one pass, show what it found, write a page about it.

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
    """Write a table of rents: words and numbers, some of them missing."""
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


def polyak(*words: str) -> None:
    """Show a command, and run it."""
    print(f"\n$ polyak {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "polyak", *words], check=True)


def main() -> None:
    """Write a table, learn it, and show the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/demo"))
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    table, model, page = (str(options.folder / f"rents.{end}") for end in ("csv", "polyak", "html"))

    write_rents(Path(table), options.rows)
    with open(table, encoding="utf-8") as file:
        print(f"{table}: {options.rows:,} rows of words and numbers, some of them missing\n")
        print("".join(next(file) for _ in range(4)).rstrip())
    polyak("train", table, "--target", "rent", "--intervals", "--model", model)
    polyak("inspect", model)
    polyak("report", model, "--output", page)
    print(f"\nOpen {page} in a browser.")


if __name__ == "__main__":
    main()

"""Click prediction: a table of names, hashed while it is read, with two columns crossed.

Generates a CSV of page views: where, which advertisement, on what device, at what hour, clicked or
not. Sites and advertisements are names, too many to list, so they are hashed; an advertisement
works on some sites and not on others, so the two columns are crossed.

    python examples/click_through.py
    python examples/click_through.py --rows 5000000

Needs pyarrow: pip install 'polyak[tables]'.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SITES, ADS = 100, 20
DEVICES = np.array(["phone", "desktop", "tablet"])


def write_views(path: Path, rows: int) -> float:
    """Write generated page views to a CSV; return the log loss of the true probabilities."""
    rng = np.random.default_rng(0)
    taste = rng.normal(scale=0.7, size=(SITES, ADS))  # the interaction of site and ad
    appeal = rng.normal(scale=0.5, size=SITES)[:, None] + rng.normal(scale=0.5, size=ADS)
    device_bias = np.array([0.3, -0.2, 0.0])
    loss = 0.0
    with path.open("w") as file:
        file.write("site,ad,device,hour,clicked\n")
        for begin in range(0, rows, 100_000):
            n = min(100_000, rows - begin)
            site, ad = rng.integers(SITES, size=n), rng.integers(ADS, size=n)
            device, hour = rng.integers(3, size=n), rng.integers(24, size=n)
            score = appeal[site, ad] + taste[site, ad] + device_bias[device] + (hour > 17) - 3
            clicked = rng.random(n) < 1 / (1 + np.exp(-score))
            loss += np.logaddexp(0, np.where(clicked, -score, score)).sum()
            columns = zip(site, ad, DEVICES[device], hour, clicked.astype(int), strict=True)
            file.writelines(f"site{s}.example,ad-{a},{d},{h},{c}\n" for s, a, d, h, c in columns)
    return loss / rows


def polyak(*words: str) -> Any:
    """Run a command and return its JSON output."""
    command = [sys.executable, "-m", "polyak", *words, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main() -> None:
    """Learn with and without the cross."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        views, model = Path(folder) / "views.csv", str(Path(folder) / "views.polyak")
        best = write_views(views, options.rows)
        print(views.read_text()[:150].rsplit("\n", 1)[0], "\n...")
        train = ["train", str(views), "--target", "clicked", "--loss", "log_loss"]
        train += ["--categorical", "hour", "--model", model]
        plain = polyak(*train)
        crossed = polyak(*train, "--interact", "site:ad", "--bits", "20")
        print(f"{options.rows:,} views, each read once")
        print(f"progressive log loss, columns alone   {plain['recent']['loss']:.4f}")
        print(f"with site and ad crossed              {crossed['recent']['loss']:.4f}")
        print(f"of the true probabilities             {best:.4f}")
        print("\nthe largest weights:")
        for entry in polyak("inspect", model, "--top", "5")["heaviest"]:
            print(f"  {entry['weight']:+.3f}  {entry.get('name', entry['feature'])}")


if __name__ == "__main__":
    main()

"""Claims of car insurances: polyak beside glum, EBM and LightGBM on the same rows.

Uses insurance.parquet (freMTPL2: 678,013 policies) from the folder POLYAK_DATA; it is in the source
archive of glum. Peers that are not installed are left out. Each runs in processes of its own,
from the Parquet file of the training rows to predictions of the others.

    POLYAK_DATA=/path/to/data python examples/insurance_claims.py
    POLYAK_DATA=/path/to/data python examples/insurance_claims.py --rows 700000    # all of them
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

NUMBERS = ["VehPower", "VehAge", "DrivAge", "BonusMalus", "Density"]
KINDS = ["Area", "VehBrand", "VehGas", "Region"]
HERE = os.path.abspath(__file__)
TRAIN = (
    *("-m", "polyak", "train", "train.parquet", "--target", "ClaimNb", "--exposure", "Exposure"),
    *("--loss", "poisson", "-q", "--model", "m.polyak"),
)
PREDICT = ("-m", "polyak", "predict", "m.polyak", "test.parquet", "-o", "predicted.parquet")
PEERS = {"glum": "glum", "EBM": "interpret", "LightGBM": "lightgbm"}
RUNS = {
    "constant": [(HERE, "--step", "constant")],
    "polyak, linear": [TRAIN, PREDICT],
    "polyak, curves": [(*TRAIN, "--curves"), PREDICT],
    "polyak, curves and pairs": [(*TRAIN, "--curves", "--pairs"), PREDICT],
} | {peer: [(HERE, "--step", peer)] for peer in PEERS}


def split(file: Path, rows: int) -> None:
    """Write the training rows and the test rows, 80 to 20."""
    import pandas as pd

    policies = pd.read_parquet(file)[["ClaimNb", "Exposure", *NUMBERS, *KINDS]]
    policies = policies.sample(frac=1, random_state=0)[:rows]
    cut = int(0.8 * len(policies))
    policies[:cut].to_parquet("train.parquet", index=False)
    policies[cut:].to_parquet("test.parquet", index=False)
    print(f"{cut:,} policies learned, {len(policies) - cut:,} predicted\n")


def fit(peer: str) -> None:
    """Learn the claims per year with one of the peers, and predict those of the test rows."""
    import pandas as pd

    train, test = pd.read_parquet("train.parquet"), pd.read_parquet("test.parquet")
    rows = pd.concat([train, test])[NUMBERS + KINDS].astype(dict.fromkeys(KINDS, "category"))
    if peer == "constant":
        from sklearn.dummy import DummyRegressor

        model = DummyRegressor()
    elif peer == "glum":
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(family="poisson", alpha=1e-4)
    elif peer == "EBM":
        from interpret.glassbox import ExplainableBoostingRegressor

        model = ExplainableBoostingRegressor(objective="poisson_deviance", n_jobs=1, random_state=0)
    else:
        from lightgbm import LGBMRegressor

        model = LGBMRegressor(
            objective="poisson", n_estimators=300, learning_rate=0.05, verbose=-1, random_state=0
        )
    rate, years = train["ClaimNb"] / train["Exposure"], train["Exposure"]
    model.fit(rows[: len(train)], rate, sample_weight=years)
    predicted = model.predict(rows[len(train) :])
    pd.DataFrame({"prediction": predicted}).to_parquet("predicted.parquet")


def deviance() -> None:
    """Print the mean Poisson deviance of claims per year, weighted by exposure."""
    import pandas as pd
    from sklearn.metrics import mean_poisson_deviance

    test, rate = pd.read_parquet("test.parquet"), pd.read_parquet("predicted.parquet")["prediction"]
    years = test["Exposure"]
    print(mean_poisson_deviance(test["ClaimNb"] / years, rate, sample_weight=years))


def measured(command: tuple[str, ...]) -> float:
    """Run a command to its end; return its peak memory in megabytes.

    A new process counts the memory of the one that started it, so this one has no data.
    """
    started = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(started.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024


def main() -> None:
    """Run all that are installed, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="the number of policies")
    parser.add_argument("--without", nargs="*", default=[], help="peers to leave out")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    file = Path(os.environ.get("POLYAK_DATA", "")).resolve() / "insurance.parquet"
    if not file.is_file():
        sys.exit("set POLYAK_DATA to the folder that holds insurance.parquet")
    if options.step == "split":
        split(file, options.rows)
    elif options.step == "deviance":
        deviance()
    elif options.step:
        fit(options.step)
    if options.step:
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        step = [sys.executable, HERE, "--step"]
        subprocess.run([*step, "split", "--rows", str(options.rows)], check=True)
        print(f"{'':<26}{'deviance':>9}{'seconds':>9}{'MB':>7}")
        for name, commands in RUNS.items():
            if name in PEERS and (name in options.without or find_spec(PEERS[name]) is None):
                print(f"{name:<26}  left out")
                continue
            began = time.perf_counter()
            most = max(measured(command) for command in commands)
            seconds = time.perf_counter() - began
            found = subprocess.run([*step, "deviance"], check=True, capture_output=True).stdout
            print(f"{name:<26}{float(found):>9.5f}{seconds:>9.1f}{most:>7.0f}", flush=True)
        os.chdir(file.parent)


if __name__ == "__main__":
    main()

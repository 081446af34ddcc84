"""Arrival delays of flights: regression with confidence intervals.

Uses nycflights13.csv.gz (336,776 flights that left New York in 2013) from the folder POLYAK_DATA.

    POLYAK_DATA=/path/to/data python examples/flight_delays.py
    POLYAK_DATA=/path/to/data python examples/flight_delays.py --rows 400000    # all of them
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyak import ASGDRegressor

NUMBERS = ["dep_delay", "distance", "hour"]
KINDS = ["carrier", "origin"]


def main() -> None:
    """Learn the delay at arrival from what is known at departure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000, help="the number of flights to learn")
    options = parser.parse_args()
    file = Path(os.environ.get("POLYAK_DATA", "")) / "nycflights13.csv.gz"
    if not file.is_file():
        sys.exit("set POLYAK_DATA to the folder that holds nycflights13.csv.gz")

    flights = pd.read_csv(file).dropna(subset=["arr_delay", *NUMBERS])
    flights = flights.sample(frac=1, random_state=0)  # the file is sorted by date
    train, test = flights[: options.rows], flights[-20_000:]

    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), NUMBERS),
            (OneHotEncoder(handle_unknown="ignore", min_frequency=50), KINDS),
        ),
        ASGDRegressor(intervals=True, random_state=0),
    ).fit(train, train["arr_delay"])

    print(f"R² on {len(test):,} other flights: {model.score(test, test['arr_delay']):.3f}")
    learned = model[-1]
    low, high = learned.coef_interval(level=0.95)
    names = model[0].get_feature_names_out()
    print("\nminutes later at arrival, and the 95% interval:")
    for j in np.argsort(-np.abs(learned.coef_))[:12]:
        sure = "" if low[j] * high[j] > 0 else "   includes zero"
        name = names[j].split("__")[1]
        print(f"  {name:<14} {learned.coef_[j]:+7.2f}   {low[j]:+7.2f} to {high[j]:+7.2f}{sure}")

    rows = model[0].transform(test[:3])
    low, high = learned.predict_interval(rows)
    print("\nthe mean delay of flights like these, with 95% confidence:")
    for mean, a, b in zip(learned.predict(rows), low, high, strict=True):
        print(f"  {mean:+6.1f} minutes, {a:+6.1f} to {b:+6.1f}")


if __name__ == "__main__":
    main()

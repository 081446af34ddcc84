"""Learning on a cluster: workers learn the rows they hold, and their states are merged.

Starts a cluster of two workers within this process; with --scheduler it uses yours.

    python examples/dask_cluster.py
    python examples/dask_cluster.py --rows 20000000 --scheduler tcp://scheduler:8786

Needs Dask: pip install 'polyak[dask]'.
"""

from __future__ import annotations

import argparse

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client

from polyak import ASGDClassifier
from polyak.distributed.dask import DaskASGDClassifier


def draw(block: int, rows: int) -> np.ndarray:
    """Generate rows of twenty features, the label last; it runs on the workers."""
    rng = np.random.default_rng(block)
    X = rng.normal(size=(rows, 20)).astype(np.float32)
    truth = np.linspace(-1, 1, 20)
    return np.column_stack([X, X @ truth + rng.logistic(size=rows) > 0]).astype(np.float32)


def main() -> None:
    """Learn on the cluster, and compare with one process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--scheduler", help="the address of an existing cluster")
    options = parser.parse_args()
    each = options.rows // options.blocks

    here = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with Client(**({"address": options.scheduler} if options.scheduler else here)) as client:
        blocks = [
            da.from_delayed(dask.delayed(draw)(i, each), (each, 21), np.float32)
            for i in range(options.blocks)
        ]
        table = da.concatenate(blocks)
        X, y = table[:, :20], table[:, 20].astype(int)
        model = DaskASGDClassifier(loss="log_loss", random_state=0, client=client)
        model.fit(X, y, classes=[0, 1])
        together = model.predict(X[:each]).compute()

    rows = np.concatenate([draw(i, each) for i in range(options.blocks)])
    alone = ASGDClassifier(loss="log_loss", random_state=0, max_iter=1)
    alone.fit(rows[:, :20], rows[:, 20].astype(int))

    test = draw(10**6, 50_000)
    truth = test[:, :20] @ np.linspace(-1, 1, 20) > 0
    print(f"{options.rows:,} rows in {options.blocks} blocks on the cluster")
    print(f"accuracy of the cluster's model   {model.score(test[:, :20], test[:, 20]):.4f}")
    print(f"of one process on all rows        {alone.score(test[:, :20], test[:, 20]):.4f}")
    print(f"of the true weights               {np.mean(truth == test[:, 20]):.4f}")
    print(f"predictions are lazy: {len(together):,} of them computed on the workers")


if __name__ == "__main__":
    main()

"""Linear probes: wide dense rows of several classes, beside scikit-learn's LogisticRegression.

The quality is the log-loss on held-out rows over that of the best C of a decade grid, which is
chosen on these very rows, of fits that have converged; means over orders of the training rows. The
time is that of one `fit` over one fit of LogisticRegression at its defaults, on two cores.

Embeddings are activations of a network of two hidden layers, trained on the first 10,000 rows of
mnist in one pass; those of its second layer for the rows after them are learned.
"""

from __future__ import annotations

import gzip
import math
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cache import cached
from benchmarks.contestant import Job
from benchmarks.runner import REPEAT, Contest, Figures, Result, Target, in_process

BATCH, OURS = "best of LogisticRegression", "ours"
ONCE = "LogisticRegression()"
SIZES = {"digits": (1347,), "mnist": (2_000, 10_000), "embeddings": (500, 2_000, 20_000)}
SHAPES = ((2_000, 1_024, 10), (20_000, 1_024, 10), (50_000, 768, 100))
TEST_ROWS = 10_000
NETWORK_ROWS, NETWORK_WIDTH = 10_000, 1_024


def contests(name: str, quick: bool) -> list[Contest]:
    sizes = {"digits": SIZES["digits"]}
    if "POLYAK_DATA" in os.environ:
        sizes = SIZES
    else:
        print("probes: only digits, because POLYAK_DATA does not name the folder of mnist")
    quality = [_quality(data, rows) for data, several in sizes.items() for rows in several]
    if quick:
        return [*quality[:1], _time(*SHAPES[0])]
    return quality + [_time(*shape) for shape in SHAPES]


def _quality(data: str, rows: int) -> Contest:
    optimum: list[float] = []

    def against_batch(result: Result) -> Figures:
        # Batch comes first, since the other is evaluated relative to its loss.
        if result.label == BATCH:
            optimum.append(result.figures["test loss"])
        return {"loss / batch": result.figures["test loss"] / optimum[0]} if optimum else {}

    return Contest(
        title=f"a probe of {data}, {rows:,} rows, means of five orders",
        contestants=[
            replace(in_process(BATCH, "probes:batch", data=data, rows=rows), once=True),
            in_process(OURS, "probes:ours", data=data, rows=rows, seed=REPEAT),
        ],
        reference=BATCH,
        repeats=5,
        derive=against_batch,
        targets=[
            Target(
                "loss over that of the best C",
                lambda results: results[OURS].figures.get("loss / batch", math.nan),
                at_most=1.01,
            )
        ],
    )


def _time(rows: int, width: int, classes: int) -> Contest:
    size = {"rows": rows, "width": width, "classes": classes}
    return Contest(
        title=f"the time of a probe, {rows:,} × {width:,}, {classes} classes, two cores",
        contestants=[
            in_process(ONCE, "probes:fit", **size, peer=True),
            in_process(OURS, "probes:fit", **size, peer=False),
        ],
        reference=ONCE,
        cores=2,
        repeats=3,
        targets=[
            Target(
                "of the time of one LogisticRegression()",
                lambda results: results[OURS].best / results[ONCE].best,
                at_most=0.5,
            )
        ],
    )


# -- jobs ------------------------------------------------------------------------------------------


def _mnist(part: str) -> tuple[Any, Any]:
    import numpy as np

    folder = Path(os.environ["POLYAK_DATA"]) / "mnist"
    files = [next(folder.glob(f"{part}-{what}*")) for what in ("images", "labels")]
    pixels, labels = (np.frombuffer(gzip.decompress(f.read_bytes()), np.uint8) for f in files)
    return pixels[16:].reshape(-1, 784) / np.float32(255.0), labels[8:].astype(np.int64)


def _write_embeddings(path: Path) -> None:
    import numpy as np
    import torch

    torch.manual_seed(0)
    X, y = _mnist("train")
    hidden = torch.nn.Sequential(
        torch.nn.Linear(784, NETWORK_WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(NETWORK_WIDTH, NETWORK_WIDTH),
        torch.nn.ReLU(),
    )
    network = torch.nn.Sequential(hidden, torch.nn.Linear(NETWORK_WIDTH, 10))
    optimizer = torch.optim.Adam(network.parameters())
    for begin in range(0, NETWORK_ROWS, 100):
        some = slice(begin, begin + 100)
        optimizer.zero_grad()
        scores = network(torch.from_numpy(X[some]))
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(y[some])).backward()
        optimizer.step()
    after = slice(NETWORK_ROWS, NETWORK_ROWS + max(SIZES["embeddings"]))
    X_test, y_test = _mnist("t10k")
    with torch.no_grad():
        learned, held = (hidden(torch.from_numpy(part)).numpy() for part in (X[after], X_test))
    np.savez(path, X=learned, y=y[after], X_test=held, y_test=y_test)


def _rows(data: str, rows: int) -> tuple[Any, Any, Any, Any]:
    import numpy as np

    if data == "embeddings":
        name = f"mnist-{NETWORK_ROWS}-{NETWORK_WIDTH}.npz"
        with np.load(cached(name, _write_embeddings)) as parts:
            X, y, X_test, y_test = (parts[name] for name in ("X", "y", "X_test", "y_test"))
    elif data == "mnist":
        (X, y), (X_test, y_test) = _mnist("train"), _mnist("t10k")
    else:
        from sklearn.datasets import load_digits

        pixels, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(labels))
        X, y = pixels[order] / 16, labels[order]
        X_test, y_test = X[rows:], y[rows:]
    return X[:rows], y[:rows], X_test[:TEST_ROWS], y_test[:TEST_ROWS]


def _figures(model: Any, X: Any, y: Any) -> Figures:
    from sklearn.metrics import log_loss

    return {
        "test loss": float(log_loss(y, model.predict_proba(X))),
        "accuracy": float(model.score(X, y)),
    }


def batch(data: str, rows: int) -> Job:
    """Fit from a small C to larger ones until the loss on held-out rows rises."""
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = _rows(data, rows)
    tried: list[Figures] = []

    def work() -> None:
        for power in range(-4, 5):
            model = LogisticRegression(C=10.0**power, max_iter=5000).fit(X, y)
            tried.append(_figures(model, X_test, y_test) | {"C": 10.0**power})
            if len(tried) > 1 and tried[-1]["test loss"] > tried[-2]["test loss"]:
                return

    def judge() -> Figures:
        return min(tried, key=lambda one: one["test loss"]) | {"scale": 1 / len(tried)}

    return work, judge


def ours(data: str, rows: int, seed: str) -> Job:
    import numpy as np

    from polyak import ASGDClassifier

    X, y, X_test, y_test = _rows(data, rows)
    order = np.random.default_rng(int(seed)).permutation(len(y))
    X, y = X[order], y[order]
    model = ASGDClassifier(shuffle=False)
    return lambda: model.fit(X, y), lambda: _figures(model, X_test, y_test)


def generated(rows: int, width: int, classes: int) -> tuple[Any, Any]:
    """Draw rows whose variances fall as those of embeddings do, in no particular direction."""
    import numpy as np

    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(width, width)))[0].astype(np.float32)
    X = rng.standard_normal((rows, width), dtype=np.float32)
    X *= np.arange(1, width + 1, dtype=np.float32) ** -0.5
    X = X @ axes
    scores = X @ rng.normal(size=(width, classes)).astype(np.float32)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def fit(rows: int, width: int, classes: int, peer: bool) -> Job:
    from sklearn.linear_model import LogisticRegression

    from polyak import ASGDClassifier

    warnings.simplefilter("ignore")  # a hundred iterations are not enough to converge
    X, y = generated(rows, width, classes)
    model = LogisticRegression() if peer else ASGDClassifier(random_state=0)
    ASGDClassifier(random_state=0).fit(X[:1000], y[:1000])
    return lambda: model.fit(X, y).coef_, dict

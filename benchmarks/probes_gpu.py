"""Linear probes on a GPU: times of fits, and losses beside a sweep of batch fits.

``python -m benchmarks.probes_gpu`` needs torch and a CUDA device, and prints a table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from polyak import ASGDClassifier

TEST_ROWS = 50_000
SWEEP = (1e-7, 1e-6, 1e-5, 1e-4)
"""Penalties of the mean loss."""


def drawn(
    rows: int, width: int, classes: int, *, separation: float = 0.15, seed: int = 0
) -> tuple[Any, Any]:
    """Return rows of normal classes whose variances fall as embeddings' do, and their classes."""
    torch.manual_seed(seed)
    scale = torch.arange(1, width + 1, device="cuda") ** -0.5
    centres = separation * torch.randn(classes, width, device="cuda") * scale
    turn = torch.linalg.qr(torch.randn(width, width, device="cuda"))[0]
    labels = torch.randint(0, classes, (rows,), device="cuda")
    found = torch.empty(rows, width, device="cuda")
    for begin in range(0, rows, 1 << 16):
        some = slice(begin, begin + (1 << 16))
        own = labels[some]
        noise = torch.randn(len(own), width, device="cuda") * scale
        found[some] = (centres[own] + noise) @ turn
    return found, labels


def swept(X: Any, y: Any, XT: Any, yT: Any, classes: int) -> tuple[float, float]:
    """Return the lowest test loss of batch fits by L-BFGS, and the seconds of all of them."""
    began, best = time.perf_counter(), np.inf
    mean, spread = X.mean(0), X.std(0)
    for penalty in SWEEP:
        W = torch.zeros(X.shape[1] + 1, classes, device="cuda", requires_grad=True)
        steps = torch.optim.LBFGS([W], max_iter=100, history_size=10, line_search_fn="strong_wolfe")

        def closure(W: Any = W, steps: Any = steps, penalty: float = penalty) -> Any:
            steps.zero_grad()
            total = 0.5 * penalty * (W[:-1] ** 2).sum()
            total.backward()
            for begin in range(0, len(X), 1 << 16):
                some = slice(begin, begin + (1 << 16))
                rows = (X[some] - mean) / spread
                lost = torch.nn.functional.cross_entropy(
                    rows @ W[:-1] + W[-1], y[some], reduction="sum"
                ) / len(X)
                lost.backward()
                total = total.detach() + lost.detach()
            return total

        steps.step(closure)
        with torch.no_grad():
            scores = (XT - mean) / spread @ W[:-1] + W[-1]
            best = min(best, float(torch.nn.functional.cross_entropy(scores, yT)))
    torch.cuda.synchronize()
    return best, time.perf_counter() - began


def timed(fit: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Return the result of the last of several runs, and the seconds of the fastest."""
    seconds = []
    for _ in range(runs):
        torch.cuda.synchronize()
        began = time.perf_counter()
        found = fit()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return found, min(seconds)


def test_loss(model: Any, XT: Any, yT: Any) -> float:
    """Return the mean log-loss."""
    chances = model.predict_proba(XT)[np.arange(len(yT)), yT.cpu().numpy()]
    return float(-np.log(np.clip(chances, 1e-12, None)).mean())


def classes_line(rows: int, width: int, classes: int) -> None:
    """Fit classes, and print time and loss beside the sweep's."""
    X, y = drawn(rows + TEST_ROWS, width, classes)
    X, XT, y, yT = X[:rows], X[rows:], y[:rows], y[rows:]

    def fit() -> Any:
        model = ASGDClassifier(loss="log_loss", random_state=0, shuffle=False).fit(X, y)
        _ = model.coef_  # the last solution is found where it is first asked for
        return model

    model, seconds = timed(fit)
    lost = test_loss(model, XT, yT)
    best, of_sweep = swept(X, y, XT, yT, classes)
    print(
        f"{rows:,} x {width} x {classes}: {seconds:.2f} s, loss {lost:.4f}, {lost / best:.4f} of "
        f"the sweep's {best:.4f} in {of_sweep:.1f} s, {model.method_}, recent "
        f"{model.recent_loss_:.4f}",
        flush=True,
    )

    def stream() -> Any:
        model = ASGDClassifier(loss="log_loss", random_state=0)
        known = np.arange(classes)
        for begin in range(0, rows, 1 << 14):
            some = slice(begin, begin + (1 << 14))
            model.partial_fit(X[some], y[some], classes=known)
        _ = model.coef_
        return model

    model, seconds = timed(stream, runs=2)
    lost = test_loss(model, XT, yT)
    print(
        f"  streamed: {seconds:.2f} s, loss {lost:.4f}, {lost / best:.4f} of the sweep's",
        flush=True,
    )


def labels_line(rows: int, width: int, labels: int) -> None:
    """Fit many binary probes on the same bfloat16 rows, and print the time."""
    torch.manual_seed(1)
    X = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)
    truth = torch.randn(width, labels, device="cuda", dtype=torch.bfloat16) / width**0.5
    noise = torch.randn(rows, labels, device="cuda")
    Y = ((X @ truth).float() + noise > 0).to(torch.int8)

    def fit() -> Any:
        model = ASGDClassifier(loss="log_loss", random_state=0, shuffle=False).fit(X, Y)
        _ = model.coef_
        return model

    model, seconds = timed(fit, runs=2)
    print(
        f"{rows:,} x {width} bfloat16, {labels} labels: {seconds:.2f} s, loss per label "
        f"{model.recent_loss_ / labels:.4f}, {model.method_}",
        flush=True,
    )


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = True
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    classes_line(400_000, 768, 100)
    classes_line(1_280_000, 1024, 1000)
    labels_line(1_000_000, 4096, 100)

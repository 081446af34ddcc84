"""Which layer of a network knows the classes? One linear probe per layer, fed while it runs.

A network is trained on scikit-learn's digits to tell whether a digit is odd. Then images that it
has not seen pass through it once, with noise and in batches, and a probe of each layer learns from
the activations which digit it was. No activation is stored: every probe holds at most 256 MB of
rows, and learns on from batches after that.

    python examples/probe_layers.py
    python examples/probe_layers.py --batches 2000    # half a million rows
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from torch import nn

from polyak import ASGDClassifier

BATCH, WIDTH, TEST_ROWS, NOISE = 256, 320, 400, 0.15


def trained(pixels: torch.Tensor, digits: torch.Tensor) -> nn.Sequential:
    """Return a network of three hidden layers that tells odd digits from even ones."""
    torch.manual_seed(0)
    network = nn.Sequential(
        *(nn.Linear(64, WIDTH), nn.ReLU()),
        *(nn.Linear(WIDTH, WIDTH), nn.ReLU()),
        *(nn.Linear(WIDTH, WIDTH), nn.ReLU()),
        nn.Linear(WIDTH, 2),
    )
    optimizer = torch.optim.Adam(network.parameters())
    for _ in range(60):
        for some in torch.randperm(len(pixels)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(pixels[some]), digits[some] % 2).backward()
            optimizer.step()
    return network


def activations(network: nn.Sequential, pixels: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the activations of every hidden layer for a batch of images."""
    found: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        for layer in network[:-1]:
            pixels = layer(pixels)
            if isinstance(layer, nn.ReLU):
                found[f"layer {len(found) + 1}"] = pixels
    return found


def main() -> None:
    """Feed the probes batch by batch, and print what each of them knows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=20, help=f"of {BATCH} images each")
    options = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    pixels, digits = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(y)))
    test, rest = order[:TEST_ROWS], order[TEST_ROWS:]
    network = trained(pixels[rest], digits[rest])

    probes: dict[str, ASGDClassifier] = {}
    for _ in range(options.batches):
        some = rest[torch.randint(len(rest), (BATCH,))]
        noisy = pixels[some] + NOISE * torch.randn(BATCH, 64)
        for layer, rows in activations(network, noisy).items():
            probe = probes.setdefault(layer, ASGDClassifier())
            probe.partial_fit(rows, digits[some], classes=np.arange(10))

    print(f"{options.batches * BATCH:,} images, a digit each, in a network that knows odd and even")
    print(f"{'':8} {'log-loss':>9} {'accuracy':>9} {'penalty':>9}")
    truth = digits[test].numpy()
    for layer, rows in activations(network, pixels[test]).items():
        probe = probes[layer]
        lost = log_loss(truth, probe.predict_proba(rows), labels=np.arange(10))
        penalty = probe.to_model().report.winner.penalty
        print(f"{layer:8} {lost:9.3f} {probe.score(rows, truth):9.3f} {penalty:9.3g}")


if __name__ == "__main__":
    main()

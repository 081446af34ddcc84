"""What the stand-ins are drawn from: one small class for each kind of set.

Each decides its rules from one random generator when it is made, and then draws any number of
blocks from others. Targets come from a linear score with noise: for Gaussian scores, a noise
that leaves the correlation ``cos(π e)`` makes the best linear rule err on the share ``e`` of rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Block = tuple[NDArray[Any], NDArray[np.float64]]


class Generator(Protocol):
    """Draws blocks of rows in a compact form, and finishes all of them together."""

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""

    def finish(self, rows: NDArray[Any]) -> Any:
        """Return rows in the form that learners read."""


class Factors:
    """Correlated Gaussian features: noise of equal strength plus a few shared factors.

    Factor ``k`` has a variance proportional to 1/k; together they make a third of the variance.
    """

    N_FACTORS = 32
    SHARE = 1 / 3

    def __init__(
        self, rng: np.random.Generator, n_features: int, error: float, unit: bool = False
    ) -> None:
        self.unit = unit
        self.n = n_features
        weights = 1 / np.arange(1, self.N_FACTORS + 1)
        weights *= self.SHARE * n_features / weights.sum()
        directions = np.linalg.qr(rng.normal(size=(n_features, self.N_FACTORS)))[0].T
        self.loadings = (np.sqrt(weights)[:, None] * directions).astype(np.float32)
        truth = rng.normal(size=n_features)
        variance = (1 - self.SHARE) * truth @ truth + np.sum((self.loadings @ truth) ** 2)
        self.truth = (truth / np.sqrt(variance)).astype(np.float32)
        self.signal = np.cos(np.pi * error)

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""
        X = rng.standard_normal((n_rows, self.n), np.float32)
        X *= np.float32(np.sqrt(1 - self.SHARE))
        X += rng.standard_normal((n_rows, self.N_FACTORS), np.float32) @ self.loadings
        y = self.targets(X, rng)
        return (unit_rows(X) if self.unit else X), y

    def targets(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Take the sign of a noisy linear score."""
        return noisy_signs(X @ self.truth, self.signal, 0.0, rng)

    def finish(self, rows: NDArray[Any]) -> Any:
        """Leave dense rows as they are."""
        return rows


class Product(Factors):
    """Two classes that no plane separates: the sign of a product of two linear scores."""

    def __init__(self, rng: np.random.Generator, n_features: int) -> None:
        super().__init__(rng, n_features, error=0.0, unit=True)
        other = rng.normal(size=n_features)
        self.other = (other - (other @ self.truth) / (self.truth @ self.truth) * self.truth).astype(
            np.float32
        )

    def targets(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Take the sign of the product."""
        return np.where((X @ self.truth > 0) == (X @ self.other > 0), 1.0, -1.0)


class Pictures:
    """Grey pictures of unit length: smooth random fields, squashed to bytes, with a little grain.

    The target is a noisy linear function of the field, so of the pixels nearly so. All pixels are
    positive: rows share most of their length, which makes the problem badly conditioned, as real
    pictures do.
    """

    COARSE = 8
    GRAIN = 8.0

    def __init__(
        self, rng: np.random.Generator, side: int, contrast: float, positive: float, error: float
    ) -> None:
        from scipy.special import ndtri

        place = (np.arange(side) + 0.5) * self.COARSE / side - 0.5
        distance = np.abs(place[:, None] - np.arange(self.COARSE))
        smooth = np.exp(-(distance**2))
        field = np.kron(smooth, smooth).T
        self.field = (field / np.sqrt((field**2).sum(axis=0))).astype(np.float32)
        truth = rng.normal(size=self.COARSE**2)
        self.truth = (truth / np.linalg.norm(truth)).astype(np.float32)
        self.contrast = np.float32(contrast)
        self.signal = np.cos(np.pi * error)
        self.threshold = -float(ndtri(positive))

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""
        coarse = rng.standard_normal((n_rows, len(self.truth)), np.float32)
        y = noisy_signs(coarse @ self.truth, self.signal, self.threshold, rng)
        pixels = coarse @ self.field
        pixels *= -self.contrast
        np.exp(pixels, out=pixels)
        pixels += 1
        np.divide(np.float32(255), pixels, out=pixels)
        pixels += np.float32(self.GRAIN) * rng.standard_normal(pixels.shape, np.float32)
        np.clip(np.rint(pixels, out=pixels), 0, 255, out=pixels)
        return unit_rows(pixels), y

    def finish(self, rows: NDArray[Any]) -> Any:
        """Leave dense rows as they are."""
        return rows


class Letters:
    """Words of the letters A, C, G and T, one feature for each letter at each place.

    Letters are independent of each other. In the few positive words they are drawn unevenly, the
    more so the nearer to the middle: the log-odds of the class are linear in the features.
    """

    TILT, WIDTH = 1.5, 12.0

    def __init__(self, rng: np.random.Generator, length: int, positive: float) -> None:
        self.length, self.positive = length, positive
        middle = np.abs(np.arange(length) - length / 2 + 0.5)
        tilt = self.TILT * np.exp(-middle / self.WIDTH)
        odds = np.exp(tilt[:, None] * rng.normal(size=(length, 4)))
        self.upto = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw letters, a byte each, and targets."""
        letters = rng.integers(0, 4, (n_rows, self.length), np.uint8)
        positive = rng.random(n_rows) < self.positive
        chance = rng.random((int(positive.sum()), self.length, 1))
        letters[positive] = (chance > self.upto).sum(axis=2)
        return letters, np.where(positive, 1.0, -1.0)

    def finish(self, rows: NDArray[Any]) -> Any:
        """Make sparse rows of ones."""
        from reproduction.datasets.pascal import one_hot

        return one_hot(rows)


class Cover:
    """Ten numbers between 0 and 1, one of four areas and one of forty soils, as in covtype."""

    NUMBERS, AREAS, SOILS = 10, 4, 40

    def __init__(self, rng: np.random.Generator, error: float) -> None:
        self.mixing = rng.normal(size=(self.NUMBERS, self.NUMBERS)) / np.sqrt(self.NUMBERS)
        soils = rng.permutation(1 / np.arange(1, self.SOILS + 1))
        self.soils = soils / soils.sum()
        self.areas = np.array([0.45, 0.05, 0.44, 0.06])
        self.truth = np.concatenate(
            [4 * rng.normal(size=self.NUMBERS), rng.normal(size=self.AREAS + self.SOILS)]
        )
        self.signal = np.cos(np.pi * error)
        scores = self._rows(rng, 10_000) @ self.truth
        self.middle, self.spread = float(np.median(scores)), float(scores.std())

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""
        X = self._rows(rng, n_rows)
        y = noisy_signs((X @ self.truth - self.middle) / self.spread, self.signal, 0.0, rng)
        return X.astype(np.float32), y

    def _rows(self, rng: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
        X = np.zeros((n_rows, self.NUMBERS + self.AREAS + self.SOILS))
        latent = rng.normal(size=(n_rows, self.NUMBERS)) @ self.mixing
        X[:, : self.NUMBERS] = 1 / (1 + np.exp(-latent))
        area = rng.choice(self.AREAS, n_rows, p=self.areas)
        soil = rng.choice(self.SOILS, n_rows, p=self.soils)
        X[np.arange(n_rows), self.NUMBERS + area] = 1
        X[np.arange(n_rows), self.NUMBERS + self.AREAS + soil] = 1
        return X

    def finish(self, rows: NDArray[Any]) -> Any:
        """Leave dense rows as they are."""
        return rows


class Digits:
    """Ten kinds of line drawings on 28 × 28 pixels; the features are those of mnist9.

    Each kind is a path of a few strokes. Sixty-four hands draw each of them a little differently,
    and every row moves one of these drawings by up to two pixels and adds grain.
    """

    SIDE, HANDS, CORNERS = 28, 64, 5

    def __init__(self, rng: np.random.Generator) -> None:
        corners = rng.uniform(7, 21, (10, 1, self.CORNERS, 2))
        corners = corners + rng.normal(size=(10, self.HANDS, self.CORNERS, 2)) * 2.2
        along = np.linspace(0, 1, 12)[:, None]
        ends = zip(np.moveaxis(corners, 2, 0)[:-1], np.moveaxis(corners, 2, 0)[1:], strict=True)
        path = np.concatenate(
            [a[:, :, None] * (1 - along) + b[:, :, None] * along for a, b in ends], axis=2
        )
        grid = np.stack(np.meshgrid(*[np.arange(self.SIDE)] * 2, indexing="ij"), -1)
        self.drawings = np.empty((10, self.HANDS, self.SIDE, self.SIDE), np.float32)
        for kind in range(10):
            distance = grid[None, None] - path[kind][:, :, None, None]
            nearest = (distance**2).sum(axis=-1).min(axis=1)
            self.drawings[kind] = 255 * np.minimum(1, 1.6 * np.exp(-nearest / 2))

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw images, flattened, and whether they are of the kind 9."""
        kind = rng.integers(0, 10, n_rows)
        images = self.drawings[kind, rng.integers(0, self.HANDS, n_rows)]
        down, right = rng.integers(-2, 3, (2, n_rows, 1))
        rows = (np.arange(self.SIDE) + down) % self.SIDE
        columns = (np.arange(self.SIDE) + right) % self.SIDE
        images = images[np.arange(n_rows)[:, None, None], rows[:, :, None], columns[:, None, :]]
        grain = rng.standard_normal(images.shape, np.float32) * (images > 20)
        images = np.clip(images + np.float32(20) * grain, 0, 255).astype(np.uint8)
        return images.reshape(n_rows, -1), np.where(kind == 9, 1.0, -1.0)

    def finish(self, rows: NDArray[Any]) -> Any:
        """Measure the edges."""
        from reproduction.datasets.digit_features import digit_features

        return digit_features(rows.reshape(-1, self.SIDE, self.SIDE))


def noisy_signs(
    score: NDArray[Any], signal: float, threshold: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return which standardised scores are above a threshold, with noise."""
    noisy = signal * score + np.sqrt(1 - signal**2) * rng.standard_normal(len(score))
    return np.where(noisy > threshold, 1.0, -1.0)


def unit_rows(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale every row to unit length."""
    X /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X

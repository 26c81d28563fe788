"""The synthetic sets of the papers. Where a paper gives no generator ours is described."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.seeds import Seed, generator


def two_gaussians(n: int = 1000, dim: int = 10, random_state: Seed = 0) -> tuple[Array, Index]:
    """N(1, I) against N(-1, I) in ``dim`` dimensions, half of the points each.

    Hu & Kwok, IJCAI 2013, section 4.2.
    """
    rng = generator(random_state)
    label = np.repeat([0, 1], [n - n // 2, n // 2])
    mean = np.where(label == 0, 1.0, -1.0)
    return rng.standard_normal((n, dim)) + mean[:, None], label.astype(np.intp)


def chessboard(n: int = 100, cells: int = 4, random_state: Seed = 0) -> tuple[Array, Index]:
    """Uniform points on a board of ``cells`` x ``cells`` unit squares, coloured like a chessboard."""
    rng = generator(random_state)
    X = rng.uniform(0, cells, size=(n, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(np.intp)


def double_spiral(
    n: int = 100, turns: float = 1.5, noise: float = 0.02, random_state: Seed = 0
) -> tuple[Array, Index]:
    """Two interleaved spirals climbing in the third dimension, one class each (100 x 3 in the papers)."""
    rng = generator(random_state)
    label = np.repeat([0, 1], [n - n // 2, n // 2])
    u = np.concatenate([np.linspace(0.15, 1, n - n // 2), np.linspace(0.15, 1, n // 2)])
    angle = 2 * np.pi * turns * u + np.pi * label
    X = np.stack([u * np.cos(angle), u * np.sin(angle), u], axis=1)
    return X + noise * rng.standard_normal((n, 3)), label.astype(np.intp)


def xor(n: int = 100, noise: float = 0.3, random_state: Seed = 0) -> tuple[Array, Index]:
    """Four Gaussian clouds at (+-1, +-1); the class is the sign of the product."""
    rng = generator(random_state)
    corner = np.arange(n) % 4
    center = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])[corner]
    return center + noise * rng.standard_normal((n, 2)), (corner % 2).astype(np.intp)


def swiss_roll(n: int = 2000, noise: float = 0.0, random_state: Seed = 0) -> tuple[Array, Index]:
    """A sheet rolled up in three dimensions; labels cut it into four bands along the roll.

    As `sklearn.datasets.make_swiss_roll` (Marsland 2009).
    """
    from sklearn.datasets import make_swiss_roll

    rng, seed = generator(random_state), random_state
    if isinstance(seed, np.random.Generator):
        seed = int(rng.integers(2**31))
    X, position = make_swiss_roll(n, noise=noise, random_state=seed)
    cuts = np.quantile(position, [0.25, 0.5, 0.75])
    return X, np.searchsorted(cuts, position).astype(np.intp)

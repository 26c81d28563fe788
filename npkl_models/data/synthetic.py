"""The synthetic sets of the papers, drawn by our own generators if a paper describes none."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import Seed, generator

INNER, OUTER, WIDTH = 1.5 * np.pi, 4.5 * np.pi, 21.0  # angles and width of the Swiss roll


def two_gaussians(n: int = 1000, dim: int = 10, random_state: Seed = 0) -> tuple[Array, Index]:
    """Two classes, N(1, I) and N(-1, I), in ``dim`` dimensions, with half of the points each.

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
    """Two interleaved spirals that rise in the third dimension, one a class (100 x 3 in the papers)."""
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


def swiss_roll(
    n: int = 2000, noise: float = 0.0, random_state: Seed = 0, even: bool = False
) -> tuple[Array, Index]:
    """A sheet rolled up in three dimensions; labels cut it into four bands along the roll.

    `sklearn.datasets.make_swiss_roll` (Marsland 2009) draws the angle uniformly. With ``even``, the points
    are uniform on the sheet, whose size is 89.4 x 21.
    """
    from sklearn.datasets import make_swiss_roll

    rng, seed = generator(random_state), random_state
    if even:
        return _evenly_rolled(n, noise, rng)
    if isinstance(seed, np.random.Generator):
        seed = int(rng.integers(2**31))
    X, position = make_swiss_roll(n, noise=noise, random_state=seed)
    return X, _bands(position)


def _arc(angle: Any) -> Any:
    """The length of the spiral r = angle from its centre."""
    return 0.5 * (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle))


def _evenly_rolled(n: int, noise: float, rng: np.random.Generator) -> tuple[Array, Index]:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ProblemError(f"n must be an integer >= 1, got {n!r}")
    if not noise >= 0:
        raise ProblemError(f"noise must be >= 0, got {noise!r}")
    where, height = rng.random(n), WIDTH * rng.random(n)
    table = np.linspace(INNER, OUTER, 10_000)
    angle = np.interp(_arc(INNER) + where * (_arc(OUTER) - _arc(INNER)), _arc(table), table)
    X = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    return X + noise * rng.standard_normal((n, 3)), _bands(where)


def _bands(position: Array) -> Index:
    cuts = np.quantile(position, [0.25, 0.5, 0.75])
    return np.searchsorted(cuts, position).astype(np.intp)

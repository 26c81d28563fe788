"""Comparisons of distances: read, drawn at random, merged, and counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import finite, real_array, whole_array, whole_number
from npkl_models.model.distances import DistanceCombinations, DistanceDifferences, difference
from npkl_models.model.functional import Functional

MANY, UNNAMED = 100_000, 100  # more points than this must be named by a comparison, but for one in so many


def ordinal_answers(X: ArrayLike, count: int, *, noise: float = 0.0, random_state: int | None = 0) -> Index:
    """Comparisons (i, j, k) of points, drawn at random: i is nearer to j than to k.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points, n >= 3.
    count : int
        Number of comparisons; a comparison may be drawn more than once.
    noise : float
        The probability that an answer is turned round, from 0 to 1.
    random_state : int, optional
        The seed.
    """
    points = finite(real_array(X, "points"), "points")
    if points.ndim != 2 or len(points) < 3:
        raise ProblemError(f"points must have shape (n, d) with n >= 3, got {points.shape}")
    rng, n = np.random.default_rng(random_state), len(points)
    count = whole_number(count, "count", 1)
    i = rng.integers(n, size=count)
    j = (i + 1 + rng.integers(n - 1, size=count)) % n
    k = rng.integers(n - 2, size=count)  # one of the points that are neither i nor j
    low, high = np.minimum(i, j), np.maximum(i, j)
    k = k + (k >= low)
    k = k + (k >= high)
    near, far = (np.einsum("ed,ed->e", points[i] - points[end], points[i] - points[end]) for end in (j, k))
    turned = (near > far) ^ (rng.random(count) < noise)
    return np.stack([i, np.where(turned, k, j), np.where(turned, j, k)], axis=1).astype(np.intp)


def answered(V: ArrayLike, comparisons: ArrayLike) -> float:
    """The share of comparisons that a factor V (n x r) answers as given; a tie counts one half."""
    factor, rows = real_array(V, "factor"), read_comparisons(comparisons, "comparisons")
    z = differences(rows, len(factor)).value_of_factor(factor)
    return float(np.mean(np.where(z == 0, 0.5, z < 0)))


def differences(rows: Index, n: int) -> Functional:
    """The functional of the differences of two distances."""
    if rows.shape[1] == 3:
        return DistanceDifferences(n, tuple(rows.T))
    i, j, k, end = rows.T
    ends = np.concatenate([i, k]), np.concatenate([j, end])
    return DistanceCombinations(n, ends, difference(len(rows)))


def read_comparisons(given: ArrayLike, what: str) -> Index:
    """The comparisons as integers, each with two different distances."""
    rows = whole_array(given, what)
    if rows.ndim != 2 or rows.shape[1] not in (3, 4) or not len(rows):
        raise ProblemError(f"{what} must have shape (m, 3) or (m, 4) with m >= 1, got {rows.shape}")
    if rows.min() < 0:
        raise ProblemError(f"{what} must name points from 0 on, got {rows.min()}")
    rows = rows.astype(np.intp)
    if rows.shape[1] == 3:
        i, j, k = rows.T
        wrong = (i == j) | (i == k) | (j == k)
    else:
        near, far = np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)
        wrong = (near[:, 0] == near[:, 1]) | (far[:, 0] == far[:, 1]) | (near == far).all(axis=1)
    if wrong.any():
        raise ProblemError(
            f"{what} must compare two distances of different points, got {rows[wrong][:3].tolist()}"
        )
    return rows


def merged(rows: Index, weights: ArrayLike | None) -> tuple[Index, Array]:
    """Each comparison once, with the sum of its weights."""
    weight = np.ones(len(rows)) if weights is None else real_array(weights, "weights of comparisons")
    if weight.shape != (len(rows),):
        raise ProblemError(f"weights of comparisons must have shape ({len(rows)},), got {weight.shape}")
    if not (weight > 0).all():
        raise ProblemError("weights of comparisons must be positive")
    if rows.shape[1] == 4:
        rows = np.concatenate([np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)], axis=1)
    found, place = np.unique(rows, axis=0, return_inverse=True)
    total: Array = np.bincount(place.ravel(), weight, len(found)).astype(float)
    return found, total


def number_of_points(every: list[Index], n_points: int | None) -> int:
    """The number of points, which no comparison may exceed."""
    least = 1 + max(int(rows.max()) for rows in every)
    if n_points is None and least > MANY:
        named = int(np.unique(np.concatenate([rows.ravel() for rows in every])).size)
        if least > UNNAMED * named:
            raise ProblemError(
                f"comparisons must number the points from 0 on, got {named} points with numbers up to "
                f"{least - 1}; number them anew, or give n_points"
            )
    n = max(least, 3) if n_points is None else whole_number(n_points, "n_points", 3)
    if n < least:
        raise ProblemError(f"comparisons must name points 0..{n - 1}, got {least - 1}")
    return n

"""The rows whose secular equation has no root above zero, or one that rounding hides, by eigenvectors of W'W.

After a change of this file, change `compiled`, too: numba's cache reads that file.
"""

from __future__ import annotations

import math

import numpy as np

from npkl_models.linalg import Array
from npkl_models.linalg.compile import called, compiled, inlined
from npkl_models.lowrank.rows.compiled_parts import C, U
from npkl_models.lowrank.rows.compiled_secular import SINGULAR, Line, last, rational_step
from npkl_models.lowrank.tolerances import ROUNDING, STEPS


@inlined
def _turned(W: Array, c: Array, old: Array) -> tuple[Array, Array, Array, Array, Array]:  # pragma: no cover
    """The eigenvalues and eigenvectors of W'W, and c and the old u along the eigenvectors."""
    r = c.shape[0]
    A = np.zeros((r, r))
    for e in range(W.shape[0]):
        for a in range(r):
            for b in range(r):
                A[a, b] += W[e, a] * W[e, b]
    values, E = np.linalg.eigh(A)
    along = np.zeros((3, r))
    for b in range(r):
        for a in range(r):
            along[0, b] += E[a, b] * c[a]
            along[1, b] += E[a, b] * old[a]
    return values, E, along[0], along[1], along[2]


@called()
def _along(t: float, values: Array, energy: Array) -> tuple[float, float]:  # pragma: no cover
    """||u||^2 and its derivative at mu = t + low; the energy of eigenvectors that do not count is zero."""
    size, falls = 0.0, 0.0
    for b in range(values.shape[0]):
        if energy[b] > 0.0:
            share = energy[b] / (t + values[b]) ** 2
            size, falls = size + share, falls - 2 * share / (t + values[b])
    return size, falls


@called()
def _along_root(
    low: float, high: float, line: Line, values: Array, energy: Array
) -> float:  # pragma: no cover
    """The t in [low, high] with ||u||^2 = slope (t - zero) + level; low if the norm is too small there."""
    slope, zero, level = line
    if _along(low, values, energy)[0] <= slope * (low - zero) + level:
        return low
    t = max(low, 1e-3 * high)
    for _ in range(STEPS):
        norm2, falls = _along(t, values, energy)
        if norm2 - slope * (t - zero) - level > 0:
            low = t
        else:
            high = t
        step = rational_step(t, norm2, falls, slope, zero, level)
        found = last(step, t, line)
        if found or high - low <= ROUNDING * high:
            return t + step if found else t
        t += step
        if not low < t < high:
            t = 0.5 * (low + high)
    return t


@inlined
def _shift(
    own: tuple[float, float, float], values: Array, energy: Array
) -> tuple[float, float]:  # pragma: no cover
    """The t = mu - low of the minimiser, and the squared norm that is wanted in the hard case.

    ``own`` has mu0 - low in the place of mu0, and ``values`` begin with zero.
    """
    zero, quartic, radius = own
    level, size, least = radius * radius, 0.0, least_shift(values)
    for b in range(energy.shape[0]):
        size += energy[b]
    t, wanted = max(zero, least), 0.0
    if quartic > 0.0:
        high = max(2 * max(zero, 0.0), (8 * quartic * size) ** (1 / 3)) + least
        t = _along_root(least, high, (0.25 / quartic, zero, 0.0), values, energy)
        wanted = (t - zero) / (4 * quartic)
    if radius > 0.0:
        bound = quartic == 0.0 and zero < least
        if bound or _along(t, values, energy)[0] > level:
            t = _along_root(t, max(t, math.sqrt(size) / radius) + least, (0.0, 0.0, level), values, energy)
        wanted = level if bound else min(wanted, level)
    return t, wanted


@inlined
def least_shift(values: Array) -> float:  # pragma: no cover
    """The smallest shift that rounding tells from zero."""
    return SINGULAR * max(values[-1], 1e-300)


@compiled
def hard_row(
    own: tuple[float, float, float], W: Array, c: Array, old: Array, out: Array
) -> None:  # pragma: no cover
    """Set ``out`` to the minimiser u of the row problem ``own`` (mu0, a, b) with the rows W and the pull c.

    In the hard case the norm is too small at the smallest mu: a null direction there, that of the old u,
    adds what is missing.
    """
    values, E, alpha, kept, energy = _turned(W, c, old)
    zero, r = own[0] + values[0], c.shape[0]
    low = values[0]
    for b in range(r):
        values[b], energy[b] = values[b] - low, alpha[b] * alpha[b]
    least = least_shift(values)
    t, missing = _shift((zero, own[1], own[2]), values, energy)
    hard, along = t <= least and zero < least, 0.0
    for b in range(r):
        lowest = values[b] <= least
        alpha[b] = 0.0 if hard and lowest else alpha[b] / (t + values[b])
        missing -= alpha[b] * alpha[b]
        kept[b] = kept[b] if lowest else 0.0
        along += kept[b] * kept[b]
    if hard and missing > 0.0:
        if not along > 0.0:
            kept[0] = along = 1.0
        for b in range(r):
            alpha[b] += math.sqrt(missing / along) * kept[b]
    for a in range(r):
        out[a] = 0.0
        for b in range(r):
            out[a] += E[a, b] * alpha[b]


@called("void(UniTuple(f8, 3), intp, intp, f8[:, ::1], f8[:, ::1], f8[:, ::1])")
def set_hard_row(
    own: tuple[float, float, float], i: int, k: int, V: Array, T: Array, W: Array
) -> None:  # pragma: no cover
    """Set row i of V to the minimiser of the row problem with k rows of W; c and the old u are in T."""
    hard_row(own, W[:k], T[C], T[U], V[i])

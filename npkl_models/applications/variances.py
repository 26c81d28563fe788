"""Variances from an information matrix: the diagonal of its inverse, and where it has none."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from npkl_models.linalg import Array, Index
from npkl_models.linalg.cholesky import SymmetricFactors
from npkl_models.linalg.inverse_diagonal import inverse_diagonal

LARGE = 1e8  # a variance above this number over the largest entry may be that of a singular matrix
SHIFTS = 1e-12, 1e-13  # two shifts, as shares of the largest entry, that tell null directions from others
SHARE = 1e-6  # least share of a coordinate in null directions that makes its variance unknown


def rigid_motions(X: Array) -> Array:
    """A basis (n x d x k) of orthonormal velocities of the k = d (d + 1) / 2 rigid motions of X (n x d)."""
    n, d = X.shape
    apart = X - X.mean(axis=0)
    every = [np.tile(np.eye(d)[k], (n, 1)) for k in range(d)]
    for a in range(d):
        for b in range(a):
            turn = np.zeros((d, d))
            turn[a, b], turn[b, a] = 1.0, -1.0
            every.append(apart @ turn)
    basis = scipy.linalg.qr(np.stack(every, axis=2).reshape(n * d, -1), mode="economic")[0]
    return np.asarray(basis.reshape(n, d, -1))


def inverse_variances(
    factors: SymmetricFactors, data: Array, motions: Array | None, unit: Array
) -> tuple[Array, int]:
    """The diagonal of the inverse of a matrix A >= 0 (size x size), NaN where A is singular; and its nullity.

    ``unit`` (size,) are positive numbers of the size of the diagonal. A is scaled by them, so that
    coordinates of very different information are told from singular ones.
    With orthonormal null vectors ``motions`` (size x k), it is that of the pseudo-inverse: k coordinates are
    held, and the inverse over the others is projected. The nullity does not count them. Whether A has further
    null vectors is told by two shifts t: at a coordinate of which they have the share p, the inverse of A + t
    is p / t and what stays bounded. With motions, further null vectors make every variance unknown, because
    they turn the frame.
    """
    held = np.empty(0, dtype=np.intp)
    if motions is not None:
        held = scipy.linalg.qr(motions.T, mode="r", pivoting=True)[1][: motions.shape[1]]
    diagonal, root = factors.diagonal, unit**-0.5
    data = data * root[factors.rows] * root[factors.indices]
    scale = float(np.max(data[diagonal], initial=0.0))
    data[np.isin(factors.rows, held) | np.isin(factors.indices, held)] = 0.0
    data[diagonal[held]] = scale
    try:
        out = _projected(factors, data, motions, held, root)
        if np.all(out * unit * scale < LARGE):
            return out, 0
    except RuntimeError:
        pass
    both = []
    for shift in SHIFTS:
        raised = data.copy()
        raised[diagonal] += shift * scale
        try:
            both.append(_projected(factors, raised, motions, held, root))
        except RuntimeError:
            return np.full(factors.size, np.nan), factors.size
    share = (both[1] - both[0]) / (1 / SHIFTS[1] - 1 / SHIFTS[0]) * scale * unit
    unknown = share > SHARE
    if motions is not None:
        unknown |= unknown.any()
    bounded = both[1] - np.maximum(share, 0.0) / (SHIFTS[1] * scale * unit)
    return np.where(unknown, np.nan, bounded), round(float(np.sum(np.maximum(share, 0.0))))


def _projected(
    factors: SymmetricFactors, data: Array, motions: Array | None, held: Index, root: Array
) -> Array:
    """The diagonal of P G P: G the inverse without the held coordinates, P the projection off the motions.

    The entries are those of the matrix times ``root`` from both sides.
    """
    L, order = factors.triangle(data)
    out = np.empty(factors.size)
    out[order] = inverse_diagonal(L)
    out *= root**2
    if motions is None:
        return out
    out[held] = 0.0
    right = root[:, None] * motions
    right[held] = 0.0
    images = root[:, None] * factors.at(data, definite=True).solve(right)
    images[held] = 0.0
    inner = motions.T @ images
    out = out - 2 * np.sum(motions * images, axis=1) + np.sum((motions @ inner) * motions, axis=1)
    return np.asarray(out)

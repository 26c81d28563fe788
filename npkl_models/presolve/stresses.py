r"""A smaller face from the stresses of points, for distances that leave no kernel positive definite.

Weights :math:`\lambda` with :math:`\Omega = \sum_e \lambda_e M_e` and :math:`\Omega X = 0` are a stress of
the points X. Every kernel K with the distances of X has

.. math:: \langle \Omega, K \rangle = \lambda' b = \langle \Omega, X X' \rangle = 0.

If the stress is positive semidefinite, :math:`\Omega K = 0` (Connelly 1982; Gortler & Thurston 2014; as
facial reduction Alfakih 2011). So K lies in the face of the null space of :math:`\Omega`, even if no clique
is flat. There, as many distances depend on others as there are stresses.

Stresses are the left null space of the rigidity map at X. At given points X the rank of this map is clear:
singular values fall from 1e-5 to 1e-16. At a kernel that a solver computes, they fall to 1e-8 only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from npkl_models.linalg import Array, Index
from npkl_models.model.basis import Basis, orthonormal
from npkl_models.presolve.cliques import CLEAR, MISSED, ROUNDS, Flat, spanned

NULL = 1e-12  # relative singular value of the rigidity map (unit rows) that is rounding; `CLEAR` is not
TOGETHER = 1e-7  # entry of the projector on the stresses above which two distances are joined
LOW = 1e-9  # eigenvalue of a stress, relative to its largest, that counts as zero
TRIES = 500  # combinations of several stresses on the same distances that are tried
SEVERAL = 8  # most stresses on the same distances for which a combination is searched for
NUMBERS = 3e7  # most numbers of the rigidity map


def unstressed(points: Array, pairs: Index, squared: Array, flat: Flat) -> Flat:
    """Shrink a face by the stresses of points (n x d), and choose the distances that must still be stated.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points that have the ``squared`` distances of the ``pairs``.
    flat : Flat
        The face so far, and the distances that are kept there.
    """
    centred = points - points.mean(axis=0)
    for _ in range(ROUNDS):
        basis = flat.basis
        i, j = pairs[flat.kept].T
        apart = basis.dense[i] - basis.dense[j]
        if apart.size * points.shape[1] > NUMBERS:
            break
        W = basis.dense.T @ centred
        normals = [
            found
            for stresses in _components(_stresses(apart, W))
            for found in (_normals(apart, stresses),)
            if found is not None
        ]
        if not normals:
            break
        N = np.vstack(normals)
        N = N - (N @ W) @ np.linalg.pinv(W)  # the points themselves stay in the face
        _, s, rows = np.linalg.svd(N)
        rank = int(np.sum(s > np.sqrt(LOW)))
        if not 0 < rank < basis.size:
            break
        smaller = Basis(orthonormal(basis.dense @ rows[rank:].T))
        kept, missed, tilt = spanned(smaller, pairs, squared)
        if missed > MISSED or not kept.any():
            break
        flat = replace(flat, basis=smaller, kept=kept, missed=missed, tilt=tilt)
    return flat


def _stresses(apart: Array, W: Array) -> Array:
    """Stresses (m x k), orthonormal before they are divided by the lengths of the map's rows."""
    J = ((apart @ W)[:, :, None] * apart[:, None, :]).reshape(len(apart), -1)
    lengths = np.linalg.norm(J, axis=1)
    if not bool(np.all(lengths > 0)):
        return np.zeros((len(apart), 0))
    U, s, _ = np.linalg.svd(J / lengths[:, None], full_matrices=J.shape[0] > J.shape[1])
    s = np.concatenate([s, np.zeros(U.shape[1] - s.size)])
    null = s <= NULL * s[0]
    if not np.all(null | (s >= CLEAR * s[0])):
        return np.zeros((len(apart), 0))
    out: Array = U[:, null] / lengths[:, None]
    return out


def _components(stresses: Array) -> list[Array]:
    """Groups of stresses; stresses of different groups have no distance in common."""
    if not stresses.shape[1]:
        return []
    scaled = np.linalg.qr(stresses)[0]
    joined = np.abs(scaled @ scaled.T) > TOGETHER
    count, label = connected_components(joined, directed=False)
    out = []
    for part in range(count):
        own = np.where((label == part)[:, None], scaled, 0.0)
        U, s, _ = np.linalg.svd(own, full_matrices=False)
        if s[0] > 0.5:
            out.append(U[:, s > 0.5])
    return out


def _normals(apart: Array, stresses: Array) -> Array | None:
    """Orthonormal rows that span the range of a semidefinite combination of stresses; None without one."""
    used = np.flatnonzero(np.any(np.abs(stresses) > TOGETHER * TOGETHER, axis=1))
    _, s, rows = np.linalg.svd(apart[used], full_matrices=False)
    local = rows[s > LOW * s[0]]
    P = apart[used] @ local.T
    matrices = [P.T @ (stresses[used, k, None] * P) for k in range(stresses.shape[1])]
    joint = np.linalg.svd(np.hstack(matrices))
    own = joint[0][:, joint[1] > LOW * joint[1][0]]  # their joint range
    small = [own.T @ M @ own for M in matrices]
    found = _definite(small)
    if found is None:
        return None
    values, vectors = np.linalg.eigh(found)
    normals: Array = (own @ vectors[:, values > LOW * values[-1]]).T @ local
    return normals


def _definite(matrices: list[Array]) -> Array | None:
    """A positive semidefinite combination of the matrices; of several matrices by a matrix perceptron."""
    if len(matrices) == 1:
        M = matrices[0]
        values = np.linalg.eigvalsh(M)
        for sign in (1.0, -1.0):
            if (sign * values).min() >= -LOW * np.abs(values).max():
                return np.asarray(sign * M)
        return None
    if len(matrices) > SEVERAL:
        return None
    shares = np.array([np.trace(M) for M in matrices])
    for _ in range(TRIES):
        M = np.einsum("k,kab->ab", shares, np.asarray(matrices))
        values, vectors = np.linalg.eigh(M)
        if values[0] > np.sqrt(LOW) * values[-1]:
            return np.asarray(M)
        v = vectors[:, 0]
        shares = shares + np.array([v @ own @ v for own in matrices])
    return None

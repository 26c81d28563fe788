"""The analytic centre: a kernel well inside the cone that meets the equalities, and what the centre proves.

Let A(WW') = b and WW' >= nu I over the unknown, and let sigma be the smallest singular value of the linear
map A. Let A(K) miss b by F for K = (1 - t) VV' + t WW'. Then A(K + D) = b for some D with |D| <= |F| / sigma.
K + D is positive semidefinite if |F| / sigma <= t nu. Unlike Kantorovich's theorem on factors
(`kantorovich`), this proof squares nothing. So a far smaller share t of WW' suffices.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from npkl_models.feasibility.equality_map import EqualityMap
from npkl_models.linalg import Array, gamma, raised_cholesky, symmetrize
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import eigenvalue_floor

STEPS = 80  # Newton steps towards the centre
SHORT, SLOW = 0.02, 15  # after more than SLOW steps shorter than SHORT, there is no interior
WAY = 0.7  # share of the way to the boundary that a step may go
NEAR = 0.3  # a full step this short, in the norm of the centre, is the last
RAISED = (0.0, 1e-15, 1e-13, 1e-11)  # relative raises of the diagonal that make a matrix definite


def centre(problem: Statement) -> Array | None:
    """A factor (n x s) near the analytic centre of the kernels that meet the equalities; None without one.

    Newton steps maximise log det U under A(U) = b, from a multiple of the identity (Boyd & Vandenberghe 2004,
    section 10.3). A step goes a share of the way to the boundary; there is no line search.
    """
    equal = EqualityMap(problem)
    if equal.vectors is None:
        return None
    (P, R), b = equal.vectors, equal.wanted
    U: Array = np.eye(problem.order) * (float(np.mean(np.abs(b))) or 1.0)
    slow = 0
    for _ in range(STEPS):
        try:
            L = scipy.linalg.cholesky(U, lower=True)
            value = np.einsum("es,es->e", P @ U, R)
            multipliers = _solve(equal.products(U), 2 * value - b)
        except (np.linalg.LinAlgError, ValueError):
            return None
        inner = np.eye(len(U)) - symmetrize((P @ L).T @ (multipliers[:, None] * (R @ L)))
        spectrum = np.linalg.eigvalsh(inner)
        step = 1.0 if spectrum[0] > -WAY else WAY / -spectrum[0]
        U = symmetrize(L @ (np.eye(len(U)) + step * inner) @ L.T)
        slow += step < SHORT
        if slow > SLOW:
            return None
        if step == 1.0 and max(-spectrum[0], spectrum[-1]) < NEAR:
            break
    values, vectors = np.linalg.eigh(U)
    return problem.lift(vectors * np.sqrt(np.maximum(values, 0.0)))


def depth(problem: Statement, W: Array) -> tuple[float, float]:
    """Proved lower bounds (nu, sigma) on WW' over the unknown and on the map A; zeros without proof."""
    equal = EqualityMap(problem)
    if equal.vectors is None:
        return 0.0, 0.0
    inner = problem.drop(W)
    size = 1.0 if problem.basis is None else problem.basis.magnitude
    nu = eigenvalue_floor(symmetrize(inner @ inner.T))
    nu -= 4 * gamma(problem.n + W.shape[1] + 8) * size * float(np.sum(W**2))
    nu *= 1 - 1e-9  # the defect of the basis
    G = equal.products()
    length = np.sqrt(G.diagonal())
    if not (nu > 0 and bool(np.all(length > 0))):
        return 0.0, 0.0
    square = eigenvalue_floor(G / length / length[:, None])
    square -= 8 * length.size * gamma(problem.order + 8)  # rounding of entries of unit rows
    return (nu, float(np.sqrt(square)) * float(length.min()) * (1 - 1e-9)) if square > 0 else (0.0, 0.0)


def reach(residual: float, depths: tuple[float, float], share: float) -> float:
    """A bound on the distance of [sqrt(1 - t) V, sqrt(t) W] from an exact factor; inf without proof.

    D is added to t WW' >= t nu I. The square roots of two matrices above c I differ by at most their
    difference over 2 sqrt(c) (van Hemmen & Ando 1980), and c is at least t nu / 2.
    """
    nu, sigma = depths
    if not (nu > 0 and sigma > 0 and 2 * residual <= share * nu * sigma):
        return float("inf")
    return 1.001 * residual / sigma / float(np.sqrt(2 * share * nu))


def _solve(H: Array, right: Array) -> Array:
    """Solve by Cholesky; LinAlgError for dependent equalities, ValueError for numbers that are not finite."""
    scale = 1 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    factor = raised_cholesky(np.asarray_chkfinite(H * scale * scale[:, None]), RAISED)
    out: Array = scale * scipy.linalg.cho_solve(factor, scale * right)
    return out

"""A kernel well inside the cone that meets the equalities: the analytic centre, and what it proves.

With A(WW') = b, WW' >= nu on the space of the unknown, and sigma the smallest singular value of the linear
map A: if A(K) misses b by F for a K = (1 - t) VV' + t WW', then K + D meets it for some D no longer than
|F| / sigma, and is positive semidefinite where that is no more than t nu. Unlike Kantorovich's theorem on
factors (`kantorovich`) nothing is squared, so that far less of WW' will do.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from npkl_models.linalg import Array, gamma, symmetrize
from npkl_models.model.functionals import Entries, SquaredDistances
from npkl_models.model.statement import Statement
from npkl_models.proof.factorisation import eigenvalue_floor

STEPS = 80  # Newton steps towards the centre
SHORT, SLOW = 0.02, 15  # a step, and so many of them that there is no inside to reach
WAY = 0.7  # share of the way to the boundary
NEAR = 0.3  # a step, in the norm of the centre, after which it is near enough
ORDER, EQUALITIES = 600, 1_500  # largest
RAISED = (0.0, 1e-15, 1e-13, 1e-11)  # shares of the diagonal that make a matrix definite


def centre(problem: Statement) -> Array | None:
    """A factor (n x s) near the analytic centre of the kernels that meet the equalities; None without one.

    Newton steps for log det U under A(U) = b, from a multiple of the identity (Boyd & Vandenberghe 2004,
    section 10.3, with a share of the way to the boundary in place of a search).
    """
    found = rows(problem)
    if found is None:
        return None
    P, R = found
    b = np.concatenate([part.value for part in problem.equalities])
    U: Array = np.eye(problem.order) * (float(np.mean(np.abs(b))) or 1.0)
    slow = 0
    for _ in range(STEPS):
        try:
            L = scipy.linalg.cholesky(U, lower=True)
            value = np.einsum("es,es->e", P @ U, R)
            multipliers = _solve(_products(P, R, U), 2 * value - b)
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
    """Proved lower bounds (nu, sigma): on WW' over the unknown, and on the linear map; or zeros."""
    found = rows(problem)
    if found is None:
        return 0.0, 0.0
    P, R = found
    inner = problem.drop(W)
    size = 1.0 if problem.basis is None else problem.basis.magnitude
    nu = eigenvalue_floor(symmetrize(inner @ inner.T))
    nu -= 4 * gamma(problem.n + W.shape[1] + 8) * size * float(np.sum(W**2))
    nu *= 1 - 1e-9  # the defect of the basis
    G = _products(P, R)
    length = np.sqrt(G.diagonal())
    if not (nu > 0 and bool(np.all(length > 0))):
        return 0.0, 0.0
    square = eigenvalue_floor(G / length / length[:, None])
    square -= 8 * length.size * gamma(P.shape[1] + 8)  # of each entry, in units of the product of two lengths
    return (nu, float(np.sqrt(square)) * float(length.min()) * (1 - 1e-9)) if square > 0 else (0.0, 0.0)


def reach(residual: float, depths: tuple[float, float], share: float) -> float:
    """How far the factor [sqrt(1 - t) V, sqrt(t) W] is from an exact one at most; inf if that is not proved.

    D is added to t WW' >= t nu: the square roots of two matrices above c differ by their difference over 2
    sqrt(c) (van Hemmen & Ando 1980), and c is at least t nu / 2.
    """
    nu, sigma = depths
    if not (nu > 0 and sigma > 0 and 2 * residual <= share * nu * sigma):
        return float("inf")
    return 1.001 * residual / sigma / float(np.sqrt(2 * share * nu))


def rows(problem: Statement) -> tuple[Array, Array] | None:
    """P and R (m x s): the matrix of a value is the symmetric part of p r'; None for other kinds."""
    m = sum(part.functional.size for part in problem.equalities)
    if problem.order > ORDER or m > EQUALITIES:
        return None
    Q = problem.Q
    left: list[Array] = []
    right: list[Array] = []
    for part in problem.equalities:
        f = part.functional
        if isinstance(f, SquaredDistances):
            apart = Q[f.indices[0]] - Q[f.indices[1]]
            left.append(apart)
            right.append(apart)
        elif isinstance(f, Entries):
            left.append(Q[f.indices[0]])
            right.append(Q[f.indices[1]])
        else:
            return None
    return np.concatenate(left), np.concatenate(right)


def _products(P: Array, R: Array, U: Array | None = None) -> Array:
    """<M_e, U M_f U> of all pairs, for the identity where there is no U."""
    PU, RU = (P, R) if U is None else (P @ U, R @ U)
    out: Array = (PU @ P.T) * (RU @ R.T) + (PU @ R.T) * (RU @ P.T)
    return symmetrize(0.5 * out)


def _solve(H: Array, right: Array) -> Array:
    scale = 1 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    H = H * scale * scale[:, None]
    for share in RAISED:
        try:
            factor = scipy.linalg.cho_factor(H + share * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
        out: Array = scale * scipy.linalg.cho_solve(factor, scale * right)
        return out
    raise np.linalg.LinAlgError("the equalities depend on each other")

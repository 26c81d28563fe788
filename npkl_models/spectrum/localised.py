"""The smallest eigenvalue of a large sparse matrix whose low eigenvectors each live on few points.

Outlying groups of points that hang on the rest by weak edges give such vectors, and more of them the
larger the graph. A Lanczos run on the whole matrix needs long to tell them from zero. Here they are eliminated,
and where the caller lets the diagonal be raised, those below zero are raised above.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from npkl_models.linalg import UNIT, Array, Mask, Matrix, norm_bound, orthonormal_range
from npkl_models.spectrum.eigenbound import EigenBound
from npkl_models.spectrum.elimination import Elimination, raise_diagonal
from npkl_models.spectrum.lanczos import (
    LOOKS, Deflation, Recurrence, Ritz, is_local, search, tight,
)  # fmt: skip

ELIMINATED, MOST = 0.01, 10_000  # share of the points, and how many at most: their factor hardly fills up
ROUNDS = 5  # Lanczos runs on the Schur complement at most
LOW = 2.5e-3  # share of the norm: eigenvectors below are deflated, those below zero raised
FLOORS = (1.0, 0.5, 0.25, 0.1)  # of that, to which they are raised
FEW = 40  # Ritz pairs that are looked at
RAISING = 0.85  # of the allowance; the rest is for what is left of all directions
SMOOTHING = 40  # steps of refinement of the deflated directions
COUPLED = 0.3  # of the tight coupling: what is left without refinement


def by_elimination(
    S: Matrix,
    Q: Array,
    hint: Array,
    accuracy: float,
    failure: float,
    rng: np.random.Generator,
    steps: int,
    price: Array | None,
    allowance: float,
) -> EigenBound | None:
    """Lanczos on the Schur complement that is left when the points of a local vector are eliminated.

    Parameters
    ----------
    Q : ndarray of shape (n, k)
        Orthonormal, nearly mapped to zero by S.
    hint : ndarray of shape (n,)
        A mixture of low eigenvectors, such as the lowest vector of a short Lanczos run.
    price : ndarray of shape (n,), optional
        What it costs to raise each diagonal entry of S by one; None if they must not be raised.
    allowance : float
        What all raises may cost, those by the same amount at all points included.

    Returns
    -------
    EigenBound or None
        None if the eliminated block is singular.
    """
    n, upper = S.shape[0], norm_bound(S)
    few = min(int(ELIMINATED * n), MOST)
    points = np.argpartition(-np.abs(hint), few)[:few]
    try:
        T = Elimination(S, points)
    except np.linalg.LinAlgError:
        return _local_direction(S, points)
    except RuntimeError:  # a pivot is zero
        return None
    Q = Q[:, ~is_local(Q)]
    if allowance <= 0:
        price = None
    log_term = np.log(2 * ROUNDS * LOOKS * 1.648 * np.sqrt(n) / failure)
    low = LOW * upper
    W, null = np.zeros((n, 0)), np.zeros((n, 0))
    for attempt in range(ROUNDS):
        if price is not None:
            accuracy = (allowance - float(price @ T.raised)) / float(price.sum())
        held = _deflation(T, Q, null, low, COUPLED * tight(accuracy, upper) if attempt else np.inf)
        level = low / (1 + 2 * min(attempt, 1)) if attempt < ROUNDS - 1 else 0.0

        def stop(found: Ritz, run: Recurrence, held: Deflation = held, level: float = level) -> bool:
            theta = found.values
            seen = bool(theta[0] < level) and bool(np.all(_settled(found, low)[theta < low]))
            return seen or held.whole(found.lower) >= -accuracy

        start = held.remove(T.within(rng.standard_normal(n)))
        found, run = search(T, held, start, steps, log_term, stop, FEW, upper, n - points.size)
        bound = min(held.whole(found.lower), 0.0) - 8 * UNIT * upper
        if bound >= -accuracy or found.last:
            break
        new = run.combine(found.coefficients[:, found.values < 10 * low])
        W = orthonormal_range(np.hstack([W, new]), 1e-3)
        if price is not None and (found.values[0] < 0 or not attempt):
            raised = any(raise_diagonal(T, W, f * low, price, RAISING * allowance) for f in FLOORS)
            null = null[:, :0]
        else:
            raised = False
            null = np.hstack([null, new[:, _settled(found, low)[: new.shape[1]]]])
        if found.values[0] < 0 and not raised:
            return _negative(S, T.extend(new[:, :1])[:, 0])
    vector = held.lowest() if held.size else T.extend(run.combine(found.coefficients[:, :1]))[:, 0]
    raised_by = T.raised if T.raised.any() else None
    estimate = float(vector @ (S @ vector))
    return EigenBound(bound, estimate, "probable", vector, failure, held.coupling, raised_by)


def _settled(found: Ritz, low: float) -> Mask:
    """Which Ritz pairs are as good as eigenpairs, by their residuals."""
    out: Mask = found.residuals <= 0.2 * np.maximum(np.abs(found.values), low)
    return out


def _deflation(T: Elimination, Q: Array, W: Array, low: float, loose: float) -> Deflation:
    """To be deflated: range(Q) where it is near null, refined if its coupling is above ``loose``, and range(W)."""
    held = Deflation(T, np.linalg.qr(T.within(Q))[0], low)
    if not W.shape[1] and held.coupling <= loose:
        return held
    W = orthonormal_range(held.remove(W), 1e-3)
    bulk = _refined(T, held.Q, W, 0.3 * loose) if held.coupling > loose else held.Q
    return Deflation(T, np.linalg.qr(np.hstack([bulk, W]))[0], low)


def _refined(T: Elimination, bulk: Array, W: Array, wanted: float) -> Array:
    """The columns of ``bulk`` less what couples them to the rest, W left out of it, by a few steps of CG each."""
    held = Deflation(T, np.linalg.qr(np.hstack([bulk, W]))[0], np.inf)

    def product(x: Array) -> Array:
        return held.remove(T @ held.remove(x)) + held.Q @ (held.Q.T @ x)

    operator = LinearOperator(T.shape, matvec=product, dtype=float)
    out = []
    for q in bulk.T:
        across = held.remove(T @ q)
        share = min(wanted / max(float(np.linalg.norm(across)), 1e-300), 0.5)
        out.append(q - cg(operator, across, rtol=share, maxiter=SMOOTHING)[0])
    return T.within(np.column_stack(out))


def _negative(S: Matrix, vector: Array) -> EigenBound:
    estimate = float(vector @ (S @ vector))
    return EigenBound(-np.inf, estimate, "estimated", vector, 1.0)


def _local_direction(S: Matrix, points: np.ndarray) -> EigenBound:
    """A direction with negative curvature on the points themselves."""
    block = S[points][:, points]
    _, x = eigsh(block, k=1, which="SA", tol=1e-3)
    vector = np.zeros(S.shape[0])
    vector[points] = x[:, 0]
    return _negative(S, vector / np.linalg.norm(vector))

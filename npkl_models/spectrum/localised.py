"""The smallest eigenvalue of a large sparse matrix whose low eigenvectors each live on few points.

Outlying groups of points that hang on the rest by weak edges give such vectors, and more of them the
larger the graph. A Lanczos run on the whole matrix needs long to tell them from zero. Here they are eliminated,
and where the caller lets the diagonal be raised, those below zero are raised above.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from npkl_models.linalg import UNIT, Array, Matrix, norm_bound, orthonormal_range
from npkl_models.spectrum.eigenbound import EigenBound
from npkl_models.spectrum.elimination import Elimination, raise_diagonal
from npkl_models.spectrum.lanczos import (
    LOOKS, NEAR_NULL, Deflation, Recurrence, Ritz, is_local, search, tight,
)  # fmt: skip

ELIMINATED, MOST = 0.01, 10_000  # share of the points, and how many at most: their factor hardly fills up
ROUNDS = 4  # Lanczos runs on the Schur complement at most
LOW = 2.5e-3  # share of the spread below which a Ritz value is raised or at least looked at
FEW = 40  # Ritz pairs that are looked at
RAISING = 0.85  # of the allowance; the rest is for what is left of all directions
SMOOTHING = 40  # steps of refinement of the deflated directions
COUPLED = 0.3  # of the tight coupling: what is left without refinement


def by_elimination(
    S: Matrix,
    V: Array,
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
    Q = orthonormal_range(V)
    Q = Q[:, ~is_local(Q)]
    if allowance <= 0:
        price = None
    log_term = np.log(2 * ROUNDS * LOOKS * 1.648 * np.sqrt(n) / failure)
    low = LOW * upper
    W = np.zeros((n, 0))
    for attempt in range(ROUNDS):
        held = Deflation(T, np.linalg.qr(T.within(Q))[0], NEAR_NULL * upper)
        if price is not None:
            accuracy = (allowance - float(price @ T.raised)) / float(price.sum())
        if attempt and held.coupling > COUPLED * tight(accuracy, upper):
            held = Deflation(T, _refined(T, held), NEAR_NULL * upper)
        raising = attempt < ROUNDS - 1 and price is not None

        def stop(found: Ritz, run: Recurrence, held: Deflation = held, raising: bool = raising) -> bool:
            if held.whole(found.lower) >= -accuracy:
                return True
            theta = found.values
            settled = found.residuals <= 0.1 * np.maximum(np.abs(theta), low)
            seen = bool(theta[0] < low) and bool(np.all(settled[theta < low]))
            return seen and (theta[0] < 0 or (raising and not attempt))

        start_vector = held.remove(T.within(rng.standard_normal(n)))
        found, run = search(T, held, start_vector, steps, log_term, stop, FEW, upper, n - points.size)
        bound = min(held.whole(found.lower), 0.0) - 8 * UNIT * upper
        if bound >= -accuracy or not (found.values[0] < 0 or raising):
            break
        new = run.combine(found.coefficients[:, found.values < 10 * low])
        W = orthonormal_range(np.hstack([W, new]), 1e-3)
        floors = [low, 0.5 * low, 0.25 * low] if raising else []
        if not any(raise_diagonal(T, W, floor, price, RAISING * allowance) for floor in floors) and found.values[0] < 0:
            return _negative(S, T.extend(new[:, :1])[:, 0])
    vector = held.lowest() if held.size else T.extend(run.combine(found.coefficients[:, :1]))[:, 0]
    raised = T.raised if T.raised.any() else None
    estimate = float(vector @ (S @ vector))
    return EigenBound(bound, estimate, "probable", vector, failure, held.coupling, raised)


def _refined(T: Elimination, held: Deflation) -> Array:
    """The deflated directions corrected by what couples them to the complement: a few steps of CG each."""

    def product(x: Array) -> Array:
        x = x.ravel()
        return held.remove(T @ held.remove(x)) + held.Q @ (held.Q.T @ x)

    operator = LinearOperator(T.shape, matvec=product, dtype=float)
    corrected = [q - cg(operator, r, rtol=1e-3, maxiter=SMOOTHING)[0] for q, r in zip(held.Q.T, held.R.T, strict=True)]
    return np.linalg.qr(T.within(np.column_stack(corrected)))[0]


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

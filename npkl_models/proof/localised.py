"""The smallest eigenvalue of a large sparse matrix whose low eigenvectors each live on few points.

Outlying groups of points that hang on the rest by weak edges give such vectors, and more of them the
larger the graph. A Lanczos run on the whole matrix takes long to tell them from zero. Here they are
eliminated, and where the caller lets the diagonal be raised, those below zero are raised above.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from npkl_models.linalg import Array, Mask, Matrix, norm_bound, orthonormal_range
from npkl_models.proof.deflation import Deflation, is_local, tight
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.elimination import LOOSE, Elimination, raise_block, raise_diagonal
from npkl_models.proof.lanczos import Recurrence, Ritz, search, smallest_component

ELIMINATED, MOST = 0.01, 10_000  # share of the points, and how many at most: their factor hardly fills up
ROUNDS = 5  # Lanczos runs on the Schur complement at most
LOW = 2.5e-3  # share of the norm: eigenvectors below are deflated, those below zero raised
FLOORS = (1.0, 0.5, 0.25, 0.1)  # of that, to which they are raised
AGAIN = 1 / 3  # of that: in later runs, what is below is still worth another one
FEW, MODEL = 40, 10.0  # Ritz pairs that are looked at, and up to which multiple of LOW they model the rest
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
    quick: bool,
) -> EigenBound:
    """Lanczos on the Schur complement that is left when the points of a local vector are eliminated.

    Run after run: what the last one found below zero is raised if that may be done, other low eigenvectors
    are deflated, and the next one starts afresh, which its failure probability asks for.

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
    quick : bool
        Give up as soon as it is clear that the accuracy will not be reached.
    """
    n, upper = S.shape[0], norm_bound(S)
    low = LOW * upper
    price = price if allowance > 0 else None
    T = Elimination(S, _largest(hint, min(int(ELIMINATED * n), MOST)))
    try:
        T.raise_to(T.raised)
    except np.linalg.LinAlgError:
        if price is None or not raise_block(T, FLOORS[-1] * low, price, RAISING * allowance):
            return _local_direction(T, upper)
    Q = Q[:, ~is_local(Q)]
    component = smallest_component(n, failure / ROUNDS)
    W, null = np.zeros((n, 0)), np.zeros((n, 0))
    for attempt in range(ROUNDS):
        if price is not None:
            accuracy = (allowance - float(price @ T.raised)) / float(price.sum())
        held = _deflation(T, Q, null, low, COUPLED * tight(accuracy, upper) if attempt else np.inf)
        if quick and attempt and held.whole(upper) < -accuracy:
            return _unfinished(T, W)
        level = low * (AGAIN if attempt else 1.0) if attempt < ROUNDS - 1 else -np.inf
        start = held.remove(T.within(rng.standard_normal(n)))
        stop = _stop(held, low, level, accuracy)
        found, run = search(T, held, start, steps, component, stop, FEW, upper, n - T.points.size)
        bound = min(held.whole(found.lower), 0.0) - held.rounding(upper) - T.rounding(upper)
        if bound >= -accuracy or found.last:
            break
        new = run.combine(found.coefficients[:, found.values < MODEL * low])
        W = orthonormal_range(np.hstack([W, new]), 1e-3)
        raised = price is not None and (found.values[0] < 0 or not attempt)
        if price is not None and raised:
            raised = any(raise_diagonal(T, W, f * low, price, RAISING * allowance) for f in FLOORS)
        if found.values[0] < 0 and not raised:
            return _unfinished(T, W)
        good = _settled(found, low)[: new.shape[1]]
        null = null[:, :0] if raised else np.hstack([null, new[:, good]])
    if quick and bound < -accuracy and W.shape[1]:
        return _unfinished(T, W)
    vector = held.lowest() if held.size else T.extend(run.combine(found.coefficients[:, :1]))[:, 0]
    estimate, added = float(vector @ (S @ vector)), T.raised if T.raised.any() else None
    return EigenBound(bound, estimate, "probable", vector, failure, held.coupling, added)


def _largest(hint: Array, count: int) -> np.ndarray:
    """The points where a vector is largest."""
    return np.argpartition(-np.abs(hint), count)[:count]


def _settled(found: Ritz, low: float) -> Mask:
    """Which Ritz pairs are as good as eigenpairs, by their residuals."""
    out: Mask = found.residuals <= 0.2 * np.maximum(np.abs(found.values), low)
    return out


def _stop(held: Deflation, low: float, level: float, accuracy: float) -> Callable[[Ritz, Recurrence], bool]:
    """Stop when the bound is reached, or when something is below ``level`` and all below ``low`` settled."""

    def stop(found: Ritz, run: Recurrence) -> bool:
        below = found.values < low
        seen = bool(found.values[0] < level) and bool(np.all(_settled(found, low)[below]))
        return seen or held.whole(found.lower) >= -accuracy

    return stop


def _deflation(T: Elimination, Q: Array, null: Array, low: float, loose: float) -> Deflation:
    """Of range(Q) what is near null, refined if its coupling is above ``loose``, and the range of null."""
    held = Deflation(T, np.linalg.qr(T.within(Q))[0], low)
    if not null.shape[1] and held.coupling <= loose:
        return held
    null = orthonormal_range(held.remove(null), 1e-3)
    bulk = _refined(T, held.Q, null, 0.3 * loose) if held.coupling > loose else held.Q
    return Deflation(T, np.linalg.qr(np.hstack([bulk, null]))[0], low)


def _refined(T: Elimination, bulk: Array, null: Array, wanted: float) -> Array:
    """The columns of ``bulk`` less what couples them to the complement of both, by a few steps of CG each."""
    held = Deflation(T, np.linalg.qr(np.hstack([bulk, null]))[0], np.inf)

    def product(x: Array) -> Array:
        return held.remove(T @ held.remove(x)) + held.Q @ (held.Q.T @ x)

    operator = LinearOperator(T.shape, matvec=product, dtype=float)
    out = []
    for q in bulk.T:
        across = held.remove(T @ q)
        share = min(wanted / max(float(np.linalg.norm(across)), 1e-300), 0.5)
        out.append(q - cg(operator, across, rtol=share, maxiter=SMOOTHING)[0])
    return T.within(np.column_stack(out))


def _unfinished(T: Elimination, W: Array) -> EigenBound:
    """No bound, but what stands in its way."""
    X = T.extend(W)
    quotients = np.einsum("ij,ij->j", X, T.S @ X)
    low = int(np.argmin(quotients))
    return EigenBound(-np.inf, float(quotients[low]), "estimated", X[:, low], 1.0, directions=X)


def _local_direction(T: Elimination, upper: float) -> EigenBound:
    """A direction with negative curvature on the eliminated points themselves."""
    values, vectors = T.lowest(LOOSE * upper)
    x = np.zeros(T.shape[0])
    x[T.points] = vectors[:, int(np.argmin(values))]
    return EigenBound(-np.inf, float(x @ (T.S @ x)), "estimated", x, 1.0)

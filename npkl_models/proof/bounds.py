"""The smallest eigenvalue of a symmetric matrix, and how rigorously it is known.

It decides every certificate: by eigendecomposition or Cholesky it is proved, by randomised Lanczos it is
probable, a Ritz value only estimates it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError

from npkl_models.errors import unknown
from npkl_models.linalg import Array, LowRankUpdate, Matrix, dense, norm_bound, orthonormal_range
from npkl_models.linalg.threads import quiet_blas
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.factorisation import DENSE_CHOLESKY, by_cholesky, by_eigh, can_factorise
from npkl_models.proof.lanczos import by_lanczos
from npkl_models.proof.localised import by_elimination

DENSE_EIGH = 400  # largest order at which a full eigendecomposition is the quickest proof
LANCZOS_STEPS = 1_000
CHEAP_STEPS = 400  # where Cholesky can take over
ORDINARY = 200  # binary exponents up to which a norm is taken as it is
METHODS = ("auto", "eigh", "cholesky", "lanczos", "ritz")


def min_eigenvalue(
    S: Matrix,
    V: Array | None = None,
    method: str = "auto",
    accuracy: float = 0.0,
    failure_probability: float = 1e-6,
    random_state: int | np.random.Generator | None = None,
    quick: bool = False,
    price: Array | None = None,
    allowance: float = 0.0,
) -> EigenBound:
    """Bound the smallest eigenvalue of the symmetric matrix S from below.

    Parameters
    ----------
    S : sparse or dense matrix of shape (n, n)
    V : ndarray of shape (n, r), optional
        A factor with S V close to zero; Lanczos is deflated by its range.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        "auto" decomposes small matrices, else runs Lanczos, and falls back on Cholesky where a
        clustered spectrum defeats that: dense up to order 10,000, sparse where its fill is small.
    accuracy : float
        Lanczos stops once the bound is above ``-accuracy`` or its steps are spent;
        Cholesky shifts by at least this much.
    failure_probability : float
        Of the "lanczos" bound; see `lanczos`.
    quick : bool
        Give up on a sharp bound as soon as an eigenvalue below ``-accuracy`` is found.
    price : ndarray of shape (n,), optional
        What it costs to raise each diagonal entry of S by one. Beyond order 10,000 "auto" may do so where S
        has low eigenvectors that each live on few points; the result says by how much.
    allowance : float
        What all of that may cost.
    """
    exponent = max(int(np.frexp(norm_bound(S))[1]), -1_000)
    if abs(exponent) > ORDINARY:  # squares of such numbers would leave the range: a power of two is exact
        unit = float(np.ldexp(1.0, exponent))
        small = _times(S, 1 / unit)
        scaled = None if price is None else price * unit
        found = min_eigenvalue(
            small, V, method, accuracy / unit, failure_probability, random_state, quick, scaled, allowance
        )
        return found.times(unit)
    n = S.shape[0]
    automatic = method == "auto"
    if automatic:
        method = "eigh" if n <= DENSE_EIGH else "lanczos"
    rng = np.random.default_rng(random_state)
    if method == "eigh":
        return by_eigh(dense(S))
    if method not in METHODS:
        raise unknown("eigenvalue method", method, METHODS)
    steps = CHEAP_STEPS if automatic and n <= DENSE_CHOLESKY else LANCZOS_STEPS
    rough = method == "cholesky"
    local = automatic and n > DENSE_CHOLESKY and V is not None and sp.issparse(S)
    share = failure_probability / 3 if local else failure_probability  # three runs at most
    Q = np.zeros((n, 0)) if V is None else orthonormal_range(V)
    with quiet_blas(n):
        found, hint = by_lanczos(S, Q, accuracy, share, rng, steps, rough, quick, local)
        if hint is not None:
            better = _eliminated(S, Q, hint, accuracy, share, rng, steps, price, allowance, quick)
            if better is not None and (quick or better.lower > found.lower):
                found = better
            elif not quick:  # as sharp as it gets without
                found, _ = by_lanczos(S, Q, accuracy, share, rng, steps, rough, quick)
    if found.rigour == "probable":
        found = replace(found, failure_probability=failure_probability)
    if method == "ritz":
        return EigenBound(found.estimate, found.estimate, "estimated", found.vector, 1.0)
    if quick and (found.estimate < -accuracy or not np.isfinite(found.lower)):
        return found
    beaten = automatic and found.lower < -accuracy and can_factorise(S)  # a clustered spectrum
    if beaten and quick and found.coupling > accuracy:  # rather go on until V is more stationary
        return found
    return by_cholesky(S, found, accuracy) if rough or beaten else found


def _eliminated(*given: Any) -> EigenBound | None:
    """`by_elimination`, None where an eigenvalue iteration of its own does not converge."""
    try:
        return by_elimination(*given)
    except (ArpackError, RuntimeError, np.linalg.LinAlgError):
        return None


def _times(S: Matrix, factor: float) -> Matrix:
    if isinstance(S, LowRankUpdate):
        return LowRankUpdate(S.S * factor, S.W, S.mu * factor)
    return S * factor

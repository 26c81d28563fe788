"""A proved lower bound on the spectrum of a matrix without positive off-diagonal entries."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from npkl_models.linalg import DENSE_SPECTRUM, LONG_EPS, UNIT, Array, Matrix, norm_bound

PERRON_STEPS = 30
SWEEPS = 4


def perron_interval(C: Matrix) -> tuple[float, float]:
    """A proved lower bound on the smallest eigenvalue of a sparse matrix without positive off-diagonals.

    For any x > 0 the smallest eigenvalue is at least min_i (C x)_i / x_i (Collatz & Wielandt). Inverse
    iteration brings x near the Perron vector. The bound includes its rounding, so x need not be exact. The
    bound is -inf if the signs do not fit. The method uses sparse products alone.

    The second number is the least Rayleigh quotient of x, which is not below the eigenvalue, up to rounding.
    If it is of the size of rounding, C is singular, and a bound of zero is the best possible.
    """
    best, above, failures = float("-inf"), float("inf"), 0
    if not _signed(C):
        return best, above
    size, terms, x = abs(C), float(np.diff(C.indptr).max()) + 2, np.ones(C.shape[0])
    for _ in range(PERRON_STEPS):
        Cx = C @ x
        ratio = Cx / x
        low = float(np.min(ratio - terms * UNIT * (size @ x) / x))
        above = min(above, float(x @ Cx) / float(x @ x))
        singular = above <= 2 * terms * UNIT * norm_bound(C)  # by rounding of C, and of the product
        best = max(best, low)
        if singular and best < 0:
            best = max(best, 0.0 if dominant(C) else collatz(C, x))
        if (singular and best >= 0) or float(np.max(ratio)) - low <= 1e-3 * abs(low):
            break
        y, failed = cg(C, x, rtol=1e-8, maxiter=500)
        failures += failed > 0  # any y > 0 gives a bound, and the next solve may begin nearer
        if failures > 1 or not bool(np.all(y > 0)):
            break
        x = y / np.max(y)
    return best, above


def dominant(C: Matrix) -> bool:
    """Whether each diagonal entry is at least the sum of the other absolute values in its row, exactly.

    If so, C is PSD (Gershgorin 1931). An example is a graph Laplacian whose rows sum to zero. The sign of a
    sum of floating-point numbers is found without rounding (Shewchuk 1997).
    """
    sizes = C.copy()
    sizes.data = -np.abs(C.data)
    sizes = sp.csr_array(sizes + sp.diags_array(np.abs(C.diagonal()) + C.diagonal()))
    rows = np.split(sizes.data, sizes.indptr[1:-1])
    return bool(np.isfinite(sizes.data).all()) and all(math.fsum(row) >= 0 for row in rows)


def perron_vector(C: Matrix) -> Array | None:
    """A positive unit vector near the lowest eigenvector of a connected matrix, off-diagonals <= 0.

    C should be singular up to rounding. The vector comes from a dense eigendecomposition and inverse
    iteration, up to order 1,500 (None beyond). Jacobi's iteration then leaves no entry with a large relative
    error.
    """
    n = C.shape[0]
    if n > DENSE_SPECTRUM or not _signed(C):
        return None
    diagonal = C.diagonal()
    if not (diagonal > 0).all():
        return np.ones(1) if n == 1 else None
    x = _inverse_iteration(C.toarray())
    rest = sp.diags_array(diagonal) - C
    for _ in range(SWEEPS if n > 1 else 0):
        x = (rest @ x) / diagonal
    if not bool((x > 0).all()):
        return None
    even = np.full(n, n**-0.5)  # the null vector of a Laplacian that is not normalised
    return even if collatz(C, even) > collatz(C, x) else x / np.linalg.norm(x)


def _inverse_iteration(C: Array) -> Array:
    values, vectors = np.linalg.eigh(C)
    x = np.abs(vectors[:, 0])
    level = values[0] - 4 * UNIT * len(x) * abs(values[-1])  # below the spectrum
    with contextlib.suppress(np.linalg.LinAlgError):
        for _ in range(2):
            x = np.abs(np.linalg.solve(C - level * np.eye(len(x)), x))
            x /= np.max(x)
    return x


def collatz(C: Matrix, x: Array) -> float:
    """A proved lower bound on the smallest eigenvalue, from any x > 0: min_i (C x)_i / x_i less rounding.

    The bound is -inf for matrices with positive off-diagonals. Sums are in long double, where the machine has
    it, since bounds of the size of rounding matter.
    """
    if not _signed(C) or not bool((x > 0).all()):
        return float("-inf")
    C, wide = sp.csr_array(C), x.astype(np.longdouble)
    owner = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
    products = C.data.astype(np.longdouble) * wide[C.indices]
    total, size = np.zeros_like(wide), np.zeros_like(wide)
    np.add.at(total, owner, products)
    np.add.at(size, owner, np.abs(products))
    steps = float(np.diff(C.indptr).max(initial=0)) + 4
    low = np.min((total - steps * LONG_EPS * size) / wide)
    return float(low) - 2 * UNIT * abs(float(low))


def _signed(C: Matrix) -> bool:
    """Whether no entry off the diagonal is positive."""
    coo = C.tocoo()
    return not bool(np.any(coo.data[coo.row != coo.col] > 0))

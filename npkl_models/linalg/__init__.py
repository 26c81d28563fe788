"""Dense and iterative linear algebra: arrays in, arrays out.

Bounds on the smallest eigenvalue of a large matrix are in `proof`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse.linalg import SuperLU, splu

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Matrix = Any  # a scipy sparse array or a dense ndarray; both take `@`

UNIT = float(np.finfo(np.float64).eps) / 2  # unit roundoff
TINY = float(np.finfo(np.float64).tiny)  # the smallest normal number, a bound on the loss by underflow
LONG_EPS = float(np.finfo(np.longdouble).eps)  # of long double
SKEW = 1e-10  # relative to the largest entry: largest asymmetry of a matrix that should be symmetric
FEWEST = 64  # products in a sum of `summed`: fewer would take longer
LINE = 64  # bytes of a cache line
WIDE = 1_000  # rows and columns above which eigenvalues of a Gram matrix replace singular values
LONG = 5_000_000  # numbers of a factor above which products replace its singular value decomposition
PART = 2**18  # rows of a long matrix, or numbers of long vectors, that are computed at once
DENSE_SPECTRUM = 1_500  # largest order at which all eigenvalues are computed
RAISES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # shares added to a diagonal if rounding has made it indefinite
PLAIN = 90_000  # numbers of a matrix up to which products with a plain array are quicker than sparse ones


def gamma(operations: float) -> float:
    """A bound on the relative error of so many operations in sequence (Higham 2002, lemma 3.1)."""
    product = operations * UNIT
    return product / (1 - product) if product < 0.5 else float("inf")


@dataclass(frozen=True, eq=False)
class LowRankUpdate:
    """The symmetric matrix S + W diag(mu) W' with orthonormal W (n x k), never formed."""

    S: Matrix
    W: Array
    mu: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.S.shape[0], self.S.shape[0])

    def __mul__(self, factor: float) -> LowRankUpdate:
        return LowRankUpdate(self.S * factor, self.W, self.mu * factor)

    def __matmul__(self, X: Array) -> Array:
        inner = summed(self.W, X) if X.ndim == 1 else summed_products(self.W, X)
        return self.S @ X + (self.W * self.mu) @ inner


def chunk(n: int) -> int:
    """How many of n products `summed` adds at a time: a sum errs by about 2 sqrt(n) units of roundoff."""
    return max(int(np.sqrt(n)), FEWEST)


def summed(Q: Array, x: Array) -> Array:
    """Q'x for Q (n x k) and x (n,), in sums of `chunk` products: its rounding grows with the root of n."""
    step, size = chunk(x.size), Q.shape[1]
    count = x.size // step
    whole = count * step
    parts, last = x[:whole].reshape(count, step), Q.T[:, whole:] @ x[whole:]
    if Q.flags.c_contiguous:
        total: Array = np.einsum("mbk,mb->mk", Q[:whole].reshape(count, step, size), parts).sum(axis=0)
    else:
        total = np.einsum("kmb,mb->km", Q.T[:, :whole].reshape(size, count, step), parts).sum(axis=1)
    return total + last


def summed_products(Q: Array, X: Array) -> Array:
    """Q'X for Q (n x k) and X (n x m), in sums of `chunk` products as in `summed`."""
    out, step = np.zeros((Q.shape[1], X.shape[1])), chunk(len(X))
    for first in range(0, len(X), step):
        out += Q[first : first + step].T @ X[first : first + step]
    return out


def dense(A: Matrix) -> Array:
    """A dense copy of a sparse, dense or low-rank-updated matrix."""
    if isinstance(A, LowRankUpdate):
        return dense(A.S) + (A.W * A.mu) @ A.W.T
    return A.toarray() if sp.issparse(A) else np.array(A, dtype=float)


def symmetrize(A: Array) -> Array:
    """The symmetric part (A + A') / 2."""
    return (A + A.T) * 0.5


def doubly_centred(A: Array) -> Array:
    """HAH with H = I - 11'/n, symmetrised; each row of the result sums to zero up to rounding."""
    rows = A - A.mean(axis=0)
    return symmetrize(rows - rows.mean(axis=1)[:, None])


def psd_factor(K: Array) -> Array:
    """Factor V (n x r) of the nearest PSD matrix, V V' = K+."""
    values, vectors = scipy.linalg.eigh(symmetrize(K), driver="evd")
    keep = values > 0
    return vectors[:, keep] * np.sqrt(values[keep])


def aligned(A: Array) -> Array:
    """A copy that begins on a cache line, so that rows of eight numbers take one line each."""
    raw = np.empty(A.size * 8 + LINE, dtype=np.uint8)
    first = -raw.ctypes.data % LINE
    out: Array = raw[first : first + A.size * 8].view(np.float64).reshape(A.shape)
    out[:] = A
    return out


def frobenius(A: Array) -> float:
    """Frobenius norm without BLAS, whose threads cost more than the sum for factors of common size."""
    flat = A.ravel()
    return float(np.sqrt(np.einsum("i,i->", flat, flat)))


def gram_eigenvalues(V: Array) -> Array:
    """The non-zero eigenvalues of V V' (at most r of them), descending; infinite for numbers out of range.

    If V has more than 1,000 rows and columns, they are the eigenvalues of V'V or VV'. This is several times
    quicker, with errors up to n sqrt(r) units of roundoff of the trace. Otherwise they are squared singular
    values, which are more accurate.
    """
    if not np.isfinite(V).all():
        return np.full(min(V.shape), np.inf)
    if min(V.shape) > WIDE:
        gram = V.T @ V if V.shape[1] <= V.shape[0] else V @ V.T
        if np.isfinite(gram).all():
            return np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
    return np.linalg.svd(V, compute_uv=False) ** 2 if V.size else np.zeros(0)


def lowest_pairs(A: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` smallest eigenvalues of a symmetric matrix, ascending, and their vectors (n x count).

    LAPACK's method for a few eigenvalues fails if some are close together. Then all eigenvalues are computed.
    """
    try:
        values, vectors = scipy.linalg.eigh(A, subset_by_index=[0, count - 1])
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(A)
    return values[:count], vectors[:, :count]


def numerical_rank(V: Array) -> int:
    """Number of eigenvalues of V V' above 1e-7 times the largest one."""
    values = gram_eigenvalues(V)
    return int(np.sum(values > 1e-7 * values[0])) if values.size and values[0] > 0 else 0


def pataki_rank(m: int, n: int) -> int:
    """Largest r <= n with r (r + 1) / 2 <= m (Pataki 1998; the rule of the papers)."""
    return int(np.clip((np.sqrt(8 * m + 1) - 1) // 2, 1, n))


def schatten_norm(values: Array, q: float) -> float:
    """(sum |x|^q)^(1/q), and max |x| for q = inf; scaled against overflow."""
    top = float(np.max(np.abs(values), initial=0.0))
    if top == 0.0 or np.isinf(q) or not np.isfinite(top):
        return top if top == top else float("inf")
    return top * float(np.sum((np.abs(values) / top) ** q) ** (1.0 / q))


def norm_bound(S: Matrix) -> float:
    """Upper bound on the spectral norm of a symmetric matrix: largest absolute row sum."""
    if isinstance(S, LowRankUpdate):
        return norm_bound(S.S) + float(np.max(np.abs(S.mu), initial=0.0))
    return float(absolute_row_sums(S).max(initial=0.0))


def absolute_row_sums(S: Matrix, x: Array | None = None) -> Array:
    """Row sums of |S| (n), or of |S| diag(x) for x (n); a CSR array is not copied."""
    if not (sp.issparse(S) and S.format == "csr"):
        return np.asarray(abs(S).sum(axis=1) if x is None else abs(S) @ x, dtype=float).ravel()
    numbers, out = np.abs(S.data), np.zeros(S.shape[0])
    filled = np.diff(S.indptr) > 0
    if numbers.size:
        own = numbers if x is None else numbers * x[S.indices]
        out[filled] = np.add.reduceat(own[: S.indptr[-1]], S.indptr[:-1][filled])
    return out


def nonnegative_norm(product: Callable[[Array], Array], size: int, turns: int = 12) -> float:
    """An upper bound on the spectral norm of a symmetric matrix without negative entries, by its products.

    For any d > 0 the norm is at most the largest (A d)_i / d_i (Collatz 1942); d comes from power iterations,
    until this is within a hundredth of a Rayleigh quotient. The ``product`` may err by 1e-7 of itself.
    """
    d, least = np.ones(size), np.inf
    for _ in range(turns if size else 0):
        image = product(d)
        least = min(least, float(np.max(image / d)))
        top = float(np.max(image))
        if not (0 < top < np.inf) or least * float(d @ d) <= 1.01 * float(d @ image):
            break
        d = np.maximum(image / top, 1e-6 * d)
    return least * (1 + 1e-6) if size else 0.0


def without_diagonal(A: Matrix) -> Matrix:
    """A CSR copy whose diagonal entries are not stored."""
    out = sp.csr_array(A, copy=True)
    out.setdiag(0)
    out.eliminate_zeros()
    return out


def symmetric_lu(A: Matrix, order: str = "MMD_AT_PLUS_A", **options: Any) -> SuperLU:
    """Sparse factors of a symmetric matrix with its pivots on the diagonal; RuntimeError for a zero pivot."""
    return splu(A, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True, **options})


def definite_lu(A: Matrix, order: str = "MMD_AT_PLUS_A") -> SuperLU | None:
    """Sparse factors of a positive definite matrix, unscaled, in one order for rows and columns; or None."""
    try:
        factor = symmetric_lu(A, order, Equil=False)
    except RuntimeError:  # a pivot is zero
        return None
    symmetric = np.array_equal(factor.perm_r, factor.perm_c)
    return factor if symmetric and bool(np.all(factor.U.diagonal() > 0)) else None


def raised_cholesky(A: Array, name: str = "the matrix") -> tuple[Array, bool]:
    """The Cholesky factor (`scipy.linalg.cho_factor`) of a symmetric matrix, which is overwritten.

    The diagonal is raised by the first share of `RAISES` for which the factorisation succeeds. A diagonal
    entry that is not positive counts as one. A LinAlgError is raised if all shares fail.
    """
    diagonal = A.diagonal()
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    for attempt, share in enumerate(RAISES):
        trial = np.triu(A).T if attempt else A  # a failure overwrites the lower part
        np.fill_diagonal(trial, diagonal * (1 + share))
        factor, failed = lapack.dpotrf(trial, lower=1, overwrite_a=1, clean=0) if A.size else (A, 0)
        if not failed:
            return factor, True
    raise np.linalg.LinAlgError(f"{name} is not positive definite")


def longest_row(S: Matrix) -> int:
    """The largest number of products in an entry of S X."""
    if isinstance(S, LowRankUpdate):
        return longest_row(S.S) + 2 * S.mu.size
    if sp.issparse(S):
        return int(np.diff(sp.csr_array(S).indptr).max(initial=0))
    whole = getattr(S, "whole", None)  # a sparse matrix in blocks for threads
    return int(S.shape[0]) if whole is None else longest_row(whole)


def orthonormal_range(V: Array, rtol: float = 1e-6) -> Array:
    """Orthonormal basis (n x k) of the range of V without negligible directions."""
    if not V.size:
        return np.zeros((V.shape[0], 0))
    if V.size > LONG and V.shape[1] <= WIDE and np.isfinite(V).all():
        return _by_gram(V, rtol)
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    return U[:, s > rtol * s[0]] if s[0] > 0 else U[:, :0]


def _by_gram(V: Array, rtol: float) -> Array:
    """The same basis from V'V, in the memory of one copy of V instead of four.

    Small singular values leave the first basis orthonormal to 1e-16 / rtol^2 only. The nearest orthonormal
    basis replaces it (Loewdin 1950). Another one would mix directions of large and of small singular values.
    """
    values, vectors = np.linalg.eigh(V.T @ V)
    kept = np.flatnonzero(values > max(rtol**2 * values[-1], 0.0))[::-1]
    rough: Array = V @ (vectors[:, kept] / np.sqrt(values[kept]))
    values, vectors = np.linalg.eigh(rough.T @ rough)
    turn = (vectors / np.sqrt(values)) @ vectors.T
    for first in range(0, len(rough), PART):
        rough[first : first + PART] = rough[first : first + PART] @ turn
    return rough


def positions(A: Matrix, rows: Index, columns: Index) -> Index:
    """The positions of the entries (row, column) in the data of a CSR array with sorted indices."""
    n = A.shape[1]
    keys = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) * n + A.indices
    wanted = rows.astype(np.intp) * n + columns
    order = np.argsort(wanted)  # sorted, the search walks through memory instead of jumping
    out = np.empty_like(order)
    out[order] = np.searchsorted(keys, wanted[order])
    return out

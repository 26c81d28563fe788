"""Proofs of the smallest eigenvalue by a factorisation that succeeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu

from npkl_models.linalg import (
    TINY,
    UNIT,
    Array,
    Index,
    Matrix,
    definite_lu,
    dense,
    gamma,
    lowest_pairs,
    norm_bound,
)
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.lanczos import ROUGH

DENSE_CHOLESKY = 10_000  # largest order for a dense Cholesky factorisation
SPARSE_FILL = 2e7  # largest envelope for a sparse factorisation
SPARSE_WORK = 5e10  # largest number of operations of a sparse factorisation
MANY = 20.0  # a row with this many times the mean number of entries is factorised last
DENSE_IS_QUICKER = 80.0  # a dense operation is this many times quicker than a sparse one
LARGE = 400  # order above which the trace is a coarse measure of the rounding errors
COLUMNS = 256  # columns of a factor whose absolute values are formed at a time
ATTEMPTS = 12
SHARES = (0.95, 0.5)  # of an eigenvalue, tried in turn


def by_eigh(S: Array) -> EigenBound:
    """Compute the smallest eigenvalue, and prove it by Cholesky of S minus a number just below it."""
    values, vectors = lowest_pairs(S, 1)
    low, scale = float(values[0]), norm_bound(S)
    margin = 4 * (S.shape[0] + 4) * UNIT * scale + TINY
    found = _first_floor(_dense_floor, S, [4.0**k * margin - low for k in range(ATTEMPTS)], scale)
    if found is None:
        return EigenBound(-np.inf, low, "estimated", vectors[:, 0], 1.0)
    return EigenBound(found[0], low, "proved", vectors[:, 0])


def _first_floor(
    floor_of: Callable[[Matrix, float], float | None], S: Matrix, shifts: list[float], scale: float
) -> tuple[float, int] | None:
    """The floor of the spectrum of S, and the index, of the first shift whose factorisation succeeds."""
    for k, shift in enumerate(shifts):
        floor = floor_of(S, shift)
        if floor is not None:
            return floor - shift - 2 * UNIT * (scale + abs(shift)), k
    return None


def can_factorise(S: Matrix) -> bool:
    """Whether a factorisation stays within the limits of memory and work."""
    return S.shape[0] <= DENSE_CHOLESKY or sparse_order(S) is not None


def least_margin(S: Matrix) -> float:
    """What a factorisation pays at least for its rounding; a floor above minus that is as good as proved."""
    return 16 * S.shape[0] * UNIT * norm_bound(S)


def by_cholesky(S: Matrix, guess: EigenBound, accuracy: float, again: bool = False) -> EigenBound:
    """Prove lambda_min >= -shift by a factorisation of S + shift I that succeeds."""
    order = sparse_order(S)
    if order is None and S.shape[0] > DENSE_CHOLESKY:
        return guess
    scale = norm_bound(S)
    base = max(accuracy, 0.25 * least_margin(S))  # what it pays is a fifth, on graphs of 4,000 points
    margin = max(base, ROUGH * guess.estimate)
    shifts = [4.0**k * margin - guess.estimate for k in range(ATTEMPTS)]
    if guess.estimate > 0:  # the eigenvalue may be zero, and the estimate rounding
        shifts = sorted([base, *shifts])
    if order is None:
        proved = _first_floor(_dense_floor, S, shifts, scale)
    else:
        proved = _first_floor(_sparse_floor, sp.csc_array(S[order][:, order]), shifts, scale)
    if proved is None:
        return guess
    lower, k = proved
    found = EigenBound(lower, guess.estimate, "proved", guess.vector)
    fine = k == 0 or again or lower >= -accuracy
    return found if fine else _lower_than_guessed(S, found, shifts[k], accuracy)


def _lower_than_guessed(S: Matrix, found: EigenBound, shift: float, accuracy: float) -> EigenBound:
    """Find the eigenvalue below the guess that made factorisations fail, and prove it once more."""
    n = S.shape[0]
    try:
        if n <= DENSE_CHOLESKY:
            A = dense(S).T
            A[np.diag_indices(n)] += shift
            factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            solve: Callable[[Array], Array] = partial(scipy.linalg.cho_solve, factor, check_finite=False)
        else:
            solve = splu(sp.csc_array(S + shift * sp.eye_array(n, format="csc"))).solve
        inverse = LinearOperator((n, n), matvec=solve, dtype=float)
        start = np.random.default_rng(0).standard_normal(n)
        whole = S if sp.issparse(S) else LinearOperator((n, n), matvec=lambda x: S @ x, dtype=float)
        _, vectors = eigsh(whole, k=1, sigma=-shift, OPinv=inverse, v0=start, tol=1e-6)
    except (ArpackError, RuntimeError, np.linalg.LinAlgError):
        return found
    vector = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    estimate = float(vector @ (S @ vector))
    if not estimate < found.estimate:
        return found
    better = by_cholesky(S, EigenBound(-np.inf, estimate, "estimated", vector), accuracy, again=True)
    return better if better.lower > found.lower else replace(found, estimate=estimate, vector=vector)


def eigenvalue_floor(G: Array) -> float:
    """A proved lower bound on the smallest eigenvalue of a dense matrix that should be positive definite."""
    low = float(lowest_pairs(G, 1)[0][0])
    found = _first_floor(_dense_floor, G, [-share * low for share in SHARES if low > 0], norm_bound(G))
    return 0.0 if found is None else found[0]


def positive_definite(S: Matrix, error: Array) -> bool:
    """Whether every symmetric matrix near S is proved to be positive definite, by dense factorisations.

    Near means that row i of the difference has absolute values with the sum ``error[i]`` or less. Each row
    has a margin of its own for the rounding errors of the factorisation, the row sum of c |L| |L'| as in
    `_dense_floor`. So rows of small numbers are not judged by the largest numbers of the matrix.
    """
    n = S.shape[0]
    A, unit = np.asfortranarray(dense(S)), gamma(n + 4) * (1 + 4 * n * UNIT)
    given, margin = A.diagonal().copy(), np.zeros(n)
    for _ in range(3):  # the first one shows what margin is needed
        try:
            L = scipy.linalg.cholesky(A, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return False
        needed = error + unit * _row_sums(L) + 4 * UNIT * (np.abs(given) + margin) + n * TINY
        if (needed <= margin).all():
            return True
        margin = 2 * needed
        A[np.diag_indices(n)] = given - margin
    return False


def sparse_order(S: Matrix, at_any_order: bool = False) -> Index | None:
    """An order of the rows in which a sparse factorisation is small and quicker than a dense one; or None.

    The fill stays within the envelope, which reverse Cuthill-McKee makes small (George & Liu 1981). A few
    rows with many entries, such as those of anchors, come last: they would join all rows at once. Large
    matrices have no dense factorisation to compare with, except ``at_any_order``.
    """
    if not sp.issparse(S):
        return None
    pattern = sp.csr_array(S)
    entries = np.diff(pattern.indptr)
    many = entries > MANY * np.mean(entries)
    first, last = np.flatnonzero(~many), np.flatnonzero(many)
    inner = pattern[first][:, first] if last.size else pattern
    order = np.concatenate([first[reverse_cuthill_mckee(sp.csr_array(inner), symmetric_mode=True)], last])
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    row, column = pattern.nonzero()
    first = place.copy()
    np.minimum.at(first, row, place[column])
    width = (place - first).astype(float)
    work = float(np.sum(width**2))
    dense = order.size**3 / 3 / DENSE_IS_QUICKER if at_any_order or order.size <= DENSE_CHOLESKY else np.inf
    return None if width.sum() > SPARSE_FILL or work > min(SPARSE_WORK, dense) else order


def _dense_floor(S: Matrix, shift: float) -> float | None:
    """A floor of the spectrum of S + shift I; None if Cholesky breaks down.

    If floating-point Cholesky of A succeeds, then lambda_min(A) >= -c tr(A) with
    c = (n + 2) u / (1 - (n + 2) u) (Rump 2006, "Verification of positive definiteness"). The computed factor
    L has L L' = A + E with |E| <= c |L| |L'| (Higham 2002, theorem 10.3). The largest row sum of c |L| |L'|
    bounds the norm of E, and is the smaller bound if weights differ widely. LAPACK works in blocks and
    overwrites the array.
    """
    n = S.shape[0]
    A = dense(S).T  # column by column in memory, so that LAPACK overwrites it
    A[np.diag_indices(n)] += shift
    trace = float(np.abs(A.diagonal()).sum())
    try:
        L = scipy.linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    paid = gamma(n + 2) * trace
    if n > LARGE:  # the shift and the sums are rounded, too
        paid = min(paid, gamma(n + 4) * float(_row_sums(L).max()) * (1 + 4 * n * UNIT))
    return -paid - n * TINY


def _row_sums(L: Array) -> Array:
    """The row sums of |L| |L'|, from a few columns of L at a time."""
    total = np.zeros(len(L))
    for start in range(0, len(L), COLUMNS):
        size = np.abs(L[:, start : start + COLUMNS])
        total += size @ size.sum(axis=0)
    return total


def _sparse_floor(S: Matrix, shift: float) -> float | None:
    """The floor -||R|| of the spectrum of S + shift I = L D L' + R with D > 0, where R is evaluated."""
    n = S.shape[0]
    A = sp.csc_array(S + shift * sp.eye_array(n, format="csc"))
    factor = definite_lu(A, "NATURAL")
    if factor is None or not np.array_equal(factor.perm_r, np.arange(n)):
        return None
    D, L = factor.U.diagonal(), sp.csr_array(factor.L)
    R = abs(A - (L * D) @ L.T)
    size = abs(L)
    magnitude = size @ (D * (size.T @ np.ones(n)))  # row sums of |L| D |L'|
    terms = float(np.diff(L.indptr).max()) + 3
    return -float(np.max(R.sum(axis=1) * (1 + n * UNIT) + 2 * terms * UNIT * magnitude))

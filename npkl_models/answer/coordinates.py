"""Coordinates of points along the leading eigenvectors of a kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, doubly_centred
from npkl_models.linalg.owned import finite, real_array

ROUNDING = 1e-8  # largest asymmetry and negative eigenvalue of a kernel, relative to its largest value


def coordinates(given: Solution | ArrayLike, size: int = 2) -> Array:
    """Coordinates of the points along the leading eigenvectors of the centred kernel.

    Parameters
    ----------
    given : Solution or array_like
        A solution, a kernel (n x n), or a factor V (n x r) with r < n.
    size : int
        Number d of coordinates, at least 1.

    Returns
    -------
    ndarray of shape (n, d)
        The coordinates. Column k has the squared length lambda_k, the k-th eigenvalue. The first of its
        largest entries is positive. Columns beyond the rank are zero.

    Raises
    ------
    ProblemError
        If a kernel is not symmetric, if numbers are not finite, or if ``size`` is below 1.
    SolverError
        If a solution has no kernel.

    Notes
    -----
    Torgerson 1952 (classical scaling); Scholkopf, Smola & Muller, Neural Computation 10, 1998. Negative
    eigenvalues, which only an invalid kernel has, count as zero.
    """
    if not size >= 1:
        raise ProblemError(f"size must be an integer >= 1, got {size!r}")
    axes, values = principal(given)
    out = np.zeros((len(axes), int(size)))
    columns = (axes * np.sqrt(values))[:, : int(size)]
    top = np.round(np.abs(columns) / max(float(np.abs(columns).max(initial=0.0)), 1e-300), 9).argmax(axis=0)
    sign = np.where(columns[top, np.arange(top.size)] < 0, -1.0, 1.0)
    out[:, : columns.shape[1]] = columns * sign
    return out


def principal(given: Solution | ArrayLike) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of the centred kernel, the largest first."""
    if isinstance(given, Solution):
        return _of_factor(factor_of(given))
    A = finite(real_array(given, "a kernel"), "a kernel")
    if A.ndim != 2 or A.shape[1] > A.shape[0]:
        raise ProblemError(f"a kernel must have shape (n, n), and a factor (n, r), got shape {A.shape}")
    if A.shape[0] > A.shape[1]:
        return _of_factor(A)
    if np.abs(A - A.T).max() > ROUNDING * np.abs(A).max():
        raise ProblemError("a kernel must be symmetric, got an unsymmetric matrix")
    values, vectors = np.linalg.eigh(doubly_centred(A))
    return vectors[:, ::-1], np.maximum(values[::-1], 0.0)


def _of_factor(V: Array) -> tuple[Array, Array]:
    U, s, _ = np.linalg.svd(V - V.mean(axis=0), full_matrices=False)
    return U, s**2

"""Rows of the factor for new points, which the solved problem does not contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import finite, real_array, real_matrix
from npkl_models.model.graph import affinity, check_points, graph_width, laplacian


def extend(V: Array, affinity: Any, among_new: Any = None, shift: float = 0.0) -> Array:
    """Rows of V for new points: the minimiser of the Laplacian energy with the old rows fixed.

    Let S_NO be the affinities between new and old points, S_NN the affinities among new points, and D the
    total affinities of the new points. The rows solve ((D + shift D) - S_NN) V_N = S_NO V, a sparse linear
    system. They are the fixed point of the iteration (17) of Hu & Kwok (IEEE TNNLS 26, 2015, section III-E)
    for the unnormalised Laplacian. The degrees of old points do not change.

    Parameters
    ----------
    V : ndarray of shape (n, r)
        Factor of the kernel of the old points.
    affinity : array_like or sparse of shape (m, n)
        Non-negative affinities between m new points and the n old points. Every new point must be joined to
        an old point, directly or through other new points.
    among_new : array_like or sparse of shape (m, m), optional
        Symmetric affinities among the new points.
    shift : float
        Relative shift of the Laplacian; it draws the new rows towards zero.

    Returns
    -------
    ndarray of shape (m, r)
        One row for each new point.
    """
    A, V = _affinity(affinity, "affinity"), real_array(V, "V")
    m = A.shape[0]
    if A.shape[1] != V.shape[0]:
        raise ProblemError(
            f"affinity must have a column for each of the {V.shape[0]} old points, got shape {A.shape}"
        )
    B = sp.csr_array((m, m)) if among_new is None else _affinity(among_new, "among_new")
    if B.shape != (m, m) or abs(B - B.T).sum() > 1e-10 * max(1.0, abs(B).sum()):
        raise ProblemError(f"among_new must be symmetric of shape ({m}, {m}), got shape {B.shape}")
    if not (np.isfinite(shift) and shift >= 0):
        raise ProblemError(f"shift must be a finite number >= 0, got {shift}")
    _require_joined(A, B)
    to_old = np.asarray(A.sum(axis=1)).ravel()
    degree = to_old + np.asarray(B.sum(axis=1)).ravel()
    system = (sp.diags_array((1 + shift) * degree) - B).tocsc()
    return np.asarray(spsolve(system, np.asarray(A @ V))).reshape(m, V.shape[1])


def extend_points(
    V: Array, X: Any, X_new: Any, n_neighbors: int = 5, shift: float = 0.0, sigma: float | str = "auto",
    metric: str = "euclidean", steps: int | None = None,
) -> Array:  # fmt: skip
    """Rows of V for new points as printed by Hu & Kwok: L_OO V_O = -L_OI V_I with the normalised Laplacian.

    The graph contains all points, old and new; its width is the one that `knn_affinity` finds for the old
    points alone. Unlike in `extend`, the degrees of old points change. With a shift, points that are not
    joined to an old point, directly or through other points, get rows of zeros.

    Source: IEEE TNNLS 26(9), 2015, section III-E and eq. (17).

    Parameters
    ----------
    V : ndarray of shape (n, r)
        Factor of the kernel of the old points.
    X : array_like or sparse of shape (n, d)
        The old points, to which V belongs.
    X_new : array_like or sparse of shape (m, d)
        The new points.
    n_neighbors, sigma, metric
        Parameters of `knn_affinity`; use the values with which the Laplacian of the problem was made.
    shift : float
        Shift of the Laplacian (delta in the source). If it is 0, every new point must be joined to an old
        point.
    steps : int, optional
        Number of steps of the iteration (17) from zero. None solves for the limit of the iteration.

    Returns
    -------
    ndarray of shape (m, r)
        One row for each new point.
    """
    old, new, V = check_points(X), check_points(X_new, least=1), real_array(V, "V")
    if old.shape[0] != V.shape[0] or old.shape[1] != new.shape[1]:
        raise ProblemError(
            f"X must have {V.shape[0]} rows like V, and X_new must have as many columns as X, "
            f"got shapes {old.shape} and {new.shape}"
        )
    if steps is not None and not (isinstance(steps, (int, np.integer)) and steps >= 1):
        raise ProblemError(f"steps must be an integer >= 1 or None, got {steps!r}")
    width = graph_width(old, n_neighbors, sigma, metric)
    both = sp.vstack([old, new]) if sp.issparse(old) or sp.issparse(new) else np.concatenate([old, new])
    S = affinity(both, n_neighbors, width if np.isfinite(width) else "binary", metric)
    n = V.shape[0]
    L = laplacian(S, shift=shift)[n:]
    across, among = L[:, :n], sp.csc_array(L[:, n:])
    if shift == 0:
        _require_joined(-across, sp.csr_array(S)[n:, n:])
    right = -np.asarray(across @ V)
    if steps is None:
        return np.asarray(spsolve(among, right)).reshape(right.shape)
    D, rows = among.diagonal()[:, None], np.zeros_like(right)
    for _ in range(steps):
        rows = rows + (right - among @ rows) / D
    return rows


def _require_joined(to_old: Any, among_new: Any) -> None:
    """Raise an error unless every new point is joined to an old one, perhaps through other new ones."""
    labels = sp.csgraph.connected_components(among_new, directed=False)[1]
    own = np.asarray(to_old.sum(axis=1)).ravel()
    reached = np.bincount(labels, weights=own, minlength=labels.max(initial=0) + 1) > 0
    if not reached[labels].all():
        lonely = np.flatnonzero(~reached[labels])[:5].tolist()
        raise ProblemError(f"every new point must be joined to an old point, got no edges for {lonely}")


def _affinity(values: Any, name: str) -> Any:
    S = real_matrix(values, name)
    if S.ndim != 2:
        raise ProblemError(f"{name} must be a matrix, got shape {S.shape}")
    S = finite(sp.csr_array(S), name)
    if (S.data < 0).any():
        raise ProblemError(f"{name} must be non-negative, got {S.data.min()}")
    return S

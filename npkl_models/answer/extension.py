"""Kernel values for points that were not there when the problem was solved."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array


def extend(V: Array, affinity: Any, among_new: Any = None, shift: float = 0.0) -> Array:
    """Rows of V for new points: the minimiser of the Laplacian energy with the old rows fixed.

    With S_NO the affinities of new to old points, S_NN those among the new ones and D the new points' total
    affinity, the rows solve ((D + shift D) - S_NN) V_N = S_NO V, one sparse solve. That is the fixed
    point of the iteration (17) of Hu & Kwok (IEEE TNNLS 26, 2015, section III-E) for the unnormalised
    Laplacian, in which the old points' degrees do not change.

    Parameters
    ----------
    V : ndarray of shape (n, r)
    affinity : array_like or sparse of shape (m, n)
        Non-negative affinities of m new points to the n old ones; every new point must be joined to an old
        one, perhaps through other new points.
    among_new : array_like or sparse of shape (m, m), optional
        Symmetric affinities among the new points.
    shift : float
        Relative shift of the Laplacian; pulls the new rows towards zero.

    Returns
    -------
    ndarray of shape (m, r)
    """
    A = _affinity(affinity, "affinity")
    m = A.shape[0]
    if A.shape[1] != V.shape[0]:
        raise ProblemError(
            f"affinity must have a column for each of the {V.shape[0]} old points, got {A.shape}"
        )
    B = sp.csr_array((m, m)) if among_new is None else _affinity(among_new, "among_new")
    if B.shape != (m, m) or abs(B - B.T).sum() > 1e-10 * max(1.0, abs(B).sum()):
        raise ProblemError(f"among_new must be symmetric of shape ({m}, {m}), got shape {B.shape}")
    if not (np.isfinite(shift) and shift >= 0):
        raise ProblemError(f"shift must be a finite number >= 0, got {shift}")
    labels = sp.csgraph.connected_components(B, directed=False)[1]
    to_old = np.asarray(A.sum(axis=1)).ravel()
    reached = np.bincount(labels, weights=to_old, minlength=labels.max(initial=0) + 1) > 0
    if not reached[labels].all():
        lonely = np.flatnonzero(~reached[labels])[:5].tolist()
        raise ProblemError(f"every new point must be joined to an old one, got none for {lonely}")
    degree = to_old + np.asarray(B.sum(axis=1)).ravel()
    system = (sp.diags_array((1 + shift) * degree) - B).tocsc()
    out: Array = np.asarray(spsolve(system, np.asarray(A @ V))).reshape(m, V.shape[1])
    return out


def _affinity(values: Any, name: str) -> Any:
    S = sp.csr_array(values).astype(float)
    if S.ndim != 2 or not np.isfinite(S.data).all() or (S.data < 0).any():
        raise ProblemError(f"{name} must be a finite non-negative matrix")
    return S

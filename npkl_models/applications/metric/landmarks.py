"""Points by their nearest landmarks: locally linear weights in the space of a kernel."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix

SAME = 1e-12  # of the largest entry: values of the kernel that are equal but for rounding


def local_weights(
    kernel: ArrayLike, landmark_kernel: ArrayLike, n_neighbors: int = 20, regularization: float = 0.1
) -> Matrix:
    r"""Weights w of the nearest landmarks that come nearest to each point, with the sum one.

    .. math::

        \min_w \bigl\| \phi(x) - \sum_j w_j \phi(x_j) \bigr\|^2 + \epsilon \|w\|^2
        \quad\text{s.t.}\quad \mathbf 1'w = 1

    over the landmarks :math:`x_j` nearest to x in the space of the kernel: Yeung, Chang & Dai 2008, eqs.
    (13)-(19). :math:`\epsilon` is ``regularization`` times the mean squared distance of these landmarks to
    the nearest of them. k(x, x) is the same for all w, so it need not be known.

    Parameters
    ----------
    kernel : array_like of shape (n, m)
        k(x, x_j), points by landmarks.
    landmark_kernel : array_like of shape (m, m)
    n_neighbors : int
        Landmarks used for each point; all where there are fewer.
    regularization : float
        Not negative. 0.001 is usual in locally linear embedding.

    Returns
    -------
    csr_array of shape (n, m)
        A point that the landmarks cannot tell from one of them has the weight one there, and no other.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.metric import local_weights
    >>> x, landmarks = np.array([[0.5], [2.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> local_weights(x @ landmarks.T, landmarks @ landmarks.T, 2).toarray().round(3)
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    between, own = np.asarray(kernel, dtype=float), np.asarray(landmark_kernel, dtype=float)
    if own.ndim != 2 or own.shape[0] != own.shape[1] or between.ndim != 2 or between.shape[1] != len(own):
        raise ProblemError(f"kernels must have shapes (n, m) and (m, m), got {between.shape} and {own.shape}")
    if n_neighbors < 1:
        raise ProblemError(f"n_neighbors must be an integer >= 1, got {n_neighbors!r}")
    if not (np.isfinite(regularization) and regularization >= 0):
        raise ProblemError(f"regularization must be >= 0 and finite, got {regularization!r}")
    n, m = between.shape
    count = min(int(n_neighbors), m)
    distance = np.diag(own) - 2 * between  # less k(x, x)
    near = np.argpartition(distance, count - 1, axis=1)[:, :count]
    first = near[np.arange(n), np.take_along_axis(distance, near, axis=1).argmin(axis=1)]
    w = _solved(between, own, near, first, regularization)
    same = np.abs(between - own[first]).max(axis=1) <= SAME * np.abs(own).max()
    w[same] = near[same] == first[same, None]
    row = np.repeat(np.arange(n), count)
    out = sp.csr_array((w.ravel(), (row, near.ravel())), shape=(n, m))
    out.eliminate_zeros()
    return out


def _solved(between: Array, own: Array, near: Index, first: Index, regularization: float) -> Array:
    """The weights, with the nearest landmark as origin: (G + eps I) w = g + lambda 1, 1'w = 1."""
    n, count = near.shape
    origin = own[first, first]
    to_origin = own[first[:, None], near]
    G = own[near[:, :, None], near[:, None, :]] - to_origin[:, :, None] - to_origin[:, None, :]
    G += origin[:, None, None]
    g = np.take_along_axis(between, near, axis=1) - between[np.arange(n), first][:, None]
    g += origin[:, None] - to_origin
    level = np.einsum("bkk->b", G) / count
    floor = SAME * np.abs(own).max() or 1.0  # landmarks that coincide share the weight
    epsilon = np.maximum(regularization * level, floor)
    G[:, np.arange(count), np.arange(count)] += epsilon[:, None]
    both = np.linalg.solve(G, np.stack([g, np.ones_like(g)], axis=-1))
    multiplier = (1 - both[..., 0].sum(axis=1)) / both[..., 1].sum(axis=1)
    return both[..., 0] + multiplier[:, None] * both[..., 1]

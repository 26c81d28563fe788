"""Coloured maximum variance unfolding: the embedding that depends most on the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.formulations.unfolding import with_distances
from npkl_models.linalg import Array, dense, doubly_centred
from npkl_models.linalg.owned import real_array
from npkl_models.model.reading import symmetric
from npkl_models.model.regularizers import NoRegularizer, TracePower
from npkl_models.model.sampling import labelled
from npkl_models.problem import Problem


def colored_mvu(
    X: Any,
    labels_or_kernel: Any,
    *,
    n_neighbors: int = 4,
    C: float = 1.0,
    trace_bound: float | None = None,
    penalty: float | None = None,
    metric: str = "euclidean",
    components: str = "refuse",
) -> Problem:
    r"""Coloured maximum variance unfolding: the embedding that depends most on the labels.

    .. math::

        \min_{K \succeq 0} - \operatorname{tr}(H Y H K) + \tfrac{C}{2} \sum_{(i,j) \in N}
        \bigl(K_{ii} + K_{jj} - 2 K_{ij} - d_{ij}^2\bigr)^2
        \quad\text{s.t. } \operatorname{tr} K^2 \le B \quad
        \left[\text{or } + \tfrac{G}{2} \operatorname{tr} K^2\right]

    with Y a kernel of the labels and H = I - 11'/n. The first term is, up to a factor, the empirical
    Hilbert-Schmidt independence criterion of points and labels.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    labels_or_kernel : array_like of shape (n,) or (n, n)
        Classes: Y_ij is one if i and j have the same class, else zero; -1, None and NaN mark points of
        unknown class. Or Y itself, any symmetric matrix, such as ``np.outer(y, y)`` for real labels.
    n_neighbors : int
        Number of neighbours of each point, as in `mvu`.
    C : float
        Weight of the distances, positive. ``numpy.inf`` makes the distances equalities; the graph then bounds
        K, so neither trace_bound nor penalty may be given.
    trace_bound, penalty : float, optional
        Positive number B or G; at most one of the two may be given.
    metric, components : str
        Same as in `mvu`.

    Raises
    ------
    ProblemError
        If the labels have a single class, or if Y has another shape or is not symmetric.

    Notes
    -----
    Song, Smola, Borgwardt & Gretton, NIPS 20, 2008, for the criterion; Zhuang, Tsang & Hoi, JMLR 12, 2011,
    section 6.1 and eq. (31), for this form. Without a regulariser, a basis centres K.
    """
    found = neighborhood(X, n_neighbors, metric, components)
    cost = sp.csr_array(-doubly_centred(label_kernel(labels_or_kernel, found.n)))
    free = trace_bound is None and penalty is None
    regularizer = NoRegularizer() if free else TracePower(2, trace_bound, penalty)
    return with_distances(cost, found, C, regularizer, "colored_mvu")


def label_kernel(labels_or_kernel: Any, n: int) -> Array:
    """The kernel Y (n x n) of the labels: the given matrix, checked, or the kernel of classes."""
    wanted = f"labels must have shape ({n},), or their kernel ({n}, {n}), got"
    if sp.issparse(labels_or_kernel):
        labels_or_kernel = real_array(labels_or_kernel, "the kernel of the labels")
    try:
        given = np.asarray(labels_or_kernel)
    except ValueError:
        raise ProblemError(f"{wanted} a ragged list") from None
    if given.ndim == 1 and given.size == n:
        return _of_classes(labels_or_kernel)
    if given.shape != (n, n):
        raise ProblemError(f"{wanted} {given.shape}")
    return dense(symmetric(given, "the kernel of the labels"))


def _of_classes(labels: ArrayLike) -> Array:
    known, number = labelled(labels)
    count = int(number.max()) + 1
    if count < 2:
        raise ProblemError(
            f"labels must be of two classes or more, got {count} (-1 is no class; for signs give the "
            "kernel np.outer(y, y))"
        )
    of = np.zeros((known.size, count))
    of[np.flatnonzero(known), number] = 1.0
    return of @ of.T

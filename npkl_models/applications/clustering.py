"""Kernel k-means on a solution, and the papers' measure of accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix, psd_factor
from npkl_models.linalg.owned import finite, real_array
from npkl_models.model.sampling import labelled

NEGLIGIBLE = 1e-7  # axes with a smaller eigenvalue, relative to the largest, are left out of a factor


def kernel_kmeans(
    kernel: Any, n_clusters: int, n_init: int = 20, random_state: int | None = 0,
    sample_weight: Array | None = None,
) -> Index:  # fmt: skip
    """Clusters (n,) of k-means on the rows of a factor V, whose distances are those of the kernel K = VV'.

    Parameters
    ----------
    kernel : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor, or a symmetric kernel matrix.
    n_clusters, n_init : int
        Number of clusters, and of restarts; the best restart is kept.
    random_state : int
        Seed of k-means.
    sample_weight : ndarray of shape (n,), optional
        Weight of each point; one by default.
    """
    from sklearn.cluster import KMeans

    V = as_rows(kernel)
    check_clusters(n_clusters, len(V))
    model = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    labels = model.fit_predict(V, sample_weight=sample_weight)
    return np.asarray(labels, dtype=np.intp)


def check_clusters(n_clusters: int, n: int) -> None:
    """Refuse a number of clusters that n points cannot have."""
    if not 1 <= n_clusters <= n:
        raise ProblemError(f"n_clusters must be between 1 and n = {n}, got {n_clusters}")


def cluster_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """The Rand index, the papers' accuracy: the share of pairs of points on which two partitions agree.

    Points whose label is unknown (-1, None, NaN, NA or empty text) do not count.
    Zhuang, Tsang & Hoi, JMLR 12, 2011, section 7.2 (Hoi, Jin & Lyu 2007; Rand 1971).
    """
    from sklearn.metrics import rand_score

    known, classes = labelled(labels)
    found = np.asarray(clusters)
    if found.shape != known.shape:
        raise ProblemError(f"clusters must have shape {known.shape}, as the labels, got shape {found.shape}")
    return float(rand_score(classes, found[known]))


def as_rows(kernel: Any) -> Array:
    """Rows that have the distances of the kernel of a solution, a factor, or a kernel matrix (n x n)."""
    if isinstance(kernel, Solution):
        if kernel.V is None:
            raise ProblemError(f"a solution must have a kernel to cluster, got none ({kernel.status})")
        return kernel.V
    A = finite(real_array(kernel, "a kernel"), "a kernel")
    if A.ndim != 2:
        raise ProblemError(f"a kernel must be a factor or a matrix, got shape {A.shape}")
    square = A.shape[0] == A.shape[1]
    return psd_factor(A) if square and np.allclose(A, A.T) else A


def principal(V: Array) -> Array:
    """A factor of the same kernel in its principal axes, the largest axis first, with fixed signs.

    Axes whose eigenvalue is below 1e-7 of the largest are left out.
    """
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    kept = max(int(np.sum(s**2 > NEGLIGIBLE * s[0] ** 2)), 1)
    out: Array = U[:, :kept] * s[:kept]
    largest = out[np.argmax(np.abs(out), axis=0), np.arange(kept)]
    return out * np.where(largest < 0, -1.0, 1.0)


def unit_rows(V: Array) -> Array:
    """Rows scaled to length 1; a row of zeros stays."""
    length = np.linalg.norm(V, axis=1, keepdims=True)
    return np.asarray(V / np.where(length > 0, length, 1.0))


def directions(kernel: Any, n_clusters: int) -> Array:
    """The rows of the kernel on its ``n_clusters`` leading axes, scaled to length 1.

    With simplex targets (``pcp(..., cannot=-1 / (k - 1))``) they lie near k vertices of a simplex. Axes
    beyond the k-th carry smooth directions of the graph, which k-means would split.
    """
    return unit_rows(principal(as_rows(kernel))[:, :n_clusters])


def membership(group: Index, count: int) -> Matrix:
    """A sparse matrix, groups by points, with a one where a point is in a group."""
    n = group.size
    return sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(count, n))


def centres_of(rows: Array, labels: Index, count: int, weight: Array | None = None) -> Array:
    """The weighted means (count x r) of the rows of each cluster; zeros for an empty one."""
    member = membership(labels, count)
    member = member if weight is None else member * weight
    size = np.asarray(member.sum(axis=1)).ravel()
    return np.asarray((member @ rows) / np.where(size > 0, size, 1.0)[:, None])

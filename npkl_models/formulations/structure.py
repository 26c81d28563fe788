"""Structure preserving embedding: neighbours in a graph are nearer than other points, up to one slack."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Index, Matrix
from npkl_models.linalg.owned import positive_number, whole_array
from npkl_models.model.basis import wavelets_of
from npkl_models.model.functionals import DistanceDifferences
from npkl_models.model.graph import weights_of_graph
from npkl_models.model.regularizers import TracePower
from npkl_models.model.terms import LossTerm
from npkl_models.problem import Problem


def spe(
    W: Any,
    triplets: ArrayLike | None = None,
    *,
    C: float = 1.0,
    trace_bound: float | None = None,
    centred: bool = True,
) -> Problem:
    r"""Structure preserving embedding with a given set of triplets.

    .. math::

        \min_{K \succeq 0} - \operatorname{tr}(W K)
        + C \max\bigl(0, \max_{(i,k,j) \in T} D_{ik} - D_{ij}\bigr)
        \quad\text{s.t. } \operatorname{tr} K^2 \le B \quad [K \mathbf 1 = 0]

    where D are the squared distances, k is a neighbour of i, and j is not. The number of all triplets is of
    the order of points times edges. `npkl_models.applications.structure.structure_preserving` finds the
    triplets that matter.

    Parameters
    ----------
    W : array_like or sparse of shape (n, n)
        Weights of the graph, symmetric and not negative; the diagonal is ignored.
    triplets : array_like of int, shape (m, 3), optional
        Rows (i, k, j). By default, every neighbour k of i is paired with one j: the point with the most paths
        of two edges to i among those that are not neighbours of i.
    C : float
        Weight of the slack, positive.
    trace_bound : float, optional
        Positive number B; n by default.
    centred : bool
        Whether the points have mean zero, as in Shaw & Jebara; False is the printed form of Zhuang, Tsang &
        Hoi.

    Raises
    ------
    ProblemError
        If W is not a graph, or if a triplet is invalid: k is not a neighbour of i, or j is a neighbour of i
        or i itself.

    Notes
    -----
    Shaw & Jebara, ICML 2009; Zhuang, Tsang & Hoi, JMLR 12, 2011, section 6.3.
    """
    graph = checked_graph(W)
    n = graph.shape[0]
    given = first_triplets(graph) if triplets is None else _checked(whole_array(triplets, "triplets"), graph)
    i, k, j = given.T
    term = LossTerm(DistanceDifferences(n, (i, k, j)), "shared_slack", 0.0, positive_number(C, "C"), "order")
    regularizer = TracePower(2, bound=n if trace_bound is None else trace_bound)
    return Problem(-graph, term, regularizer, wavelets_of(graph) if centred else None, "spe")


def checked_graph(W: Any) -> Matrix:
    """The weights (n x n) as a sparse array without a diagonal."""
    return weights_of_graph(W, "a graph", 3, remedy="")


def first_triplets(graph: Matrix) -> Index:
    """A triplet (i, k, j) for each edge, both ways: j is the point with the most paths of two edges to i."""
    edges = sp.csr_array((graph > 0).astype(float))
    n = edges.shape[0]
    second = sp.csr_array(edges @ edges)
    second = second - second.multiply(edges)
    second.setdiag(0)
    second = sp.csr_array(second)
    best = np.asarray(second.argmax(axis=1)).ravel()
    has = np.asarray(second.max(axis=1).toarray()).ravel() > 0
    i, k = edges.nonzero()
    kept = has[i]
    if not kept.any():
        raise ProblemError(
            f"a graph must have points two edges apart, got {edges.nnz // 2} edges of {n} points"
        )
    return np.stack([i, k, best[i]], axis=1)[kept].astype(np.intp)


def _checked(triplets: Index, graph: Matrix) -> Index:
    n = graph.shape[0]
    if triplets.ndim != 2 or triplets.shape[1] != 3 or triplets.dtype.kind not in "iu" or not len(triplets):
        raise ProblemError(f"triplets must be integers of shape (m, 3), m >= 1, got {triplets.shape}")
    if triplets.min() < 0 or triplets.max() >= n:
        raise ProblemError(f"triplets must name points 0..{n - 1}, got {triplets.max()}")
    i, k, j = triplets.T
    near, far = (np.asarray(graph[i, other]).ravel() > 0 for other in (k, j))
    wrong = ~near | far | (i == j)
    if wrong.any():
        raise ProblemError(
            "triplets must be (i, k, j) with k a neighbour of i, and j neither a neighbour of i nor i, got "
            f"{triplets[wrong][:3].tolist()}"
        )
    return triplets.astype(np.intp)

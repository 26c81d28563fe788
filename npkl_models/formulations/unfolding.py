"""Maximum variance unfolding: distances kept, variance as large as they allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.formulations.neighborhood import Neighborhood, neighborhood
from npkl_models.linalg import Matrix
from npkl_models.linalg.owned import positive_number
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.functionals import SquaredDistances, TotalSum
from npkl_models.model.graph import laplacian
from npkl_models.model.regularizers import Regularizer
from npkl_models.model.terms import Equality
from npkl_models.presolve.cliques import Flat, flatten
from npkl_models.presolve.faces import complement
from npkl_models.presolve.stresses import unstressed
from npkl_models.problem import Problem


def mvu(
    X: Any,
    n_neighbors: int = 4,
    metric: str = "euclidean",
    reduce: bool = True,
    components: str = "refuse",
    weight: float = np.inf,
    angles: bool = False,
) -> Problem:
    r"""Maximum variance unfolding.

    .. math::

        \max_{K \succeq 0} \operatorname{tr} K \quad\text{s.t.}\quad
        K_{ii} + K_{jj} - 2 K_{ij} = d_{ij}^2 \;\; \forall (i,j) \in N, \quad \mathbf 1' K \mathbf 1 = 0

    Parameters
    ----------
    X : array_like of shape (n, d)
    n_neighbors : int
        (i, j) is in N if i is among the neighbours of j or j among those of i.
    metric : str
        Of the distances d_ij.
    reduce : bool
        State it on the face where all feasible kernels lie, by a basis; False gives the printed form, which
        solvers lose half of their digits to, or more.
    components : {"refuse", "connect"}
        What becomes of a graph in parts, which nothing would hold together: an error, or the edges of a
        minimum spanning tree between the parts join N, which the problem's name says.
    weight : float
        A finite one makes the distances soft, as nu does in `reg_mvu`: the cost of each is the weight times
        the square of what its square is off, over all centred kernels.
    angles : bool
        Whether neighbours of one point are in N, too, as in Weinberger, Sha & Saul: their distances fix the
        angles. They hold a sheet of few points flat, which neighbours alone let bend; of a curved one they
        leave no way to unfold but softly.

    Raises
    ------
    ProblemError
        For a graph in parts, unless they are to be connected; for points whose distances (of a metric that
        is not Euclidean) no points have.

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; Wu, thesis 2011, eqs. (3.1)-(3.4). Either form is dense (n x n), so
    this is for small n; `reg_mvu` has a small basis.

    1'K1 = 0 forbids any positive definite K, and so do points that are all neighbours of each other and lie
    in fewer dimensions than they could (five in a plane): then all their distances are known, and the rank
    of their part of K. The basis is orthogonal to the constant vector and to all that is so fixed
    (`npkl_models.presolve.cliques`; Krislock & Wolkowicz 2010) and to the range of the positive semidefinite
    stresses of the points (`npkl_models.presolve.stresses`), and distances that depend on others there are
    left out. In exact arithmetic it is the same problem. The distances in memory are rounded, though: those
    of five points in a plane are, to the last bit, of no points, or of points in four dimensions. What is
    certified is the optimum of the problem over that basis with the distances that it keeps; the others are
    met to rounding, and ``mvu(..., reduce=False).violation(V)`` says how well.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> angle = np.linspace(0.0, 4.0, 9)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])  # an arc in the plane
    >>> solution = nm.mvu(X, n_neighbors=2).solve()
    >>> solution.is_optimal(1e-6)
    True
    """
    found = neighborhood(X, n_neighbors, metric, components, angles)
    cost = -sp.eye_array(found.n).tocsr()
    if weight == np.inf:
        return unfolding(cost, found, "mvu", reduce)
    return softly(cost, found, positive_number(weight, "weight"), "mvu", reduce)


def with_distances(
    cost: Matrix, found: Neighborhood, C: float, regularizer: Regularizer, name: str
) -> Problem:
    """A linear cost with distances that weigh C / 2, or are kept exactly for C = inf."""
    if np.inf == C:
        if not regularizer.vacuous:
            limit = "bound" if regularizer.bounds else "penalty"
            raise ProblemError(
                f"C must be finite with a {limit}, which may leave no kernel that keeps distances, got C={C}"
            )
        return unfolding(cost, found, name)
    weight = positive_number(C, "C") / 2
    if regularizer.vacuous:
        return softly(cost, found, weight, name)
    return Problem(cost, found.term(weight), (), regularizer, name=found.named(name))


def softly(cost: Matrix, found: Neighborhood, weight: float, name: str, reduce: bool = True) -> Problem:
    """A linear cost with squares on the distances of neighbours, over all centred kernels."""
    term = found.term(weight)
    if reduce:
        return Problem(cost, term, basis=found.centred, name=found.named(name))
    return Problem(cost, term, Equality(TotalSum(found.n), 0.0, "centring"), name=found.named(name))


def unfolding(cost: Matrix, found: Neighborhood, name: str, reduce: bool = True) -> Problem:
    """A linear cost with the distances of neighbours kept exactly, on their face or as it is printed."""
    n, pairs, squared = found.n, found.pairs, found.squared
    kept = Equality(SquaredDistances(n, (pairs[:, 0], pairs[:, 1])), squared, "distances")
    name = found.named(name)
    if not reduce:
        return Problem(cost, (), (kept, Equality(TotalSum(n), 0.0, "centring")), name=name)
    flat = flatten(n, pairs, squared)
    if found.points is not None:
        every = flat or Flat(complement(n), np.ones(len(pairs), dtype=bool), 0, 0.0, 0.0)
        smaller = unstressed(found.points, pairs, squared, every)
        flat = flat if smaller is every else smaller
    if flat is None:
        return Problem(cost, (), (kept,), basis=complement(n), name=name)
    i, j = pairs[flat.kept].T
    stated = Equality(SquaredDistances(n, (i, j)), squared[flat.kept], "distances")
    return Problem(cost, (), (stated,), basis=flat.basis, name=name)


def reg_mvu(
    X: Any,
    n_neighbors: int = 4,
    n_basis: int = 20,
    nu: float = 1.0,
    metric: str = "euclidean",
    components: str = "refuse",
    angles: bool = False,
) -> Problem:
    r"""Graph-regularised maximum variance unfolding.

    .. math::

        \max_{U \succeq 0} \operatorname{tr} U - \nu \sum_{(i,j) \in N}
        \bigl((QUQ')_{ii} - 2 (QUQ')_{ij} + (QUQ')_{jj} - d_{ij}^2\bigr)^2

    with Q the eigenvectors 2 to s + 1 of the unnormalised Laplacian of N, all of whose weights are one.

    Parameters
    ----------
    X : array_like of shape (n, d)
    n_neighbors : int
    n_basis : int
        s.
    nu : float
        Positive.
    metric, components, angles
        As in `mvu`; the eigenvectors are of the graph with these pairs.

    Notes
    -----
    Weinberger, Sha, Zhu & Saul, NIPS 2007; Wu, thesis 2011, eq. (3.11).

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> angle = np.linspace(0.0, 4.0, 30)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> problem = nm.reg_mvu(X, n_neighbors=2, n_basis=5, nu=10.0)
    >>> problem.order, problem.solve().is_optimal()
    (5, True)
    """
    weight = positive_number(nu, "nu")
    found = neighborhood(X, n_neighbors, metric, components, angles)
    basis = eigenbasis(laplacian(found.graph, normalized=False), n_basis, skip=1)
    cost = -sp.eye_array(found.n).tocsr()
    return Problem(cost, found.term(weight), basis=basis, name=found.named("reg_mvu"))

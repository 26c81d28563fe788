"""Maximum variance unfolding: distances are kept, and the variance is as large as they allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.feasibility.faces import complement
from npkl_models.formulations.neighborhood import Neighborhood, neighborhood
from npkl_models.linalg import Matrix
from npkl_models.linalg.owned import positive_number
from npkl_models.model.constraint import Constraint
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.functionals import SquaredDistances, TotalSum
from npkl_models.model.graph import laplacian
from npkl_models.model.regularizers import Regularizer
from npkl_models.model.terms import LossTerm
from npkl_models.presolve.cliques import flatten
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
    r"""Maximum variance unfolding: the largest trace with which neighbours keep their distances.

    .. math::

        \max_{K \succeq 0} \operatorname{tr} K \quad\text{s.t.}\quad
        K_{ii} + K_{jj} - 2 K_{ij} = d_{ij}^2 \;\; \forall (i,j) \in N, \quad \mathbf 1' K \mathbf 1 = 0

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    n_neighbors : int
        Number of neighbours of each point; (i, j) is in N if i is among the neighbours of j, or j among the
        neighbours of i.
    metric : str
        Metric of the distances d_ij.
    reduce : bool
        Whether a basis restricts the problem to the face that contains all feasible kernels. False gives the
        printed form, in which solvers lose half of their digits or more.
    components : {"refuse", "connect"}
        Treatment of a disconnected graph, whose components could move apart without limit. "refuse" raises an
        error. "connect" adds the edges of a minimum spanning tree between the components to N, and the name
        of the problem tells this.
    weight : float
        Weight of the distances. A finite weight makes them soft, over all centred kernels, like nu in
        `reg_mvu`: the cost of a pair is the weight times the squared error of its squared distance.
    angles : bool
        Whether every two neighbours of one point are in N, too, as in Weinberger, Sha & Saul: their distances
        fix the angles. With angles, a sheet of few points stays flat, while neighbours alone let it bend. A
        curved sheet with angles unfolds only with a finite weight.

    Raises
    ------
    ProblemError
        If the graph is disconnected and ``components="refuse"``, or if no points have the given distances
        (which may happen for a metric that is not Euclidean).

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; Wu, thesis 2011, eqs. (3.1)-(3.4). Both forms are dense (n x n), so
    they are for small n; `reg_mvu` has a small basis.

    The basis is orthogonal to the constant vector and to all directions that flat cliques fix
    (`npkl_models.presolve.cliques`). Distances that depend on others over this basis are left out. They hold
    to rounding, and the certificate is about the problem with the distances that are kept.
    """
    found = neighborhood(X, n_neighbors, metric, components, angles)
    cost = -sp.eye_array(found.n).tocsr()
    soft = None if weight == np.inf else positive_number(weight, "weight")
    return unfolding(cost, found, soft, "mvu", reduce)


def with_distances(
    cost: Matrix, found: Neighborhood, C: float, regularizer: Regularizer, name: str
) -> Problem:
    """The problem of a linear cost and distances with weight C / 2, or kept exactly for C = inf."""
    weight = None if np.inf == C else positive_number(C, "C") / 2
    if regularizer.vacuous:
        return unfolding(cost, found, weight, name)
    if weight is None:
        limit = "trace_bound" if regularizer.bounds else "penalty"
        raise ProblemError(
            f"C must be finite if {limit} is given, since then no kernel may keep all distances, got C={C}"
        )
    return Problem(cost, found.term(weight), regularizer, name=found.named(name))


def unfolding(
    cost: Matrix, found: Neighborhood, weight: float | None, name: str, reduce: bool = True
) -> Problem:
    """The problem of a linear cost and distances of neighbours, over centred kernels or in the printed form.

    The distances have square losses with a weight. Without one they are kept exactly, over the face of their
    flat cliques.
    """
    n, pairs, squared, name = found.n, found.pairs, found.squared, found.named(name)
    flat = flatten(n, pairs, squared) if reduce and weight is None else None
    if flat is not None:
        pairs, squared = pairs[flat.kept], squared[flat.kept]
    term: LossTerm | Constraint
    if weight is None:
        term = Constraint(SquaredDistances(n, (pairs[:, 0], pairs[:, 1])), equal=squared, name="distances")
    else:
        term = found.term(weight)
    if not reduce:
        return Problem(cost, (term, Constraint(TotalSum(n), equal=0.0, name="centring")), name=name)
    basis = flat.basis if flat is not None else complement(n) if weight is None else found.centred
    return Problem(cost, term, basis=basis, name=name)


def reg_mvu(
    X: Any,
    n_neighbors: int = 4,
    n_basis: int = 20,
    nu: float = 1.0,
    metric: str = "euclidean",
    components: str = "refuse",
) -> Problem:
    r"""Graph-regularised maximum variance unfolding.

    .. math::

        \max_{U \succeq 0} \operatorname{tr} U - \nu \sum_{(i,j) \in N}
        \bigl((QUQ')_{ii} - 2 (QUQ')_{ij} + (QUQ')_{jj} - d_{ij}^2\bigr)^2

    with Q the eigenvectors 2 to s + 1 of the unnormalised Laplacian of N, whose edges all have weight one.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    n_neighbors : int
        Number of neighbours of each point, as in `mvu`.
    n_basis : int
        Number s of eigenvectors.
    nu : float
        Weight of the distances, positive.
    metric, components : str
        Same as in `mvu`; added edges belong to the graph of the eigenvectors, too.

    Notes
    -----
    Weinberger, Sha, Zhu & Saul, NIPS 2007; Wu, thesis 2011, eq. (3.11).
    """
    weight = positive_number(nu, "nu")
    found = neighborhood(X, n_neighbors, metric, components)
    basis = eigenbasis(laplacian(found.graph, normalized=False), n_basis, skip=1)
    cost = -sp.eye_array(found.n).tocsr()
    return Problem(cost, found.term(weight), basis=basis, name=found.named("reg_mvu"))

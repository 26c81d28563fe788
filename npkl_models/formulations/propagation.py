"""Pairwise constraint propagation: soft, with hard constraints, and over a basis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError, instance
from npkl_models.formulations.pair_terms import matching, pair_terms
from npkl_models.linalg import Matrix
from npkl_models.linalg.owned import positive_number, real_number
from npkl_models.model.basis import Basis, shared_rows
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import Pairs
from npkl_models.model.terms import LossTerm
from npkl_models.problem import Problem


def pcp(L: Matrix, pairs: Pairs, *, gamma: float = 1.0, cannot: float = 0.0) -> Problem:
    r"""Pairwise constraint propagation.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK)
        + \gamma \sum_{(i,j)} c_{ij} (K_{ij} - t_{ij})^2 + \frac\gamma2 \sum_i (K_{ii} - 1)^2

    with t = 1 for must-links, t = ``cannot`` for cannot-links, and confidences c.

    Parameters
    ----------
    L : matrix of shape (n, n)
        Graph Laplacian.
    pairs : Pairs
        Must-links and cannot-links, with confidences c_ij.
    gamma : float
        Weight of the pairs, positive.
    cannot : float
        Target of the cannot-links, from -1 to 0. With 0, the source's target, clusters are
        orthogonal directions. With -1 / (k - 1) they are the k vertices of a regular simplex, the directions
        that are farthest from each other.

    Notes
    -----
    Hu & Kwok, "Efficient Kernel Learning from Side Information Using ADMM", IJCAI 2013, eq. (1). Their set T
    contains each pair in both orders. Hence the weight is gamma for a pair, and gamma / 2 for a diagonal
    entry.
    """
    weight = positive_number(gamma, "gamma")
    terms = _terms(pairs, cannot, weight, weight / 2)
    matching(L, pairs)
    return Problem(L, terms, name="pcp")


def hard_pcp(L: Matrix, pairs: Pairs, *, reduce: bool = True) -> Problem:
    r"""Pairwise constraint propagation with hard constraints.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK) \quad\text{s.t.}\quad
        K_{ii} = 1, \quad K_{ij} = 1 \text{ (must-link)}, \quad K_{ij} = 0 \text{ (cannot-link)}

    Parameters
    ----------
    L : matrix of shape (n, n)
        Graph Laplacian.
    pairs : Pairs
        Must-links and cannot-links.
    reduce : bool
        Whether all points of a must-link group share one row: K = E K' E', where E is the indicator of the
        groups. E is stored as a sparse basis (n x number of groups). The reduced problem is equivalent, and
        K = EE' is strictly feasible. In the printed form (False) no feasible K is positive definite if there
        are must-links. Its multipliers may be unbounded, and solvers lose half of their digits.

    Raises
    ------
    ProblemError
        If a chain of must-links joins the two points of a cannot-link. The message names the chain. Without
        such a contradiction there is a feasible kernel.

    Notes
    -----
    Li, Liu & Tang, ICML 2008; Wu, thesis 2011, eqs. (3.5)-(3.9).
    """
    n = matching(L, pairs)
    chains = pairs.contradictions()
    if chains:
        shown = "; ".join(" - ".join(map(str, chain)) for chain in chains[:3])
        raise ProblemError(
            f"must-links and cannot-links must not contradict each other, got {len(chains)} cannot-links "
            f"whose points a chain of must-links joins: {shown}"
        )
    points, must, cannot, basis = np.arange(n), pairs.must_link, pairs.cannot_link, None
    if reduce and len(must):
        count, label = pairs.groups()
        points = np.unique(label, return_index=True)[1]  # one point of each group
        cannot = points[np.unique(np.sort(label[cannot], axis=1), axis=0)]
        must, basis = must[:0], shared_rows(label, count)
    terms = [Constraint(Entries(n, (points, points)), equal=1.0, name="diagonal")]
    for links, value, name in ((must, 1.0, "must-link"), (cannot, 0.0, "cannot-link")):
        if len(links):
            terms.append(Constraint(Entries(n, (links[:, 0], links[:, 1])), equal=value, name=name))
    return Problem(L, terms, basis=basis, name="hard_pcp")


def reg_pcp(basis: Basis, pairs: Pairs, *, cannot: float = 0.0) -> Problem:
    r"""Graph-regularised pairwise constraint propagation: the cost is zero, and the basis makes K smooth.

    .. math::

        \min_{U \succeq 0} \sum_{(i,j) \in S} c_{ij} \bigl((QUQ')_{ij} - t_{ij}\bigr)^2

    where S consists of the pairs (t = 1 for must-links, ``cannot`` for cannot-links) and of all (i, i) with
    t = 1.

    Parameters
    ----------
    basis : Basis
        Basis Q: eigenvectors of the smallest eigenvalues of the normalised Laplacian; see `eigenbasis`.
    pairs : Pairs
        Must-links and cannot-links.
    cannot : float
        Target of the cannot-links, as in `pcp`.

    Notes
    -----
    Li, Liu & Tang, CVPR 2009; Wu, thesis 2011, eq. (3.12).
    """
    instance(basis, Basis, "basis", "eigenbasis(L, 10)")
    instance(pairs, Pairs, "pairs")
    if basis.n != pairs.n:
        raise ProblemError(f"basis and pairs must be over the same points, got {basis.n} and {pairs.n}")
    terms = _terms(pairs, cannot, 1.0, 1.0)
    return Problem(sp.csr_array((basis.n, basis.n)), terms, basis=basis, name="reg_pcp")


def _terms(pairs: Pairs, cannot: float, weight: float, own: float) -> tuple[LossTerm | Constraint, ...]:
    """The square losses of the pairs, and those of the diagonal with the weight ``own``."""
    instance(pairs, Pairs, "pairs")
    target, every = np.where(pairs.sign > 0, 1.0, cannot_target(cannot)), np.arange(pairs.n)
    diagonal = LossTerm(Entries(pairs.n, (every, every)), "square", 1.0, own, "diagonal")
    return *pair_terms(pairs, "square", target, weight), diagonal


def cannot_target(cannot: float) -> float:
    """The target of cannot-links as a float, or a ProblemError that says what it must be."""
    value = real_number(cannot, "cannot")
    if not -1 <= value <= 0:
        raise ProblemError(f"cannot, the target of cannot-links, must be from -1 to 0, got {cannot}")
    return value

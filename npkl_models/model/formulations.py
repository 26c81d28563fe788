"""The named problems of the literature, each with its weights as printed there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.basis import Basis
from npkl_models.model.functionals import Entries
from npkl_models.model.losses import Loss, get_loss
from npkl_models.model.pairs import Pairs
from npkl_models.model.problem import Problem
from npkl_models.model.regularizers import NoRegularizer, Regularizer, RowNormBound, TracePower
from npkl_models.model.terms import Equality, LossTerm
from npkl_models.model.unfolding import mvu, reg_mvu


def pcp(L: Any, pairs: Pairs, gamma: float = 1.0) -> Problem:
    r"""Pairwise constraint propagation.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK)
        + \gamma \sum_{(i,j)} c_{ij} (K_{ij} - t_{ij})^2 + \frac\gamma2 \sum_i (K_{ii} - 1)^2

    with t = 1 for must-links, 0 for cannot-links, and confidences c.

    Parameters
    ----------
    L : matrix of shape (n, n)
        Graph Laplacian.
    pairs : Pairs
    gamma : float
        Positive.

    Notes
    -----
    Hu & Kwok, "Efficient Kernel Learning from Side Information Using ADMM", IJCAI 2013, eq. (1). Their set T
    holds a pair in both orders, hence gamma for a stored pair and gamma / 2 for a diagonal entry.
    """
    weight = _positive("gamma", gamma)
    n = _matching(L, pairs)
    diagonal = np.arange(n)
    return Problem(
        cost=L,
        terms=(
            _pair_term(pairs, "square", (pairs.sign > 0).astype(float), weight),
            LossTerm(Entries(n, (diagonal, diagonal)), "square", 1.0, weight / 2, "diagonal"),
        ),
        name="pcp",
    )


def npkl(
    L: Any,
    pairs: Pairs,
    loss: str | Loss = "squared_hinge",
    gamma: float = 1.0,
    row_norm: float | None = None,
) -> Problem:
    r"""Non-parametric kernel learning with any loss.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK) + \gamma \sum_{(i,j)} c_{ij}\,
        \mathrm{loss}(K_{ij}; \pm 1) \qquad [K_{ii} \le b^2]

    Parameters
    ----------
    L : matrix of shape (n, n)
        Graph Laplacian, usually ``laplacian(X, shift=delta)`` with delta > 0.
    pairs : Pairs
    loss : {"square", "hinge", "squared_hinge", "linear"} or Loss
        The linear loss needs ``row_norm``.
    gamma : float
        Positive.
    row_norm : float, optional
        b, the bound on the norm of a row of the factor.

    Notes
    -----
    Hu & Kwok, "Scalable Nonparametric Low-Rank Kernel Learning Using Block Coordinate Descent",
    IEEE TNNLS 26(9), 2015, eqs. (1), (3) and (29).
    """
    weight = _positive("gamma", gamma)
    chosen = get_loss(loss)
    if not chosen.nonnegative and row_norm is None:
        raise ProblemError(
            f"the {chosen.name} loss is unbounded below without a bound on K, got row_norm=None; "
            "give row_norm=b, or use simple_npkl with bound= or penalty="
        )
    _matching(L, pairs)
    regularizer: Regularizer = NoRegularizer() if row_norm is None else RowNormBound(row_norm)
    return Problem(L, (_pair_term(pairs, chosen, pairs.sign, weight),), (), regularizer, name="npkl")


def simple_npkl(
    L: Any,
    pairs: Pairs,
    loss: str | Loss = "squared_hinge",
    C: float = 1.0,
    p: float = 2,
    bound: float | None = None,
    penalty: float | None = None,
) -> Problem:
    r"""SimpleNPKL: any loss, and tr K^p bounded by B or penalised with weight G / p.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK) + w \sum_{(i,j)} c_{ij}\, \mathrm{loss}(K_{ij}; \pm 1)
        \quad\text{s.t. } \operatorname{tr} K^p \le B \quad
        \left[\text{or } + \tfrac{G}{p} \operatorname{tr} K^p\right]

    with w = C for the hinge and linear losses and C / 2 for the squared ones.

    Parameters
    ----------
    L : matrix of shape (n, n)
    pairs : Pairs
    loss : {"square", "hinge", "squared_hinge", "linear"} or Loss
    C : float
        Positive.
    p : float
        At least 1.
    bound, penalty : float
        B or G, exactly one of them, positive.

    Notes
    -----
    Zhuang, Tsang & Hoi, "A Family of Simple Non-Parametric Kernel Learning Algorithms", JMLR 12,
    2011, eqs. (10), (12), (21) and (26).
    """
    chosen = get_loss(loss)
    weight = _positive("C", C) * (0.5 if chosen.curvature == 2.0 else 1.0)
    _matching(L, pairs)
    return Problem(
        L,
        (_pair_term(pairs, chosen, pairs.sign, weight),),
        (),
        TracePower(p, bound=bound, penalty=penalty),
        name="simple_npkl",
    )


def hard_pcp(L: Any, pairs: Pairs, reduce: bool = True) -> Problem:
    r"""Pairwise constraint propagation with hard constraints.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK) \quad\text{s.t.}\quad
        K_{ii} = 1, \quad K_{ij} = 1 \text{ (must-link)}, \quad K_{ij} = 0 \text{ (cannot-link)}

    Parameters
    ----------
    L : matrix of shape (n, n)
    pairs : Pairs
    reduce : bool
        Give the points of a must-link component one row: K = E K' E' with E its indicator, written as a
        basis (n x number of components, dense). It is the same problem, but K = E E' is then
        strictly feasible; as printed no feasible K is positive definite, the multipliers may be
        unbounded, and solvers lose half of their digits.

    Raises
    ------
    ProblemError
        If a chain of must-links joins the two points of a cannot-link; the chain is named. Without such a
        contradiction there is a feasible kernel.

    Notes
    -----
    Li, Liu & Tang, ICML 2008; Wu, thesis 2011, eqs. (3.5)-(3.9).
    """
    n = _matching(L, pairs)
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
        points = np.unique(label, return_index=True)[1]  # a point for each component
        cannot = points[np.unique(np.sort(label[cannot], axis=1), axis=0)]
        E = np.zeros((n, count))
        E[np.arange(n), label] = np.bincount(label)[label] ** -0.5
        must, basis = must[:0], Basis(E)
    equalities = [Equality(Entries(n, (points, points)), 1.0, "diagonal")]
    for links, value, name in ((must, 1.0, "must-link"), (cannot, 0.0, "cannot-link")):
        if len(links):
            equalities.append(Equality(Entries(n, (links[:, 0], links[:, 1])), value, name))
    return Problem(L, (), equalities, basis=basis, name="hard_pcp")


def reg_pcp(basis: Basis, pairs: Pairs) -> Problem:
    r"""Graph-regularised pairwise constraint propagation: squares alone, smoothness by the basis.

    .. math::

        \min_{U \succeq 0} \sum_{(i,j) \in S} c_{ij} \bigl((QUQ')_{ij} - t_{ij}\bigr)^2

    over the pairs (t = 1 for must-links, 0 for cannot-links) and all (i, i) with t = 1.

    Parameters
    ----------
    basis : Basis
        Smallest eigenvectors of the normalised Laplacian; see `eigenbasis`.
    pairs : Pairs

    Notes
    -----
    Li, Liu & Tang, ICCV 2009; Wu, thesis 2011, eq. (3.12).
    """
    if basis.n != pairs.n:
        raise ProblemError(f"basis and pairs must be over the same points, got {basis.n} and {pairs.n}")
    diagonal = np.arange(basis.n)
    terms = (
        _pair_term(pairs, "square", (pairs.sign > 0).astype(float), 1.0),
        LossTerm(Entries(basis.n, (diagonal, diagonal)), "square", 1.0, 1.0, "diagonal"),
    )
    return Problem(sp.csr_array((basis.n, basis.n)), terms, basis=basis, name="reg_pcp")


FORMULATIONS: dict[str, Callable[..., Problem]] = {
    "pcp": pcp,
    "npkl": npkl,
    "simple_npkl": simple_npkl,
    "hard_pcp": hard_pcp,
    "reg_pcp": reg_pcp,
    "mvu": mvu,
    "reg_mvu": reg_mvu,
}


def _pair_term(pairs: Pairs, loss: str | Loss, target: Array, weight: float) -> LossTerm:
    return LossTerm(Entries(pairs.n, (pairs.i, pairs.j)), loss, target, weight * pairs.confidence)


def _positive(name: str, value: float) -> float:
    if not (np.isfinite(value) and value > 0):
        raise ProblemError(f"{name} must be positive and finite, got {value}")
    return float(value)


def _matching(L: Any, pairs: Pairs) -> int:
    shape = np.shape(L)
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != pairs.n:
        raise ProblemError(f"Laplacian and pairs must be over the same points, got {shape[0]} and {pairs.n}")
    return pairs.n

"""Non-parametric kernel learning with any loss, alone, with row norms or with tr K^p (SimpleNPKL)."""

from __future__ import annotations

from npkl_models.errors import ProblemError
from npkl_models.formulations.pair_terms import matching, pair_terms
from npkl_models.linalg import Matrix
from npkl_models.linalg.owned import positive_number
from npkl_models.model.losses import Loss, get_loss
from npkl_models.model.pairs import Pairs
from npkl_models.model.regularizers import NoRegularizer, RowNormBound, TracePower
from npkl_models.problem import Problem


def npkl(
    L: Matrix,
    pairs: Pairs,
    *,
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
        Must-links and cannot-links, with confidences c_ij.
    loss : {"square", "hinge", "squared_hinge", "logistic", "absolute", "huber", "linear"} or Loss
        Loss of the pairs. The linear loss needs ``row_norm``.
    gamma : float
        Weight of the pairs, positive.
    row_norm : float, optional
        Bound b on the norms of the rows of the factor; None gives no bound.

    Notes
    -----
    Hu & Kwok, "Scalable Nonparametric Low-Rank Kernel Learning Using Block Coordinate Descent",
    IEEE TNNLS 26(9), 2015, eqs. (1), (3) and (29).
    """
    weight = positive_number(gamma, "gamma")
    chosen = get_loss(loss)
    if not chosen.nonnegative and row_norm is None:
        raise ProblemError(
            f"the {chosen.name} loss needs a bound on K: else it may have no optimum, got row_norm=None; "
            "give row_norm=b, or use simple_npkl with trace_bound= or penalty="
        )
    matching(L, pairs)
    regularizer = NoRegularizer() if row_norm is None else RowNormBound(row_norm)
    return Problem(L, pair_terms(pairs, chosen, pairs.sign, weight), regularizer, name="npkl")


def simple_npkl(
    L: Matrix,
    pairs: Pairs,
    *,
    loss: str | Loss = "squared_hinge",
    C: float = 1.0,
    p: float = 2,
    trace_bound: float | None = None,
    penalty: float | None = None,
) -> Problem:
    r"""SimpleNPKL: any loss, with tr K^p bounded by B or penalised with weight G / p.

    .. math::

        \min_{K \succeq 0} \operatorname{tr}(LK) + w \sum_{(i,j)} c_{ij}\, \mathrm{loss}(K_{ij}; \pm 1)
        \quad\text{s.t. } \operatorname{tr} K^p \le B \quad
        \left[\text{or } + \tfrac{G}{p} \operatorname{tr} K^p\right]

    with w = C for the hinge and linear losses, and w = C / 2 for the squared losses.

    Parameters
    ----------
    L : matrix of shape (n, n)
        Graph Laplacian.
    pairs : Pairs
        Must-links and cannot-links, with confidences c_ij.
    loss : {"square", "hinge", "squared_hinge", "logistic", "absolute", "huber", "linear"} or Loss
        Loss of the pairs.
    C : float
        Weight of the losses, positive.
    p : float
        Power of the kernel, at least 1.
    trace_bound, penalty : float
        Positive number B or G; exactly one of the two must be given.

    Notes
    -----
    Zhuang, Tsang & Hoi, "A Family of Simple Non-Parametric Kernel Learning Algorithms", JMLR 12,
    2011, eqs. (10), (12), (21) and (26).
    """
    chosen = get_loss(loss)
    weight = positive_number(C, "C") * (0.5 if chosen.squared else 1.0)
    matching(L, pairs)
    return Problem(
        L,
        pair_terms(pairs, chosen, pairs.sign, weight),
        TracePower(p, bound=trace_bound, penalty=penalty),
        name="simple_npkl",
    )

"""Ordinal embedding: a kernel from comparisons of distances, with a trace penalty."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import eigsh

from npkl_models.formulations.comparisons import differences, merged, number_of_points, read_comparisons
from npkl_models.formulations.pair_terms import soft_or_hard
from npkl_models.linalg.owned import positive_number
from npkl_models.model.losses import Loss
from npkl_models.model.terms import LossTerm, Term
from npkl_models.problem import Problem
from npkl_models.proof.bounds import DENSE_EIGH

SHARE = 0.25  # the penalty by default, as a share of the smallest penalty whose kernel is zero


def ordinal(
    comparisons: ArrayLike,
    n_points: int | None = None,
    *,
    loss: str | Loss = "logistic",
    penalty: float | None = None,
    weights: ArrayLike | None = None,
    ties: ArrayLike | None = None,
) -> Problem:
    r"""Ordinal embedding from comparisons: point i is nearer to j than to k.

    .. math::

        \min_{K \succeq 0} \; \lambda \operatorname{tr} K
        + \sum_{(i,j,k) \in T} w_{ijk}\, \ell(D_{ij} - D_{ik})

    where D are the squared distances of K, and the loss l has the target -1: the difference should be
    negative. The hinge max(0, 1 + z) is that of generalised non-metric scaling. The logistic loss
    ln(1 + exp(z)) is the convex form of stochastic triplet embedding.

    Parameters
    ----------
    comparisons : array_like of int, shape (m, 3) or (m, 4)
        Rows (i, j, k): point i is nearer to j than to k. Or rows (i, j, k, l): i and j are nearer to each
        other than k and l. Repeated answers count once for each time. Answers that contradict each other are
        allowed.
    n_points : int, optional
        Number n of points; by default the largest index plus one.
    loss : {"logistic", "squared_hinge", "hinge"} or Loss
        Loss of each difference; any other loss is taken, too, with the target -1.
    penalty : float, optional
        Positive number lambda. By default it is 0.25 of `largest_penalty`, above which the kernel is zero.
    weights : array_like of shape (m,), optional
        Positive weight of each answer; one by default. Of the weight ``np.inf``, D_ij - D_ik <= -1 is a hard
        constraint.
    ties : array_like of int, shape (q, 3) or (q, 4), optional
        Comparisons whose two distances are said to be equal. The absolute value of their difference is
        added, with weight one.

    Raises
    ------
    ProblemError
        If an index is out of range, or if a comparison names no two distances (the message shows the rows).

    Notes
    -----
    Agarwal et al., AISTATS 2007 (the hinge); van der Maaten & Weinberger, MLSP 2012 (the logistic loss, which
    is convex in K). The optimal kernel is centred, since its trace is then smallest.
    """
    rows, weight = merged(read_comparisons(comparisons, "comparisons"), weights)
    tied = None if ties is None else merged(read_comparisons(ties, "ties"), None)
    every = [rows, *([] if tied is None else [tied[0]])]
    n = number_of_points(every, n_points)
    order = soft_or_hard(differences(rows, n), loss, -1.0, weight, "order", "upper")
    terms = list(order)
    if tied is not None:
        terms.append(LossTerm(differences(tied[0], n), "absolute", 0.0, tied[1], "ties"))
    if penalty is None:
        penalty = SHARE * _largest(order[0]) or 1.0
    cost = positive_number(penalty, "penalty") * sp.eye_array(n, format="csr")
    return Problem(cost, tuple(terms), name="ordinal")


def largest_penalty(problem: Problem) -> float:
    """The penalty at and above which the kernel of an ordinal problem is zero.

    At K = 0 the slack is lambda I + sum y_e M_e, with y_e the slope of the loss at zero. The zero kernel is
    optimal if this slack is positive semidefinite. Ties are left out: they make a smaller penalty enough.
    With answers that are required it is infinite: they make zero impossible.
    """
    return np.inf if problem.constraints else _largest(problem.losses[0])


def _largest(term: Term) -> float:
    if not isinstance(term, LossTerm):
        return 0.0
    zero = np.zeros(term.functional.size)
    A = term.functional.adjoint(term.derivative(zero))
    if term.functional.n <= DENSE_EIGH:
        return max(-float(np.linalg.eigvalsh(A.toarray())[0]), 0.0)
    start = np.random.default_rng(0).standard_normal(term.functional.n)
    return max(-float(eigsh(A, k=1, which="SA", v0=start, return_eigenvectors=False)[0]), 0.0)

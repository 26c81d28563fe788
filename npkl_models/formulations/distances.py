"""Euclidean distance matrix completion, and the localisation of sensors from distances and anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, chosen
from npkl_models.formulations.known_distances import (
    Anchors,
    Bounds,
    read_anchors,
    read_bounds,
    read_distances,
)
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import real_number
from npkl_models.model.basis import wavelets_of
from npkl_models.model.distances import SquaredDistances
from npkl_models.model.mistakes import joined_by_distances, some, unjoined
from npkl_models.model.terms import LossTerm
from npkl_models.problem import Problem

KINDS = ("square", "absolute", "huber")
SHOWN = 8  # points that an error names


def distances(
    observed: Any,
    n_points: int | None = None,
    *,
    loss: str = "square",
    weights: ArrayLike | None = None,
    bounds: Any = None,
    anchors: Any = None,
    penalty: float | None = None,
) -> Problem:
    r"""Points from some of their distances, with or without anchors.

    .. math::

        \min_{K \succeq 0} \; \sum_{(i,j) \in N} w_{ij}\, \ell\bigl(D_{ij} - d_{ij}^2\bigr)
        + \sum_{(i,j) \in B} \bigl(\max(0, D_{ij} - u_{ij}^2)^2 + \max(0, l_{ij}^2 - D_{ij})^2\bigr)
        + \lambda \operatorname{tr} K

    where D are the squared distances of K. Without anchors K is centred. With anchors, their block of K is
    the matrix AA' of their known positions A, relative to their mean.

    Parameters
    ----------
    observed : array_like or sparse of shape (n, n), or tuple (i, j, d)
        The known distances N (not squared). An array has NaN for each unknown distance; a sparse array
        stores the known ones. The diagonal is ignored.
    n_points : int, optional
        Number n of points, anchors included; by default the largest index of a distance plus one.
    loss : {"square", "absolute", "huber"}
        Loss of the error of each squared distance.
    weights : array_like, optional
        Positive weights w_ij, in the shape of the distances; one by default.
    bounds : tuple (i, j, lower, upper), optional
        Bounds B on further distances, as one-sided losses: the squared excess or shortfall of squared
        distances. A lower bound of 0 and an upper bound of inf say nothing. Points out of radio range have
        the radius as their lower bound.
    anchors : dict or tuple, optional
        Positions {point: position}, or (points, positions of shape (m, d)), of points that are known. There
        must be d + 1 of them in general position. Distances between anchors are left out.
    penalty : float, optional
        The number lambda, zero by default; the trace is that of the sensors if there are anchors. A positive
        number prefers kernels of small trace. A negative number spreads the points out, and without anchors
        this is unfolding.

    Raises
    ------
    ProblemError
        If a distance is negative or has two values, if anchors lie on a flat, or, unless the penalty is
        positive, if points are joined to no anchor, or to no other point (the message names them).

    Notes
    -----
    Alfakih, Khandani & Wolkowicz, Comput. Optim. Appl. 12 (1999), for completion. Biswas & Ye, IPSN 2004,
    for anchors. Javanmard & Montanari, Found. Comput. Math. 13 (2013), minimise the trace; Biswas, Liang,
    Wang & Ye, ACM Trans. Sens. Netw. 2 (2006), section 4, spread the sensors out.

    Biswas and Ye write Z = [I X'; X Y] >= 0, of order d + n for n sensors. Let A = U T with orthonormal U.
    Here K = QRQ' with Q = diag(U, I). R is Z with T in the place of I in the first block of rows, so both
    relaxations are the same. The inner products of d anchors are what is left of Z_11 = I.
    """
    i, j, d, weight, n = read_distances(observed, n_points, weights)
    chosen("loss", loss, dict.fromkeys(KINDS))
    lam = 0.0 if penalty is None else real_number(penalty, "penalty")
    if not np.isfinite(lam):
        raise ProblemError(f"penalty must be finite, got {penalty!r}")
    known = None if anchors is None else read_anchors(anchors, n)
    said = None if bounds is None else read_bounds(bounds, n)
    inside = between(known, n, i, j)
    i, j, d, weight = i[~inside], j[~inside], d[~inside], weight[~inside]
    terms = [LossTerm(SquaredDistances(n, (i, j)), loss, d**2, weight, "distances")] if i.size else []
    terms += [] if said is None else _sides(said, n, between(known, n, said.i, said.j))
    if not terms:
        raise ProblemError("distances must include one that the anchors do not fix, got none")
    if lam <= 0:
        check_joined(joined_by_distances(terms), known, n)
    free = np.arange(n) if known is None else known.others(n)
    cost = sp.csr_array((np.full(free.size, lam), (free, free)), shape=(n, n))
    if not lam:
        cost = sp.csr_array((n, n))
    graph = sp.csr_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    basis = wavelets_of(graph) if known is None else known.basis(n)
    held = () if known is None else (known.held(n),)
    return Problem(cost, (*terms, *held), basis=basis, name="distances")


def between(known: Anchors | None, n: int, i: Index, j: Index) -> Mask:
    """A mask of the pairs (i, j) of n points that are two anchors."""
    fixed = np.zeros(n, dtype=bool)
    if known is not None:
        fixed[known.points] = True
    return fixed[i] & fixed[j]


def _sides(said: Bounds, n: int, inside: Mask) -> list[LossTerm]:
    """The terms of the upper and of the lower bounds."""
    out = []
    for name, loss, number, says in (
        ("upper bounds", "squared_excess", said.upper, np.isfinite(said.upper)),
        ("lower bounds", "squared_shortfall", said.lower, said.lower > 0),
    ):
        own = np.flatnonzero(says & ~inside)
        if not own.size:
            continue
        f = SquaredDistances(n, (said.i[own], said.j[own]))
        out.append(LossTerm(f, loss, number[own] ** 2, 1.0, name))
    return out


def check_joined(
    edges: Sequence[Index],
    known: Anchors | None,
    n: int,
    names: Sequence[str] | None = None,
    source: object = "the problem",
) -> None:
    """Raise an error if some of n points could move away without limit, as no edges (m, 2) join them.

    The error names ``source`` first, and then the points by their ``names``, or by their numbers.
    """
    lost = unjoined(edges, np.zeros(0, dtype=np.intp) if known is None else known.points, n)
    if not lost.size:
        return
    whom, what = "an anchor" if known is not None else "each other", "points" if names is None else "sensors"
    cure = "leave them out, or use a positive penalty" if names is None else "measure more, or leave them out"
    raise ProblemError(
        f"{source} must join all {what} to {whom} by distances or upper bounds, got {lost.size} of {n} "
        f"{what} that could move without limit: {some(lost, names, SHOWN)}; {cure}"
    )


def positions(V: Array, n_components: int, anchors: Any = None) -> tuple[Array, Array]:
    """Positions of the points in a factor V (n x r), and the trace of each that they leave (n,).

    With anchors, see `Anchors.located`. Without anchors, positions are the leading principal coordinates.
    """
    if anchors is not None:
        return read_anchors(anchors, len(V)).located(V)
    V = V - V.mean(axis=0)
    rotation = np.linalg.eigh(V.T @ V)[1][:, ::-1]
    X = V @ rotation[:, :n_components]
    left = np.einsum("ir,ir->i", V, V) - np.einsum("id,id->i", X, X)
    lack = n_components - X.shape[1]
    X = np.pad(X, ((0, 0), (0, max(lack, 0))))
    return X, np.maximum(left, 0.0)

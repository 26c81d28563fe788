"""Pairwise semidefinite embedding: similar points are near each other, dissimilar points apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError, chosen, instance
from npkl_models.formulations.pair_terms import soft_or_hard
from npkl_models.formulations.volume import ALIKE
from npkl_models.linalg import UNIT, Matrix, norm_bound
from npkl_models.linalg.owned import positive_number, real_array
from npkl_models.model.basis import Basis, orthonormal, wavelets_of
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.losses import Loss, known_as
from npkl_models.model.mistakes import ROUNDED
from npkl_models.model.pairs import Pairs
from npkl_models.model.regularizers import NoRegularizer, TracePower
from npkl_models.problem import Problem

SLACKS = ("hinge", "squared_hinge")


def psde(
    pairs: Pairs,
    *,
    loss: str | Loss = "squared_hinge",
    C: float | tuple[float, float] = 1.0,
    trace_bound: float | None = None,
    features: Any = None,
) -> Problem:
    r"""Pairwise semidefinite embedding: similar points are near each other, dissimilar points apart.

    .. math::

        \max_{K \succeq 0,\; K \mathbf 1 = 0} \operatorname{tr} K
        - C \sum_{(i,j) \text{ similar}} c_{ij} \max(0, D_{ij} - 1)^q
        - C \sum_{(i,j) \text{ dissimilar}} c_{ij} \max(0, 1 - D_{ij})^q
        \quad [\text{s.t. } \operatorname{tr} K^2 \le B]

    with D the squared distances, q = 2 for the squared hinge and q = 1 for the hinge.

    Parameters
    ----------
    pairs : Pairs
        Must-links are similar pairs, cannot-links are dissimilar pairs; c_ij are their confidences.
    loss : {"squared_hinge", "hinge"}
        Loss of a similar pair that is too far apart, or of a dissimilar pair that is too near.
    C : float or (float, float)
        Positive weight of the pairs, or of the similar and of the dissimilar ones. With ``np.inf`` the pairs
        are hard constraints, as in the source: D_ij <= 1, or D_ij >= 1.
    trace_bound : float, optional
        Positive number B; None gives no bound.
    features : array_like of shape (n, d) or Basis, optional
        Coordinates of the points, or eigenvectors of a graph, for the parametric form: K = QYQ' with Q an
        orthonormal basis of the centred columns. By default K is any centred kernel.

    Raises
    ------
    ProblemError
        If there is no bound and the problem is unbounded: similar pairs let points move apart without limit,
        or C is too small for the hinge to prevent it. Also if features have another number of points, or if
        all features are constant.

    Notes
    -----
    Globerson & Roweis, AISTATS 2007, with slack on the distances where C is finite. With the hinge, the
    problem is unbounded if and only if CL - I has a negative eigenvalue on the range of Q, where L is the
    Laplacian of the similar pairs weighted by c_ij.
    """
    instance(pairs, Pairs, "pairs")
    slack = chosen("loss of psde", (isinstance(loss, Loss) and known_as(loss)) or loss, SLACKS)
    weights = C if isinstance(C, tuple) and len(C) == 2 else (C, C)
    similar, dissimilar = (
        one if isinstance(one, float) and one == np.inf else positive_number(one, "C") for one in weights
    )
    every, near, far = (
        SquaredDistances(pairs.n, (links[:, 0], links[:, 1]))
        for links in (pairs.ends, pairs.must_link, pairs.cannot_link)
    )
    graph = every.adjoint(np.ones(len(pairs)))
    basis = wavelets_of(graph) if features is None else _spanned(features, pairs.n)
    must = len(pairs.must_link)
    if trace_bound is None:
        weight = similar * pairs.confidence[:must]
        hard = bool(np.isinf(weight).any())  # then a solver finds whether the hinge is unbounded
        L = near.adjoint(np.where(np.isinf(weight), 1.0, weight))
        _refuse_unbounded(pairs, L, None if features is None else basis, slack == "hinge" and not hard)
    regularizer = NoRegularizer() if trace_bound is None else TracePower(2, bound=trace_bound)
    cost = -sp.eye_array(pairs.n).tocsr()
    of_similar = "excess" if slack == "hinge" else "squared_excess"
    confidence = pairs.confidence
    terms = (
        *soft_or_hard(near, of_similar, 1.0, similar * confidence[:must], "similar", "upper"),
        *soft_or_hard(far, slack, 1.0, dissimilar * confidence[must:], "dissimilar", "lower"),
    )
    return Problem(cost, terms, regularizer, basis, "psde")


def _spanned(features: Any, n: int) -> Basis:
    """An orthonormal basis of the centred columns of the features."""
    F = features.dense if isinstance(features, Basis) else real_array(features, "features")
    if F.ndim != 2 or F.shape[0] != n or not np.isfinite(F).all():
        raise ProblemError(f"features must have shape (n, d) with n = {n} and finite numbers, got {F.shape}")
    U, s, _ = np.linalg.svd(F - F.mean(axis=0), full_matrices=False)
    kept = s > ALIKE * max(float(s[0]), float(np.abs(F).max())) if s.size else np.zeros(0, dtype=bool)
    if not kept.any():
        raise ProblemError(f"features must tell points apart, got {F.shape[1]} columns that are all constant")
    return Basis(orthonormal(U[:, kept] - U[:, kept].mean(axis=0)))


def _refuse_unbounded(pairs: Pairs, L: Matrix, basis: Basis | None, hinge: bool) -> None:
    """Raise an error if the objective improves without limit as points move apart."""
    count, label = pairs.groups()
    remedy = "give trace_bound=B, which limits tr K^2"
    if basis is None and count > 1:
        sizes = np.sort(np.bincount(label))[::-1][:5].tolist()
        raise ProblemError(
            f"similar pairs must join all points, got {count} components (the largest hold {sizes} points) "
            f"that could move apart without limit; add similar pairs, or {remedy}"
        )
    if basis is None:
        values = eigenbasis(L, 1, skip=1).eigenvalues
        least, doubt = float(values[0]) if values is not None else np.inf, 0.0
    else:
        least = float(np.linalg.eigvalsh(basis.dense.T @ (L @ basis.dense))[0])
        doubt = 8 * (pairs.n + basis.size) * UNIT * norm_bound(L)
        if least <= doubt:
            raise ProblemError(
                f"similar pairs must differ along all {basis.size} directions of the features, got one along "
                f"which no similar pair differs and points could move apart; use fewer features, or {remedy}"
            )
    if hinge and least + doubt < 1 - ROUNDED:
        raise ProblemError(
            "the smallest eigenvalue of C times the Laplacian of the similar pairs must be at least one, or "
            f"the hinge is unbounded, got {least:.3g}; multiply C by {1 / least:.3g} or more, or {remedy}"
        )

r"""The same iterate in coordinates in which its kernel is the identity, and the factor of its kernel.

If distances of neighbours are kept exactly, all feasible kernels are nearly singular. Already at the centre,
the eigenvalues of K lie between 1e3 and 1e-10. A matrix in memory knows the small ones only to 1e-13 of the
large ones. With K = T T' (T = U diag(w)^(1/2), graded by columns) and U = T Y T',

.. math:: \langle M_e, U \rangle = \langle T' M_e T, Y \rangle, \qquad S_Y = T' S T,

and Y begins at the identity. Feasible kernels stay within a multiple of the identity: if K is well centred,
they lie in its Dikin ellipsoid, enlarged by the order. So no digit of a small eigenvalue is lost. The method
is invariant under such a change of coordinates (Nesterov & Todd 1997); only rounding differs.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from npkl_models.interior.path import Iterate
from npkl_models.interior.unknown import Unknown
from npkl_models.interior.values import Values
from npkl_models.linalg import Array, dense, symmetrize
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

BEGIN = 1e-2  # the coordinates change only below this gap: before, K still changes much
EVERY = 4  # iterations between two changes
LEAST = 1e-18  # smaller eigenvalues of K, relative to the largest, are raised to this share
NUMBERS = 3e7  # the largest number of entries of the edges' vectors
NOISE = 1e-13  # pivots below this share of the largest diagonal entry are rounding
SHARE = 0.05  # the share of the required gap that a smaller rank may cost
JUMP = 3.0  # a rank may end where an eigenvalue is this many times the next one


def rescalable(values: Values) -> bool:
    """Whether all values are squared distances that are kept exactly, over a dense basis."""
    terms, part = values.problem.terms, values.parts[0]
    kinds = all(isinstance(term.functional, SquaredDistances) for term in terms)
    exact = (
        bool(terms) and all(term.equal for term in values.problem.constraints) and not values.problem.losses
    )
    if not isinstance(part, Unknown) or part.Q is None or part.trace:
        return False
    return exact and kinds and float(values.box.b.size) * part.order <= NUMBERS


def edge_vectors(values: Values, part: Unknown) -> Unknown:
    """The same values as diagonal entries of a kernel over the edges: <M_e, U> = p_e'U p_e, p_e = q_i - q_j.

    The differences p_e are computed once, before any product.
    """
    problem, size = values.problem, values.box.b.size
    every = np.arange(size, dtype=np.intp)
    ends = [term.functional.indices for term in problem.constraints]
    i, j = (np.concatenate([pair[k] for pair in ends])[values.moving] for k in (0, 1))
    entries = Incidence(every, every, every, np.ones(size), size, size)
    vectors = problem.Q[i] - problem.Q[j]
    return replace(part, incidence=entries, points=every, Q=vectors, edges=None, forms=True)


def rescaled(iterate: Iterate[Values]) -> tuple[Iterate[Values], Array]:
    """The iterate in the coordinates of its kernel, with values over `edge_vectors`, and T (order x order).

    A kernel or slack that is not positive definite raises a LinAlgError.
    """
    (part,) = iterate.program.parts
    assert isinstance(part, Unknown)
    part = part if part.edges is None else edge_vectors(iterate.program, part)
    spectrum, vectors = np.linalg.eigh(iterate.X[0])
    if not spectrum[-1] > 0:
        raise np.linalg.LinAlgError("the kernel is not positive definite")
    T = vectors * np.sqrt(np.maximum(spectrum, LEAST * spectrum[-1]))
    assert part.Q is not None
    out = copy(iterate)
    C = symmetrize(T.T @ dense(part.C) @ T)
    out.program = replace(iterate.program, parts=(replace(part, C=C, Q=part.Q @ T),))
    out.R = [symmetrize(T.T @ dense(R) @ T) for R in iterate.R]
    out.S = out.program.slack(out.y, out.rho, out.R)
    out.L_S = [np.asfortranarray(np.linalg.cholesky(dense(out.S[0])))]
    out.X, out.L_X = [np.eye(len(C))], [np.asfortranarray(np.eye(len(C)))]
    return out, T


def factor_of(
    problem: Statement, K: Array, y: Multipliers, tol: float = 1e-12, scaling: Array | None = None
) -> Array:
    """The factor V (n x r) of the leading part of K (order x order) with the smallest objective.

    If a smaller rank has nearly the same objective, the factor has the smaller rank. A violated constraint
    costs twice its multiplier times the violation. The products of the eigenvalues of K and S are mu, so K
    has large and small eigenvalues. Every jump between them is a rank that is tried. With a ``scaling`` T,
    the kernel is T K T'.
    """
    top = float(np.max(K.diagonal(), initial=0.0))
    if not top > 0:
        return np.zeros((problem.n, 1))
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1, tol=NOISE * top)
    W = np.zeros((len(K), rank))
    W[pivots - 1] = np.tril(factor)[:, :rank]
    U, s, _ = np.linalg.svd(W if scaling is None else scaling @ W, full_matrices=False)
    V = problem.lift(U * s)
    ends = [r for r in range(1, rank) if s[r - 1] ** 2 > JUMP * s[r] ** 2]
    if not problem.constraints:
        V = problem.regularizer.rescale(V) if problem.basis is None else V
    tried = [(_merit(problem, V[:, :r], y), r) for r in (*ends, rank)]
    tried = [pair for pair in tried if np.isfinite(pair[0])]
    if not tried:  # numbers out of range
        return V
    best = min(value for value, _ in tried)
    near = SHARE * tol * problem.size(2 * best)
    least = min(r for value, r in tried if value <= best + near)
    return V[:, :least]


def _merit(problem: Statement, V: Array, y: Multipliers) -> float:
    total = problem.objective_of_factor(V)
    for part, nu in zip(problem.constraints, y.constraints, strict=True):
        total += 2 * float(np.abs(nu) @ np.abs(part.excess(part.functional.value_of_factor(V))))
    return total

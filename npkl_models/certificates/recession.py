"""Proof that a problem has no lower bound: a direction of recession along which the objective falls.

The proof is a kernel K that meets the constraints (to `FEASIBILITY`, exactly for its own targets) and a
factor D. K + s DD' meets them as well as K for all s >= 0, and the objective falls
at a constant rate in s (Rockafellar 1970, section 8). A value that must not move has to be zero exactly along
D. To be zero up to rounding is not enough, since for large s the loss of a tiny value outweighs the fall.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models import kernel
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.certificates.rays import in_binary_units, nearest_factors
from npkl_models.feasibility.faces import face_of
from npkl_models.feasibility.residual import zero_over
from npkl_models.feasibility.restoration import restored
from npkl_models.kernel import off_basis
from npkl_models.linalg import DENSE_SPECTRUM, Array, Mask, dense, gamma, longest_row, symmetrize
from npkl_models.model.conjugates import projected
from npkl_models.model.constraint import Constraint
from npkl_models.model.facts import trace_bound
from npkl_models.model.functionals import Entries, Functional, SquaredDistances, TotalSum, squares
from npkl_models.model.misses import misses, worst
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.factorisation import eigenvalue_floor
from npkl_models.proof.positive import FULL

CLEAR_FALL = 1e-8  # the rate must be below minus this share of the sizes of the numbers that enter
STILL = (1e-13, 1e-9, 1e-6, 1e-3)  # relative sizes below which a value counts as zero, tried in turn
COLUMNS, PRICE, ITERATIONS = 4, 1e3, 200  # of the search for a direction
FAINT = 1e-7  # relative to the longest row of a direction: shorter rows may count as zero


@np.errstate(all="ignore")
def unbounded(problem: Statement, V: Array | None = None) -> bool:
    """Whether it is proved that the objective falls without limit; V (n x r) is a large point of a solver."""
    problem, V = in_binary_units(problem, V)
    R = problem.regularizer
    if R.finite_support or np.isfinite(trace_bound(problem)):
        return False
    zero = np.zeros((problem.n, 1))
    start = V if V is not None and np.isfinite(V).all() else zero
    if problem.constraints and not any(
        worst(misses(problem, restored(problem, X)))[0] <= FEASIBILITY
        for X in (zero, *nearest_factors(problem, None))
    ):
        return False
    if _inner_direction(problem, start):
        return True
    found = _directions(problem, start)
    if any(_falls(problem, D, still) for still in STILL for D in found):
        return True
    more = [_searched(problem)] if problem.order <= DENSE_EIGH else []
    return any(_falls(problem, D, still) for still in STILL for D in more)


def _inner_direction(problem: Statement, V: Array) -> bool:
    """Whether a positive definite kernel near VV' is proved to be a direction of descent without limit.

    The values of D = VV' at the constraints should be zero. D - E has the values zero for some E, and it is
    positive semidefinite if the smallest eigenvalue of D is at least ||E||. The cost of E is at most
    ||C|| ||E||.
    """
    small = max(problem.n, *problem.sizes) <= FULL and V.shape[1] >= problem.n and V.any()
    plain = problem.basis is None and problem.regularizer.vacuous and not problem.losses
    if not (small and plain and all(part.equal for part in problem.constraints)):
        return False
    V = V / float(np.linalg.norm(V))
    E, doubt, C = _nearest_still(problem, V), gamma(2 * problem.n + 64), problem.cost
    least = eigenvalue_floor(symmetrize(V @ V.T)) - doubt
    fall = float(np.sum(V * (C @ V))) + float(sp.linalg.norm(C)) * (E + doubt) * (1 + 1e-9)
    return bool(least > E and fall < 0)


def _nearest_still(problem: Statement, V: Array) -> float:
    """A bound on the norm of an E such that all values of VV' - E are zero; inf without proof.

    If the values of VV' are r, and A A' >= g I for the map A to the values, ||E|| <= ||r|| / sqrt(g).
    """
    parts = problem.constraints
    A = sp.vstack([part.functional.incidence.symmetric_operator() for part in parts])
    reach = gamma(longest_row(A) + 2) * float(sp.linalg.norm(A)) ** 2
    floor = eigenvalue_floor((A @ A.T).toarray()) - reach
    doubt = gamma(64 + 8 * problem.n + max(part.functional.additions for part in parts))
    r = [abs(f.value_of_factor(V)) + doubt * f.size_of_factor(V) for f in (part.functional for part in parts)]
    return float(np.linalg.norm(np.concatenate(r))) / np.sqrt(floor) * (1 + 1e-8) if floor > 0 else np.inf


def _directions(problem: Statement, V: Array) -> list[Array]:
    """Factors along which the objective might fall: the point itself, and low eigenvectors of slacks."""
    out = [V] if V.any() else []
    for y in (projected(problem, problem.no_multipliers), problem.derivatives(V)):
        S = kernel.slack(problem, y).S
        if not np.isfinite(S.data if sp.issparse(S) else S).all():
            continue
        out.append(problem.lift(min_eigenvalue(S).vector[:, None]))
        N = _kept_still(problem) if S.shape[0] <= DENSE_SPECTRUM else None
        if N is not None and N.shape[1]:
            out.append(problem.lift(N @ np.linalg.eigh(symmetrize(N.T @ (S @ N)))[1][:, :1]))
    if problem.order <= DENSE_SPECTRUM:
        out.append(problem.lift(np.eye(problem.order)))  # all directions at once
    return out


def _kept_still(problem: Statement) -> Array | None:
    """A basis of the directions that keep certain squares at zero; None if there are no such squares."""
    M, any_ = sp.csr_array(problem.cost.shape), False
    for term in problem.terms:
        held = squares(term.functional) & np.isinf(term.domain[1])
        M, any_ = M + term.functional.adjoint(held.astype(float)), any_ or bool(held.any())
    if not any_:
        return None
    values, vectors = np.linalg.eigh(dense(problem.restrict(sp.csr_array(M))))
    return vectors[:, values <= 1e-12 * max(float(values[-1]), 1.0)]


def _searched(problem: Statement) -> Array:
    """A factor of norm one with a low rate; penalties keep the values small that must not move."""
    from scipy.optimize import minimize

    n, r = problem.order, min(COLUMNS, problem.order)
    x = np.random.default_rng(0).standard_normal(n * r)
    unit = problem.cost_unit
    every = [(part.functional, *part.domain) for part in problem.terms]

    def rate(x: Array) -> tuple[float, Array]:
        W = x.reshape(n, r)
        length = float(np.sum(W**2)) or 1.0
        V = problem.lift(W)
        S, total = problem.cost + problem.regularizer.shift * sp.eye_array(problem.n), 0.0
        for f, low, high in every:
            z = f.value_of_factor(V) / length
            ends = [np.where(np.isfinite(end), end, PRICE * unit * z) for end in (low, high)]
            slope = np.where(z > 0, ends[1], ends[0])
            fixed = np.isfinite(np.where(z > 0, high, low))
            total += float(np.sum(slope * z * np.where(fixed, 1.0, 0.5)))
            S = S + f.adjoint(np.broadcast_to(slope, z.shape))
        SV = np.asarray(S @ V)
        inner = float(np.sum(problem.cost.multiply(1.0) @ V * V)) / length
        total += inner + problem.regularizer.shift
        gradient = 2 * (problem.drop(SV) - float(np.sum(V * SV)) / length * W) / length
        return total, gradient.ravel()

    found = minimize(rate, x, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    x = found.x / max(float(np.linalg.norm(found.x)), 1e-300) if np.isfinite(found.x).all() else x
    return problem.lift(x.reshape(n, r))


def _falls(problem: Statement, D: Array, still: float) -> bool:
    """Whether a direction near D is proved to exist along which the objective falls: K + s DD', s -> inf.

    Values that must not move have to be zero exactly. `_exactly_still` proves this by the rows or the face
    that they leave.
    """
    D = problem.lift(problem.drop(D))
    D = D / max(float(np.linalg.norm(D)), 1e-300)
    held = []
    for term in problem.terms:
        if isinstance(term, Constraint) and term.equal:
            held.append((term.functional, np.ones(term.functional.size, dtype=bool)))
            continue
        z = term.functional.value_of_factor(D)
        low, high = term.domain
        zero = _still(term.functional, D, still) & (np.isinf(low) | np.isinf(high))  # others: finite slopes
        if bool(np.any(~zero & (((z > 0) & np.isinf(high)) | ((z < 0) & np.isinf(low))))):
            return False
        held.append((term.functional, zero))
    found = _exactly_still(problem, D, held)
    if found is None:
        return False
    D, reach = found
    length, shift = float(np.linalg.norm(D)), problem.regularizer.shift
    rate = float(np.sum(D * (problem.cost @ D))) + shift * length**2
    size = np.asarray(abs(problem.cost).sum(axis=1)).ravel() + shift
    off = reach + off_basis(problem, D)
    for term, (f, zero) in zip(problem.terms, held, strict=True):
        z, (low, high) = np.where(zero, 0.0, f.value_of_factor(D)), term.domain
        doubt = gamma(64 + 8 * D.shape[1] + f.additions) * f.size_of_factor(D)
        doubt = np.where(zero, 0.0, doubt + f.change_of_factor(D, off))
        if bool(np.any(((z + doubt > 0) & np.isinf(high)) | ((z - doubt < 0) & np.isinf(low)))):
            return False
        rate += term.recession(z)
        may = (z - doubt < 0) & np.isfinite(low), (z + doubt > 0) & np.isfinite(high)  # have this sign
        slope = np.maximum(*(np.where(m, np.abs(end), 0.0) for m, end in zip(may, (low, high), strict=True)))
        size = size + f.row_sizes(slope)[0]
    least = CLEAR_FALL * length**2 + 2 * (2 * reach * length + reach**2)
    return bool(rate < -float(np.max(size)) * least)


def _exactly_still(
    problem: Statement, D: Array, held: list[tuple[Functional, Mask]]
) -> tuple[Array, float] | None:
    """(D', reach) if a factor whose held values are exactly zero is proved to be within reach of D'."""
    parts = _parts(problem, held)
    if not parts:
        return D, 0.0
    lengths = np.linalg.norm(D, axis=1)
    plain = np.where((lengths > FAINT * lengths.max(initial=0.0))[:, None], D, 0.0)
    if problem.basis is None and not any(part.functional.size_of_factor(plain).any() for part in parts):
        return plain, 0.0  # every product in these values has a zero row as a factor
    if problem.basis is not None and all(bool(squares(part.functional).all()) for part in parts):
        return _within_rows(problem, D, parts)
    every = LossTerm(Entries(problem.n, ([0], [0])), "square", 0.0)  # a problem needs a term or an equality
    zero = sp.csr_array(problem.cost.shape)
    inner = face_of(Statement(zero, (every, *parts), basis=problem.basis)).problem
    return None if inner.constraints else (inner.lift(inner.drop(D)), 0.0)


def _parts(problem: Statement, held: list[tuple[Functional, Mask]]) -> list[Constraint]:
    """The values that must be zero, as equalities, without those that are zero for all kernels."""
    parts = []
    for f, mask in held:
        if mask.any():
            part = f.kept(mask)
            open_ = ~zero_over(problem.basis, part)
            if open_.any():
                parts.append(Constraint(part.kept(open_), equal=0.0))
    return parts


def _within_rows(problem: Statement, D: Array, parts: list[Constraint]) -> tuple[Array, float] | None:
    """Move D to the null space of the rows a, where the values, sums of squares of a'w, w = Q'D, are zero.

    Returns the moved factor and how far it may be from an exact one. None if the rows are not proved to be
    independent.
    """
    A = np.vstack([_squared_rows(part.functional, problem.Q) for part in parts])
    A /= np.maximum(np.linalg.norm(A, axis=1), 1e-300)[:, None]
    sigma = np.linalg.svd(A, compute_uv=False)
    doubt = 16 * gamma(A.shape[1] + 16) * A.shape[0]
    if A.shape[0] >= A.shape[1] or not sigma[-1] > 1e3 * doubt:
        return None
    W = problem.drop(D)
    W = W - np.linalg.pinv(A) @ (A @ W)
    left = float(np.linalg.norm(A @ W)) + doubt * float(np.linalg.norm(W))
    return problem.lift(W), 2 * left / (float(sigma[-1]) - doubt)


def _squared_rows(f: Functional, Q: Array) -> Array:
    """Rows a such that the values are sums of squares (a'w)^2, w = Q'D; each row belongs to one value."""
    if isinstance(f, SquaredDistances):
        return np.subtract(*(Q[index] for index in f.indices))
    if isinstance(f, Entries):
        return Q[f.indices[0]]
    return np.sum(Q, axis=0, keepdims=True) if isinstance(f, TotalSum) else Q  # a trace: all rows


def _still(f: Functional, D: Array, unit: float) -> Mask:
    """Which values of DD' count as zero; a square is judged by its root, which is linear in D."""
    lengths = np.sqrt(np.einsum("ir,ir->i", D, D))
    out: Mask = np.abs(f.value_of_factor(D)) <= unit * f.size_of_factor(D)
    if isinstance(f, Entries):
        i, j = f.indices
        own = i == j
        out = np.where(own, lengths[i] <= unit * lengths.max(initial=0.0), out)
    elif isinstance(f, SquaredDistances):
        i, j = f.indices
        distances = np.linalg.norm(D[i] - D[j], axis=1)
        out = distances <= unit * np.maximum(lengths[i], lengths[j])
    elif isinstance(f, TotalSum):
        out = np.array([float(np.linalg.norm(D.sum(axis=0))) <= unit * float(lengths.sum())])
    return out

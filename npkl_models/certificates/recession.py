"""Directions of recession, along which the objective may fall for ever, are proposed to the kernel.

The kernel decides in rational numbers (`kernel.falls`). So values that must not move have to be zero exactly
along what is proposed: to be zero up to rounding is not enough, since far along the loss of a tiny value
outweighs the fall. A point that meets the constraints, to `FEASIBILITY`, makes the proof of UNBOUNDED whole.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models import kernel
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.certificates.rays import in_binary_units, nearest_factors
from npkl_models.feasibility.faces import face_of, implied, vanishing
from npkl_models.feasibility.residual import zero_over
from npkl_models.feasibility.restoration import restored
from npkl_models.linalg import DENSE_SPECTRUM, Array, Mask, dense, symmetrize
from npkl_models.model.conjugates import projected
from npkl_models.model.constraint import Constraint
from npkl_models.model.facts import trace_bound
from npkl_models.model.functionals import Entries, Functional, SquaredDistances, TotalSum, squares
from npkl_models.model.misses import misses, worst
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm, Term
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.proof.positive import FULL
from npkl_models.proof.rational import annihilated, fractions

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
    if problem.constraints and not _reached(problem, zero):
        return False
    if _may_be_inside(problem, start) and kernel.falls_inside(problem, start / float(np.linalg.norm(start))):
        return True
    found = _directions(problem, start)
    if any(_falls(problem, D, still) for still in STILL for D in found):
        return True
    more = [_searched(problem)] if problem.order <= DENSE_EIGH else []
    return any(_falls(problem, D, still) for still in STILL for D in more)


def _reached(problem: Statement, zero: Array) -> bool:
    """Whether a kernel near zero, or near the closest one that is known, meets the constraints."""
    points = (zero, *nearest_factors(problem, None))
    return any(worst(misses(problem, restored(problem, X)))[0] <= FEASIBILITY for X in points)


def _may_be_inside(problem: Statement, V: Array) -> bool:
    """Whether VV' may be near a positive definite direction along which equalities hold."""
    small = max(problem.n, *problem.sizes) <= FULL and V.shape[1] >= problem.n and bool(V.any())
    plain = problem.basis is None and problem.regularizer.vacuous and not problem.losses
    return small and plain and all(part.equal for part in problem.constraints)


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
    """Whether the objective falls along a direction near D, in which values near zero are exactly zero."""
    W = problem.drop(D)
    W = W / max(float(np.linalg.norm(W)), 1e-300)
    D = problem.lift(W)
    rate = float(np.sum(D * (problem.cost @ D))) + problem.regularizer.shift * float(np.sum(D * D))
    held = []
    for term in problem.terms:
        zero = _held(term, D, still)
        rate += term.recession(np.where(zero, 0.0, term.functional.value_of_factor(D)))
        zero &= ~zero_over(problem.basis, term.functional)
        held += [term.functional.kept(zero)] if zero.any() else []
    if not rate < 0:
        return False
    lengths = np.linalg.norm(W, axis=1)
    plain = np.where((lengths > FAINT * lengths.max(initial=0.0))[:, None], W, 0.0)
    if problem.basis is None and not any(f.size_of_factor(plain).any() for f in held):
        return kernel.falls(problem, plain)  # every product in these values has a zero row as a factor
    near = _exactly_still(problem, W, held)
    return near is not None and kernel.falls(problem, near)


def _held(term: Term, D: Array, still: float) -> Mask:
    """Which values must be zero along D: those of equalities, and near zero those whose losses bend."""
    if isinstance(term, Constraint) and term.equal:
        return np.ones(term.functional.size, dtype=bool)
    low, high = term.domain
    return _still(term.functional, D, still) & (np.isinf(low) | np.isinf(high))  # others: finite slopes


def _exactly_still(problem: Statement, W: Array, held: list[Functional]) -> Array | None:
    """Rational numbers near W along which squares v'Kv are exactly zero; None if some value is no square."""
    every = LossTerm(Entries(problem.n, ([0], [0])), "square", 0.0)  # a problem needs a term or an equality
    parts = [Constraint(f, equal=0.0) for f in held]
    if problem.basis is None:
        whole = Statement(sp.csr_array(problem.cost.shape), (every, *parts))
        if face_of(whole).problem.constraints:
            return None
        (label, share, gone), vectors = implied(whole)
        first, live = np.unique(label, return_index=True)[1], np.flatnonzero(~gone)
        A = np.zeros((len(vectors), gone.size), dtype=object)
        for row, v in zip(A, vectors, strict=True):
            np.add.at(row, label, fractions(v * share))
        U = fractions(np.zeros((gone.size, W.shape[1])))
        U[live] = annihilated(A[:, live], (W[first] / share[first, None])[live])
        return np.asarray(U[label] * fractions(share)[:, None])
    Q, rows = fractions(problem.Q), [np.zeros((0, problem.order), dtype=object)]
    for part in parts:
        which, vectors = vanishing(part)
        if not (which.all() or squares(part.functional).all()):
            return None
        square = [fractions(v).dot(Q)[None] for v in vectors]
        rows += square if which.all() else [_squared_rows(part.functional, Q)]
    return annihilated(np.vstack(rows), W)


def _squared_rows(f: Functional, Q: Array) -> Array:
    """Rows a such that the values are sums of squares (a'w)^2, w = Q'D; each row belongs to one value."""
    if isinstance(f, SquaredDistances):
        return np.subtract(*(Q[index] for index in f.indices))
    return Q[f.indices[0]] if isinstance(f, Entries) else Q  # a trace: all rows


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

"""Proofs that a problem has no feasible kernel, or no lower bound.

Infeasible: multipliers nu of the equalities (and d of the rows) for which the bound of the problem
without cost and losses, whose objective is zero, is above zero. Unbounded: a feasible kernel and a factor
D with A(DD') = 0 along which the objective falls at a constant rate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.certify import rounding
from npkl_models.certify.bounds import Demand, bound_from
from npkl_models.certify.existence import exceeds, near
from npkl_models.certify.floors import diagonal_of
from npkl_models.certify.misfit import contradictory, nearest, random_factor, row_bound, scales
from npkl_models.certify.newton import newton
from npkl_models.certify.restoration import restore
from npkl_models.certify.slater import projected
from npkl_models.linalg import DENSE_SPECTRUM, UNIT, Array, Mask, dense, symmetrize
from npkl_models.model.basis import Basis
from npkl_models.model.faces import LARGEST, complement, face_of
from npkl_models.model.functionals import DistanceDifferences, Entries, Functional, SquaredDistances, TotalSum
from npkl_models.model.problem import Problem
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.model.terms import Equality, LossTerm, Multipliers
from npkl_models.presolve.units import binary_units
from npkl_models.proof.bounds import DENSE_EIGH, min_eigenvalue

EXTRA = 2  # columns more than a second-order stationary point of the search needs
CLEAR_FALL = 1e-8  # the rate must be below zero by that share of the numbers that enter
CLEARLY = 1e-9  # the bound must be above zero by that share of the numbers that it is the sum of


def infeasible(problem: Problem, V: Array | None = None) -> bool:
    """Whether it is proved that no kernel meets the constraints; V (n x r) is where the search begins."""
    problem, V = _in_binary_units(problem, V)
    if not problem.equalities:
        return False
    if any(_negative(part) for part in problem.equalities) or contradictory(problem):
        return True
    if exceeds(problem):
        return True
    search = _without_losses(problem)
    for y in _dual_rays(search, V):
        size = max(float(np.max(np.abs(nu), initial=0.0)) for nu in y.equalities)
        if not (np.isfinite(size) and size > 0):
            continue
        unit = y.scaled(1 / size)
        method = "auto" if search.order <= DENSE_EIGH else "cholesky"
        demand = Demand(method, 1e-6, 1e-9, None, False)
        found = bound_from(search, unit, np.zeros((search.n, 1)), 0.0, np.inf, demand)
        terms = zip(search.equalities, unit.equalities, strict=True)
        magnitude = sum(float(np.sum(np.abs(part.value * nu))) for part, nu in terms)
        if found.rigour == "proved" and found.bound > CLEARLY * magnitude:
            return True
    return False


def unbounded(problem: Problem, V: Array | None = None) -> bool:
    """Whether it is proved that the objective falls without limit; V (n x r) is a point far along the way."""
    problem, V = _in_binary_units(problem, V)
    R = problem.regularizer
    if R.finite_support or np.isfinite(R.trace_bound(problem.n)):
        return False
    zero = np.zeros((problem.n, 1))
    start = V if V is not None and np.isfinite(V).all() else zero
    if problem.equalities and not any(restore(problem, X).feasible for X in (zero, *_nearest(problem, None))):
        return False
    return any(_falls(problem, D) for D in _directions(problem, start))


def _in_binary_units(problem: Problem, V: Array | None) -> tuple[Problem, Array | None]:
    """The problem over its face, and the point, in units in which no number is out of range."""
    units = binary_units(problem)
    return face_of(units.problem).problem, None if V is None else units.inner_point(V)


def _negative(part: Equality) -> bool:
    """Whether a value that no PSD kernel makes negative must be negative."""
    return bool(np.any(part.value[_squares(part.functional)] < 0))


def _squares(f: Functional) -> Mask:
    """Which values are never negative on a PSD kernel: K_ii, squared distances, 1'K1."""
    if isinstance(f, Entries):
        return diagonal_of(f)
    return np.full(f.size, isinstance(f, (SquaredDistances, TotalSum)))


def _without_losses(problem: Problem) -> Problem:
    """The constraints alone, over the points that they concern if there is no basis."""
    confined = np.isfinite(problem.regularizer.trace_bound(problem.n))
    R = problem.regularizer if confined else NoRegularizer()
    used = np.unique(np.concatenate([part.functional.triplets().row for part in problem.equalities] + [
        part.functional.triplets().column for part in problem.equalities]))  # fmt: skip
    n = problem.n
    if problem.basis is not None or used.size < 2:
        return Problem(sp.csr_array((n, n)), (), problem.equalities, R, problem.basis)
    place = np.zeros(n, dtype=np.intp)
    place[used] = np.arange(used.size)
    parts = [
        replace(
            part,
            functional=type(part.functional)(used.size, tuple(place[i] for i in part.functional.indices)),
        )
        for part in problem.equalities
    ]
    shifted = not R.row_multipliers and used.size <= LARGEST and all(map(_translates, parts))
    basis = complement(used.size) if shifted else None
    return Problem(sp.csr_array((used.size, used.size)), (), parts, R, basis)


def _translates(part: Equality) -> bool:
    """Whether the values do not change when all points move alike: any kernel may then be centred."""
    return isinstance(part.functional, (SquaredDistances, DistanceDifferences))


def _dual_rays(problem: Problem, V: Array | None) -> list[Multipliers]:
    """The misfits where the sum of their squares is smallest, rows that are too long among them."""
    out = []
    for X in _nearest(problem, V):
        nu = tuple(
            (part.functional.value_of_factor(X) - part.value) / s**2
            for part, s in zip(problem.equalities, scales(problem), strict=True)
        )
        radius, rows = row_bound(problem), None
        if np.isfinite(radius):
            rows = np.maximum(np.einsum("ir,ir->i", X, X) - radius, 0.0) / radius**2
        out.append(Multipliers((), nu, rows))
    return out


def _nearest(problem: Problem, V: Array | None) -> list[Array]:
    """Factors at which the sum of squared misfits is smallest, from V and from a random start."""
    m = sum(part.functional.size for part in problem.equalities)
    starts = [random_factor(problem, min(int(np.sqrt(2 * m)) + EXTRA, problem.order))]
    if V is not None and V.shape[0] == problem.n and np.isfinite(V).all():
        starts.insert(0, problem.drop(V))
    return [problem.lift(nearest(problem, W)) for W in starts]


def _directions(problem: Problem, V: Array) -> list[Array]:
    """Factors along which the objective might fall: the point itself, and low eigenvectors of slacks."""
    out = [V] if V.any() else []
    zero = Multipliers(
        tuple(np.zeros(part.functional.size) for part in problem.terms),
        tuple(np.zeros(part.functional.size) for part in problem.equalities),
    )
    for y in (projected(problem, zero), problem.derivatives(V)):
        S, _ = rounding.slack(problem, y)
        if not np.isfinite(S.data if sp.issparse(S) else S).all():
            continue
        out.append(problem.lift(min_eigenvalue(S).vector[:, None]))
        N = _kept_still(problem) if S.shape[0] <= DENSE_SPECTRUM else None
        if N is not None and N.shape[1]:
            out.append(problem.lift(N @ np.linalg.eigh(symmetrize(N.T @ (S @ N)))[1][:, :1]))
    return out


def _kept_still(problem: Problem) -> Array | None:
    """A basis of the directions in which no value moves that is a sum of squares and must not grow."""
    M, any_ = sp.csr_array(problem.cost.shape), False
    for part in problem.equalities:
        M, any_ = M + part.functional.adjoint(_squares(part.functional).astype(float)), True
    for term in problem.terms:
        low, high = term.loss.domain(term.target, term.weight)
        held = _squares(term.functional) & np.isinf(low) & np.isinf(high)
        M, any_ = M + term.functional.adjoint(held.astype(float)), any_ or bool(held.any())
    if not any_:
        return None
    values, vectors = np.linalg.eigh(dense(problem.restrict(sp.csr_array(M))))
    out: Array = vectors[:, values <= 1e-12 * max(float(values[-1]), 1.0)]
    return out


def _falls(problem: Problem, D: Array) -> bool:
    """Whether there is proved to be a D near this one along which, K + s DD', s -> inf, the objective falls.

    Values that must not move have to be zero exactly, whatever rounding says of them here: where they are
    squares on the face that they leave, others by Kantorovich's theorem.
    """
    D = problem.lift(problem.drop(D))
    D = D / max(float(np.linalg.norm(D)), 1e-300)
    held = [(part.functional, np.ones(part.functional.size, dtype=bool)) for part in problem.equalities]
    for term in problem.terms:
        z, still = term.functional.value_of_factor(D), _still(term.functional, D)
        low, high = term.loss.domain(term.target, term.weight)
        endless = np.isinf(low) | np.isinf(high)
        if bool(np.any(~still & (((z > 0) & np.isinf(high)) | ((z < 0) & np.isinf(low))))):
            return False
        held.append((term.functional, still & endless))
    found = _exactly_still(problem, D, held)
    if found is None:
        return False
    D, reach = found
    rate = float(np.sum(D * (problem.cost @ D))) + problem.regularizer.shift * float(np.sum(D**2))
    size = np.asarray(abs(problem.cost).sum(axis=1)).ravel() + problem.regularizer.shift
    for term, (_, zero) in zip(problem.terms, held[len(problem.equalities) :], strict=True):
        z = np.where(zero, 0.0, term.functional.value_of_factor(D))
        low, high = term.loss.domain(term.target, term.weight)
        ends = [np.where(z == 0, 0.0, np.where(np.isfinite(end), end, 0.0) * z) for end in (low, high)]
        if bool(np.any(((z > 0) & np.isinf(high)) | ((z < 0) & np.isinf(low)))):
            return False
        rate += float(np.sum(np.maximum(*ends)))
        slope = np.where(zero, 0.0, np.where(z > 0, high, np.where(z < 0, low, 0.0)))
        size = size + term.functional.row_sizes(slope)[0]
    scale, length = float(np.max(size)), float(np.linalg.norm(D))
    change = scale * (2 * reach * length + reach**2)
    return bool(rate < -CLEAR_FALL * scale * length**2 - 2 * change)


def _exactly_still(
    problem: Problem, D: Array, held: list[tuple[Functional, Mask]]
) -> tuple[Array, float] | None:
    """(D', reach): within reach of D' there is a factor whose held values are zero exactly."""
    parts = []
    for f, mask in held:
        if mask.any():
            part = type(f)(f.n, tuple(index[mask] for index in f.indices))
            open_ = ~_vanishing(part, problem.basis)
            if open_.any():
                indices = tuple(index[open_] for index in part.indices)
                parts.append(Equality(type(f)(f.n, indices), 0.0))
    if not parts:
        return D, 0.0
    every = LossTerm(Entries(problem.n, ([0], [0])), "square", 0.0)  # a face must leave something to state
    zero = sp.csr_array(problem.cost.shape)
    inner = face_of(Problem(zero, every, parts, basis=problem.basis)).problem
    there = inner.lift(inner.drop(D))
    if not inner.equalities:
        return there, 0.0
    better = newton(inner, there)
    found = near(inner, better)
    return None if found is None or found.share > 0 else (better, found.reach)


def _vanishing(f: Functional, basis: Basis | None) -> Mask:
    """Which values are zero for all kernels in the range of a basis, by rows that are zero or the same."""
    if basis is None or f.arity != 2:
        return np.zeros(f.size, dtype=bool)
    Q, (i, j) = basis.Q, f.indices
    if isinstance(f, SquaredDistances):
        gap = Q[i] - Q[j]
        return np.asarray(abs(gap).sum(axis=1)).ravel() == 0
    size = np.asarray(abs(Q).sum(axis=1)).ravel()
    return (size[i] == 0) | (size[j] == 0)


def _still(f: Functional, D: Array) -> Mask:
    """Which values of DD' may be meant to be zero, by what is linear in D where they are squares."""
    unit = (64 + 8 * D.shape[1]) * UNIT
    lengths = np.sqrt(np.einsum("ir,ir->i", D, D))
    out: Mask = np.abs(f.value_of_factor(D)) <= unit * f.size_of_factor(D)
    if isinstance(f, Entries):
        i, j = f.indices
        own = i == j
        out = np.where(own, lengths[i] <= unit * lengths.max(initial=0.0), out)
    elif isinstance(f, SquaredDistances):
        i, j = f.indices
        apart = np.linalg.norm(D[i] - D[j], axis=1)
        out = apart <= unit * np.maximum(lengths[i], lengths[j])
    elif isinstance(f, TotalSum):
        out = np.array([float(np.linalg.norm(D.sum(axis=0))) <= unit * float(lengths.sum())])
    return out

"""Proof that a problem has no feasible kernel.

The problem without cost and losses has the objective zero. If multipliers of the constraints give this
problem a lower bound above zero, no kernel meets the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models import kernel
from npkl_models.certificates.bounds import CertifyOptions, bound_from
from npkl_models.certificates.slater import NEARLY
from npkl_models.feasibility.constraint_map import ConstraintMap
from npkl_models.feasibility.faces import LARGEST, complement, face_of
from npkl_models.feasibility.residual import contradictory, nearest, random_factor, zero_over
from npkl_models.linalg import Array
from npkl_models.model.functionals import DISTANCES, squares
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.model.statement import Statement
from npkl_models.model.units import binary_units
from npkl_models.proof.bounds import DENSE_EIGH

EXTRA = 2  # columns beyond those that a second-order stationary point of the search needs
CLEARLY = 1e-9  # the bound must exceed this share of the sum of its summands' sizes


def infeasible(problem: Statement, V: Array | None = None, y: Multipliers | None = None) -> bool:
    """Whether it is proved that no kernel meets the constraints; the search begins at V (n x r), if given."""
    for part in problem.constraints:
        zero = zero_over(problem.basis, part.functional)
        if np.any(part.lower[zero] > 0) or np.any(part.upper[zero] < 0):
            return True
    given = [] if y is None or not y.finite else [_inner(problem, y)]
    problem, V = in_binary_units(problem, V)
    if not problem.constraints:
        return False
    if any(np.any(part.upper[squares(part.functional)] < 0) for part in problem.constraints):
        return True  # no PSD kernel makes such a value negative
    if contradictory(problem):
        return True
    search = _without_losses(problem)
    if any(_is_ray(search, ray) for ray in given):
        return True
    every = ConstraintMap.of(search)
    residuals = (every.split(every.excess(X) / every.scales**2) for X in nearest_factors(search, V))
    return any(_is_ray(search, Multipliers((), nu)) for nu in residuals)


def _is_ray(search: Statement, y: Multipliers) -> bool:
    """Whether the multipliers of the constraints alone prove a bound above zero."""
    size = _size(y)
    if not (np.isfinite(size) and size > 0):
        return False
    unit = y.scaled(1 / size)
    terms = zip(search.constraints, unit.constraints, strict=True)
    magnitude = sum(float(np.sum(np.abs(part.value * nu))) for part, nu in terms)
    if search.regularizer.vacuous:
        for least in (NEARLY, CLEARLY, np.sqrt(CLEARLY)):  # smaller multipliers may be rounding
            clean = Multipliers((), tuple(np.where(np.abs(nu) > least, nu, 0.0) for nu in unit.constraints))
            for ray in (clean, _whole(clean)):
                if kernel.ray_bound(search, ray).value > CLEARLY * magnitude * _size(ray):
                    return True
    method = "auto" if search.order <= DENSE_EIGH else "cholesky"
    demand = CertifyOptions(method, 1e-6, 1e-9, None, False)
    found = bound_from(search, unit, np.zeros((search.n, 1)), 0.0, demand)
    return found.rigour == "proved" and found.bound > CLEARLY * magnitude


def _size(y: Multipliers) -> float:
    return max(float(np.max(np.abs(nu), initial=0.0)) for nu in y.constraints)


def _whole(y: Multipliers) -> Multipliers:
    """Multiples of the smallest multiplier, rounded: sums of the M_e that should vanish may do so exactly."""
    every = np.abs(np.concatenate(y.constraints))
    least = float(np.min(every[every > 0], initial=np.inf))
    return Multipliers((), tuple(np.round(nu / least) for nu in y.constraints))


def _inner(problem: Statement, y: Multipliers) -> Multipliers:
    """The multipliers of the constraints over the face, in units in which no number is out of range."""
    units = binary_units(problem)
    folded = face_of(units.problem).fold(units.inner_multipliers(units.whole.as_multipliers(y)))
    return Multipliers((), folded.constraints)


def in_binary_units(problem: Statement, V: Array | None) -> tuple[Statement, Array | None]:
    """The problem over its face, and the point, in units in which no number is out of range."""
    units = binary_units(problem)
    return face_of(units.problem).problem, None if V is None else units.inner_point(V)


def _without_losses(problem: Statement) -> Statement:
    """The constraints alone; without a basis, only over the points that the constraints concern."""
    confined = np.isfinite(problem.regularizer.trace_bound(problem.n))
    R = problem.regularizer if confined else NoRegularizer()
    ends = (part.functional.incidence.ends()[0] for part in problem.constraints)
    used = np.unique(np.concatenate(list(ends)))
    n = problem.n
    if problem.basis is not None or used.size < 2:
        return Statement(sp.csr_array((n, n)), problem.constraints, R, problem.basis)
    place = np.zeros(n, dtype=np.intp)
    place[used] = np.arange(used.size)
    parts = [replace(part, functional=part.functional.over(used.size, place)) for part in problem.constraints]
    shifts = all(isinstance(part.functional, DISTANCES) for part in parts)
    shifted = shifts and used.size <= LARGEST  # centring keeps all distances
    basis = complement(used.size) if shifted else None
    return Statement(sp.csr_array((used.size, used.size)), parts, R, basis)


def nearest_factors(problem: Statement, V: Array | None) -> Iterator[Array]:
    """Factors that minimise the sum of squared residuals, from V (if given) and from a random start."""
    rank = int(np.sqrt(2 * ConstraintMap.of(problem).size)) + EXTRA
    starts = [random_factor(problem, min(rank, problem.order))]
    if V is not None and V.shape[0] == problem.n and np.isfinite(V).all():
        starts.insert(0, problem.drop(V))
    return (problem.lift(nearest(problem, W)) for W in starts)

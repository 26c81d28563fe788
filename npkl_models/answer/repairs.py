"""Ways to make a dual point feasible whose slack misses PSD by ``eps``.

Each repair takes (problem, y, eps, objective) with S(y) >= -eps I proved (S plus the regulariser's
shift) and returns the bound it can give with the multipliers that give it, or None where it does not
apply. The best of them is used. Those that raise the diagonal can do so by a different eps for each point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, LowRankUpdate, Mask, Matrix
from npkl_models.model.functionals import Entries, Functional, SquaredDistances, TotalSum
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers
from npkl_models.spectrum.bounds import DENSE_EIGH, min_eigenvalue
from npkl_models.spectrum.factorisation import DENSE_CHOLESKY
from npkl_models.threads import shared

Repaired = tuple[float, Multipliers] | None


def best_repair(
    problem: Problem, y: Multipliers, eps: float, objective: float, raised: Array | None = None
) -> tuple[str, float, Multipliers]:
    """(name, bound, multipliers) of the best repair; bound -inf if none applies.

    With ``raised`` the slack is known to be above -eps only after Diag(raised) is added to it.
    """
    if eps == 0.0 and raised is None:
        return "none needed", -problem.conjugate_sum(y), y
    best: tuple[str, float, Multipliers] = ("no repair applies", float("-inf"), y)
    if not np.isfinite(eps):
        return best
    for name, repair in REPAIRS.items():
        if raised is None:
            found = repair(problem, y, eps, objective)
        elif name in DIAGONAL:
            found = DIAGONAL[name](problem, y, eps + raised, objective)
        else:
            continue
        if found is not None and found[0] > best[1]:
            best = (name if raised is None else f"local {name}", *found)
    return best


def balanced(problem: Problem, y: Multipliers, V: Array, S: Matrix) -> tuple[Multipliers, Matrix]:
    """Y and S = S(y) with the slack's diagonal lowered such that <S, VV'> = 0, if it can be.

    A factor that is a little off in length leaves <S, VV'> > 0, and the bound by so much too low.
    """
    inner, size = float(np.sum(V * (shared(S) @ V))), float(np.sum(V**2))
    level = inner / size + problem.regularizer.shift if size else 0.0
    if level > 0:
        for repair in (shift, equality_shift):
            found = repair(problem, y, -level, float("inf"))
            if found is not None:
                return found[1], S - level * sp.eye_array(problem.n, format="csr")
    return y, S


def diagonal_price(problem: Problem, y: Multipliers) -> Array | None:
    """What the bound loses when the slack's diagonal is raised by one at each point; None if it cannot be."""
    one = np.ones(problem.n)
    if problem.basis is not None:
        return None
    for repair in DIAGONAL.values():
        found = repair(problem, y, one, float("inf"))
        if found is None:
            continue
        lifted, price = found[1], np.zeros(problem.n)
        for term, old, new in zip(problem.terms, y.terms, lifted.terms, strict=True):
            where = np.flatnonzero(new != old)
            slope = term.loss.conjugate_derivative(old[where], term.target[where], term.weight[where])
            np.add.at(price, term.functional.indices[0][where], slope)
        for part, old, new in zip(problem.equalities, y.equalities, lifted.equalities, strict=True):
            where = np.flatnonzero(new != old)
            np.add.at(price, part.functional.indices[0][where], part.value[where])
        if y.rows is not None and lifted.rows is not None:
            price += problem.regularizer.trace_bound(1) * (lifted.rows - y.rows)
        return np.maximum(price, 1e-12)
    return None


def shift(problem: Problem, y: Multipliers, eps: float | Array, objective: float) -> Repaired:
    """Losses on every K_ii whose multipliers may grow take y_ii + eps."""
    parts, covered = list(y.terms), np.zeros(problem.n, dtype=bool)
    for k, term in enumerate(problem.terms):
        where, points = _uncovered(term.functional, covered)
        shifted = parts[k].copy()
        shifted[where] += np.broadcast_to(eps, problem.n)[points]
        allowed = term.loss.in_domain(shifted, term.target, term.weight)
        parts[k] = np.where(allowed, shifted, parts[k])
        covered[points[allowed[where]]] = True
    if not covered.all():
        return None
    shifted_y = replace(y, terms=tuple(parts))
    return -problem.conjugate_sum(shifted_y), shifted_y


def equality_shift(problem: Problem, y: Multipliers, eps: float | Array, objective: float) -> Repaired:
    """Equalities on every K_ii take nu_ii + eps."""
    parts, covered = list(y.equalities), np.zeros(problem.n, dtype=bool)
    for k, equality in enumerate(problem.equalities):
        where, points = _uncovered(equality.functional, covered)
        parts[k] = parts[k].copy()
        parts[k][where] += np.broadcast_to(eps, problem.n)[points]
        covered[points] = True
    if not covered.all():
        return None
    shifted_y = replace(y, equalities=tuple(parts))
    return -problem.conjugate_sum(shifted_y), shifted_y


def distances(problem: Problem, y: Multipliers, eps: float, objective: float) -> Repaired:
    """Squares or equalities on distances take y_e + t: the sum of their M_e is a Laplacian.

    On centred kernels - by a basis, or by a constraint on the total sum, whose multiplier follows - it is
    positive definite if the graph of the pairs is connected.
    """
    floor, centring = distance_floor(problem)
    if floor <= 0:
        return None
    t = eps / floor
    parts, nus = list(y.terms), list(y.equalities)
    for k, term in enumerate(problem.terms):
        if isinstance(term.functional, SquaredDistances):
            lifted = parts[k] + t
            if not bool(np.all(term.loss.in_domain(lifted, term.target, term.weight))):
                return None
            parts[k] = lifted
    for k, part in enumerate(problem.equalities):
        if isinstance(part.functional, SquaredDistances):
            nus[k] = nus[k] + t
        elif isinstance(part.functional, TotalSum):
            nus[k] = nus[k] + t * centring
    lifted_y = replace(y, terms=tuple(parts), equalities=tuple(nus))
    return -problem.conjugate_sum(lifted_y), lifted_y


def distance_floor(problem: Problem) -> tuple[float, float]:
    """A proved floor of the spectrum of sum_e M_e over all distances (+ c 11'), and c; computed once."""
    known = problem.__dict__.get("_distance_floor")
    if known is None:
        known = _distance_floor(problem)
        problem.__dict__["_distance_floor"] = known
    found: tuple[float, float] = known
    return found


def _distance_floor(problem: Problem) -> tuple[float, float]:
    M, centring = sp.csr_array(problem.cost.shape), 0.0
    for part in (*problem.terms, *problem.equalities):
        if isinstance(part.functional, SquaredDistances):
            M = M + part.functional.adjoint(np.ones(part.functional.size))
    if not M.nnz:
        return float("-inf"), 0.0
    L: Any = problem.restrict(M)
    if any(isinstance(part.functional, TotalSum) for part in problem.equalities):
        centring = float(M.diagonal().mean()) / problem.n
        L = LowRankUpdate(M, np.full((problem.n, 1), problem.n**-0.5), np.array([centring * problem.n]))
        if problem.basis is not None:
            q = problem.basis.Q.sum(axis=0)
            L = problem.restrict(M) + centring * np.outer(q, q)
    order = L.shape[0]
    if order > DENSE_CHOLESKY:
        return float("-inf"), centring
    found = min_eigenvalue(L, method="eigh" if order <= DENSE_EIGH else "cholesky")
    return (found.lower if found.rigour == "proved" else float("-inf")), centring


def scale(problem: Problem, y: Multipliers, eps: float, objective: float) -> Repaired:
    """With C (plus shift) >= delta I, s y has a PSD slack for s = delta / (delta + eps)."""
    if not _zero_in_domains(problem):
        return None
    delta = problem.cost_floor + problem.regularizer.shift
    if not (np.isfinite(delta) and delta > 0):
        return None
    scaled = y.scaled(delta / (delta + eps))
    return -problem.conjugate_sum(scaled), scaled


def rows(problem: Problem, y: Multipliers, eps: float | Array, objective: float) -> Repaired:
    """Multipliers of a row-norm bound take d + eps."""
    if not problem.regularizer.row_multipliers or y.rows is None:
        return None
    raised = replace(y, rows=y.rows + eps)
    return -problem.conjugate_sum(raised), raised


def trace(problem: Problem, y: Multipliers, eps: float, objective: float) -> Repaired:
    """<S, K*> >= -eps tr K* for an optimal K*, whose trace the data bound."""
    tau = trace_bound(problem, objective)
    if not np.isfinite(tau):
        return None
    return -problem.conjugate_sum(y) - tau * eps, y


REPAIRS: dict[str, Callable[[Problem, Multipliers, float, float], Repaired]] = {
    "shift": shift,
    "scale": scale,
    "rows": rows,
    "equality shift": equality_shift,
    "distances": distances,
    "trace bound": trace,
}


DIAGONAL: dict[str, Callable[[Problem, Multipliers, Array, float], Repaired]] = {
    "shift": shift,
    "rows": rows,
    "equality shift": equality_shift,
}


def trace_bound(problem: Problem, objective: float) -> float:
    """A proved upper bound on the trace of every optimal kernel, inf if there is none.

    From the regulariser; from equalities on the diagonal; from C >= delta I with non-negative
    losses, where delta tr K <= objective; from square-like losses w_i (K_ii - t_i)^2 on the whole
    diagonal, where tr K <= sum t + sqrt(sum 1/w * objective) by Cauchy-Schwarz.
    """
    bounds = [problem.regularizer.trace_bound(problem.n)]
    fixed = np.full(problem.n, np.inf)
    for part in problem.equalities:
        i = _diagonal_of(part.functional)
        if i.any():
            fixed[part.functional.indices[0][i]] = part.value[i]
    bounds.append(float(np.sum(fixed)))
    if all(term.loss.nonnegative for term in problem.terms):
        floor = problem.cost_floor + problem.regularizer.shift
        if floor > 0:
            bounds.append(objective / floor)
        bounds.append(_from_diagonal_losses(problem, objective, max(0.0, -floor)))
    return min(bounds)


def _from_diagonal_losses(problem: Problem, objective: float, mu: float) -> float:
    """With C >= -mu I: x = tr K - sum t solves x^2 <= (sum 1/w) (objective + mu (sum t + x))."""
    weight, target = np.zeros(problem.n), np.zeros(problem.n)
    for term in problem.terms:
        if term.loss.quadratic and term.loss.curvature > 0:
            i = _diagonal_of(term.functional)
            index = term.functional.indices[0][i]
            weight[index] = 0.5 * term.loss.curvature * term.weight[i]
            target[index] = term.target[i]
    if not (weight > 0).all() or not np.isfinite(mu):
        return float("inf")
    W, t = float(np.sum(1 / weight)), float(np.sum(target))
    inside = (W * mu) ** 2 + 4 * W * max(objective + mu * t, 0.0)
    return t + 0.5 * (W * mu + float(np.sqrt(inside)))


def _zero_in_domains(problem: Problem) -> bool:
    return all(
        bool(np.all(t.loss.in_domain(np.zeros(t.functional.size), t.target, t.weight))) for t in problem.terms
    )


def _diagonal_of(functional: Functional) -> Mask:
    """Mask of the values that are entries K_ii."""
    if not isinstance(functional, Entries):
        return np.zeros(functional.size, dtype=bool)
    i, j = functional.indices
    return i == j


def _uncovered(functional: Functional, covered: Mask) -> tuple[Index, Index]:
    """(positions, points) of the first value K_ii of each point that is not yet covered."""
    where = np.flatnonzero(_diagonal_of(functional))
    if not where.size:
        return where, where
    points, first = np.unique(functional.indices[0][where], return_index=True)
    new = ~covered[points]
    return where[first[new]], points[new]

"""Repairs of a dual point whose slack misses PSD by ``eps``.

Each repair takes (problem, y, eps, upper), where S(y) plus the regulariser's shift is proved to be at least
-eps I. The repair returns a bound and the multipliers that give this bound, or None if it does not apply. The
best repair is used. Repairs that raise the diagonal accept a different eps for each point. Every change of y
is rounded such that the slack gains no less than it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.certify.slater import Interior, identity, slater, worth
from npkl_models.linalg import UNIT, Array, Index, Mask, Matrix
from npkl_models.linalg.threads import threaded
from npkl_models.model.facts import (
    bounded_diagonal,
    bounded_diagonals,
    cost_floor,
    diagonal_floor,
    distance_floor,
    growing_distances,
    growing_floor,
    trace_bound,
    which_distances,
)
from npkl_models.model.functionals import Functional
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.rounding import multiplier_sizes, paid, raised
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Term

NO_NEED = "none needed"
MIXED = "Slater point"
NO_REPAIR = "no repair applies"
NO_SPECTRUM = "the slack's spectrum has no bound"
Repaired = tuple[float, Multipliers] | None


def best_repair(
    problem: Statement, y: Multipliers, eps: float, upper: float, local: Array | None = None,
    inside: Interior | None = None, wanted: float = float("inf"), quick: bool = False,
) -> tuple[str, float, Multipliers]:  # fmt: skip
    """The name, bound and multipliers of the best repair; the bound is -inf if no repair applies.

    With ``local``, the slack is known to be above -eps only after Diag(local) is added to it. ``inside`` is a
    strictly feasible dual point that a solver found. If a bound reaches ``wanted``, only the repairs in
    `DIAGONAL` are still tried. A ``quick`` repair looks for a Slater point only where that may reach it.
    """
    if eps == 0.0 and local is None:
        return NO_NEED, -paid(problem, y), y
    best: tuple[str, float, Multipliers] = (NO_REPAIR, float("-inf"), y)
    if not np.isfinite(eps):
        return (NO_SPECTRUM, *best[1:])
    if local is not None:
        return _best_of(DIAGONAL, problem, y, eps + local, upper, wanted, best)
    best = _best_of(REPAIRS, problem, y, eps, upper, wanted, best)
    any_bound = best[1] == float("-inf") and not quick
    if any_bound or best[1] < wanted <= worth(problem, y, eps):
        found = slater(problem, y, eps, upper, inside)
        best = best if found is None or found[0] <= best[1] else (MIXED, *found)
    return best


def _best_of(
    repairs: Mapping[str, Callable[..., Repaired]], problem: Statement, y: Multipliers, eps: float | Array,
    upper: float, wanted: float, best: tuple[str, float, Multipliers],
) -> tuple[str, float, Multipliers]:  # fmt: skip
    """The best of several repairs and of the best repair so far."""
    for name, repair in repairs.items():
        if best[1] < wanted or name in DIAGONAL:
            found = repair(problem, y, eps, upper)
            if found is not None and found[0] > best[1]:
                best = (name if isinstance(eps, float) else f"local {name}", *found)
    return best


def balanced(
    problem: Statement, y: Multipliers, V: Array, S: Matrix, least: float
) -> tuple[Multipliers, Matrix]:
    """Lower the slack's diagonal such that <S, VV'> = 0, if a repair can lower it; return y and S(y).

    A positive <S, VV'> lowers the bound by as much. Up to ``least`` nothing is changed: a factor close to
    zero says nothing about the slack.
    """
    inner, size = float(np.sum(V * (threaded(S) @ V))), float(np.sum(V**2))
    level = inner / size + problem.regularizer.shift if size else 0.0
    if level > 0 and inner > least:
        for repair in (shift, constraint_shift):
            found = repair(problem, y, -level, float("inf"))
            if found is not None:
                return found[1], S - level * sp.eye_array(problem.n, format="csr")
    return y, S


def diagonal_price(problem: Statement, y: Multipliers) -> Array | None:
    """The price of raising the slack's diagonal by one, for each point; None if no repair raises it."""
    one = np.ones(problem.n)
    if problem.basis is not None:
        return None
    for repair in DIAGONAL.values():
        found = repair(problem, y, one, float("inf"))
        if found is None:
            continue
        higher, price = found[1], np.zeros(problem.n)
        for part, old, new in zip(problem.terms, y.terms, higher.terms, strict=True):
            where = np.flatnonzero(new != old)
            if where.size:
                np.add.at(price, part.functional.indices[0][where], part.slope_of_conjugate(old)[where])
        return np.maximum(price, 1e-12)
    return None


def shift(problem: Statement, y: Multipliers, eps: float | Array, upper: float) -> Repaired:
    """Raise the multiplier of a loss on K_ii by eps at every point; each must be allowed to grow."""
    raised_ones = _raised_diagonal(problem, problem.losses, y.losses, eps)
    return None if raised_ones is None else _bound(problem, replace(y, losses=raised_ones))


def constraint_shift(problem: Statement, y: Multipliers, eps: float | Array, upper: float) -> Repaired:
    """Raise the multiplier of an equality or an upper bound on K_ii by eps at every point."""
    raised_ones = _raised_diagonal(problem, problem.constraints, y.constraints, eps)
    if raised_ones is not None:
        return _bound(problem, replace(y, constraints=raised_ones))
    return _shift_in_basis(problem, y, eps) if isinstance(eps, float) and problem.basis is not None else None


def _raised_diagonal(
    problem: Statement, terms: Sequence[Term], given: Sequence[Array], eps: float | Array
) -> tuple[Array, ...] | None:
    """The multipliers, raised by eps at every point; None if a point has none that may grow."""
    parts, covered = list(given), np.zeros(problem.n, dtype=bool)
    for k, term in enumerate(terms):
        where, points = _uncovered(term.functional, covered)
        shifted = parts[k].copy()
        shifted[where] = raised(shifted[where], np.broadcast_to(eps, problem.n)[points])
        allowed = term.allows(shifted)
        parts[k] = np.where(allowed, shifted, parts[k])
        covered[points[allowed[where]]] = True
    return tuple(parts) if covered.all() else None


def _shift_in_basis(problem: Statement, y: Multipliers, eps: float) -> Repaired:
    """Raise the diagonal over a basis, where constraints on some K_ii may suffice.

    If points share rows of the basis, each such row needs one constraint. Otherwise the sum of the M_e of all
    these constraints must be positive definite over the basis.
    """
    shared_rows = None if problem.basis is None else problem.basis.shared
    if shared_rows is not None:
        return _shift_of_rows(problem, y, eps, *shared_rows)
    return _raise_each(problem, y, bounded_diagonals(problem), eps, diagonal_floor(problem))


def _shift_of_rows(problem: Statement, y: Multipliers, eps: float, label: Index, share: Array) -> Repaired:
    """Raise one constraint on K_ii per group by eps / share_i^2, since its matrix has the entry share_i^2."""
    parts, covered = list(y.constraints), np.zeros(problem.order, dtype=bool)
    for k, part in enumerate(problem.constraints):
        where = np.flatnonzero(bounded_diagonal(part))
        points = part.functional.indices[0][where] if where.size else where
        held = share[points] > 0
        groups, first = np.unique(label[points[held]], return_index=True)
        new = ~covered[groups]
        chosen, point = where[held][first[new]], points[held][first[new]]
        parts[k] = parts[k].copy()
        parts[k][chosen] = raised(parts[k][chosen], eps / share[point] ** 2 * (1 + 8 * UNIT))
        covered[groups] = True
    if not covered.all():
        return None
    return _bound(problem, replace(y, constraints=tuple(parts)))


def distances(problem: Statement, y: Multipliers, eps: float, upper: float) -> Repaired:
    """Raise the multipliers of all distances by t; the sum of their M_e is a Laplacian.

    Over a basis of centred kernels, this Laplacian is positive definite if the graph of the pairs is
    connected. If a multiplier may not be raised, those alone are raised that may grow without limit.
    """
    found = _raise_each(problem, y, which_distances(problem), eps, distance_floor(problem))
    return found or _raise_each(problem, y, growing_distances(problem), eps, growing_floor(problem))


def _raise_each(problem: Statement, y: Multipliers, which: list[Mask], eps: float, floor: float) -> Repaired:
    """Raise the selected multipliers by eps over a floor of the sum of their M_e, if that is allowed."""
    if floor <= 0:
        return None
    t = eps / floor * (1 + 4 * UNIT)
    new = [np.where(own, raised(old, t), old) for own, old in zip(which, y.terms, strict=True)]
    return _bound(problem, problem.split_multipliers(new))


def scale(problem: Statement, y: Multipliers, eps: float, upper: float) -> Repaired:
    """Scale all multipliers down: s = delta / (delta + eps) makes S(s y) PSD, if C (plus shift) >= delta I.

    The number s satisfies (1 - s) delta >= s (eps + e), where e bounds the effect of rounding s y on the
    slack.
    """
    delta = cost_floor(problem) + problem.regularizer.shift
    if not (np.isfinite(delta) and delta > 0):
        return None
    eps = eps + 4 * UNIT * multiplier_sizes(problem, y)
    return _bound(problem, y.scaled(delta / (delta + eps) * (1 - 8 * UNIT)))


def scale_up(problem: Statement, y: Multipliers, eps: float, upper: float) -> Repaired:
    """Scale all multipliers up: s = delta / (delta - eps) makes S(s y) PSD, if -C (less shift) >= delta I.

    The number delta must exceed eps. This repair is the counterpart of `scale` for costs that reward a large
    kernel (unfolding). sum y_e M_e is at least -C - eps I, so s sum y_e M_e is at least -C if
    (s - 1) delta >= s (eps + e), with e as in `scale`.
    """
    delta = _negative_floor(problem.cost) - problem.regularizer.shift
    eps = eps + 4 * UNIT * multiplier_sizes(problem, y)
    if not 0 < eps < delta < np.inf:
        return None
    return _bound(problem, y.scaled(delta / (delta - eps) * (1 + 8 * UNIT)))


def _bound(problem: Statement, y: Multipliers) -> Repaired:
    """The bound of these multipliers; None if they are outside the domain of a term."""
    bound = -paid(problem, y)
    return (bound, y) if bound > -np.inf else None


def _negative_floor(C: Matrix) -> float:
    """A lower bound on the spectrum of -C, by Gershgorin's circles."""
    diagonal = -np.asarray(C.diagonal())
    beside = np.asarray(abs(C).sum(axis=1)).ravel() - np.abs(diagonal)
    rounding = (C.shape[0] + 2) * UNIT * (beside + 2 * np.abs(diagonal))
    return float(np.min(diagonal - np.maximum(beside, 0.0) - np.where(beside != 0, rounding, 0.0)))


def trace(problem: Statement, y: Multipliers, eps: float, upper: float) -> Repaired:
    """Lower the bound by eps tau: an optimal K* has <S, K*> >= -eps tr K* and, by the data, tr K* <= tau."""
    tau = trace_bound(problem, upper)
    if not np.isfinite(tau):
        return None
    owed = -paid(problem, y)
    return owed - tau * eps * (1 + 4 * UNIT) - 2 * UNIT * abs(owed), y


REPAIRS: dict[str, Callable[[Statement, Multipliers, float, float], Repaired]] = {
    "shift": shift,
    "scale": scale,
    "scale up": scale_up,
    "constraint shift": constraint_shift,
    "distances": distances,
    "identity": identity,
    "trace bound": trace,
}


DIAGONAL: dict[str, Callable[[Statement, Multipliers, Array, float], Repaired]] = {
    "shift": shift,
    "constraint shift": constraint_shift,
}


def _uncovered(functional: Functional, covered: Mask) -> tuple[Index, Index]:
    """(positions, points) of the first value K_ii of each point that is not yet covered."""
    where = np.flatnonzero(functional.on_diagonal)
    if not where.size:
        return where, where
    points, first = np.unique(functional.indices[0][where], return_index=True)
    new = ~covered[points]
    return where[first[new]], points[new]

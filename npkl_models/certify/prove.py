"""Make the certificate of a point: a feasible kernel gives the upper bound, a dual point the lower bound.

`restoration` finds the feasible kernel near the point, and `bounds` proves the lower bound. A `Certificate`
holds the results.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from npkl_models.certify.bounds import Demand, Dual, bound_from
from npkl_models.certify.certificate import CERTIFIED, Certificate, outward, relative_gap
from npkl_models.certify.fallbacks import (
    around_low_vectors,
    bound_of_anchored,
    bound_of_centred,
    by_signs,
    enough,
    ways,
)
from npkl_models.certify.points import ACTIVE, read_point, recover_multipliers
from npkl_models.errors import OutOfRangeError, SolverError, instance
from npkl_models.feasibility.restoration import Restored, restore
from npkl_models.linalg import Array
from npkl_models.linalg.threads import quiet_blas
from npkl_models.model import rounding
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.presolve.faces import face_of
from npkl_models.presolve.units import Units, binary_units
from npkl_models.proof.bounds import DENSE_EIGH


def certify(
    problem: Statement,
    point: Any,
    multipliers: Multipliers | None = None,
    *,
    kind: str = "auto",
    method: str = "auto",
    tol: float = 1e-6,
    failure_probability: float = 1e-6,
    random_state: int | None = None,
    quick: bool = False,
) -> Certificate:
    """Certify a point from any source: bound the optimum of the problem and the gap of the point.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor V or a kernel K. Constraints are restored first (`restore`), and the certificate
        tells how far this moved the point.
    multipliers : Multipliers, optional
        A dual point; by default it is taken from the solution or recovered from the point.
    kind : {"auto", "factor", "kernel"}
        Meaning of an array. "auto" treats an n x n array as a kernel, which must be symmetric, and any other
        array as a factor.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        Method that bounds the smallest eigenvalue; see `npkl_models.proof.bounds.min_eigenvalue`.
    tol : float
        Target of the relative gap; iterative methods stop once it is reached.
    failure_probability : float
        Probability that a randomised bound may fail.
    random_state : int, optional
        Seed of the random starts. None takes the seed from the operating system. With a number, the starts
        depend only on the number and on the tested matrix, so that a run can be repeated.
    quick : bool
        Whether to give up a sharp bound as soon as it is clear that the point is not optimal.

    Returns
    -------
    Certificate
        The bounds and the gap.

    Raises
    ------
    ProblemError
        If the point has a wrong shape, is not finite, or is too large for a finite objective, or if the
        multipliers do not fit.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> solution = problem.solve()
    >>> nm.certify(problem, solution.K).certifies(1e-6)
    True
    >>> nm.certify(problem, 1.1 * solution.K).certifies(1e-6)
    False
    """
    instance(problem, Statement, "problem")
    return prove(
        problem, point, multipliers, kind, Demand(method, tol, failure_probability, random_state, quick)
    )


def prove(
    problem: Statement, point: Any, multipliers: Multipliers | None, kind: str, demand: Demand
) -> Certificate:
    """The certificate of a point, made with the methods and the accuracy of a `Demand`."""
    raised = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
    with raised, quiet_blas(problem.order):
        units = binary_units(problem)
        found = outward(_certify(units, point, multipliers, kind, demand), units)
    if not np.isfinite(found.objective):
        raise _beyond(found.point)
    return found


def _beyond(V: Array) -> OutOfRangeError:
    return OutOfRangeError(f"a point must have a finite objective, got entries up to {np.abs(V).max():.1e}")


def _certify(
    units: Units, point: Any, multipliers: Multipliers | None, kind: str, demand: Demand
) -> Certificate:
    """The certificate in units in which no number is out of range."""
    started, problem = time.perf_counter(), units.problem
    if not isinstance(point, np.ndarray):
        multipliers = getattr(point, "multipliers", None) if multipliers is None else multipliers
        kind = "factor" if hasattr(point, "V") else kind
    point = getattr(point, "V", point)
    if point is None:
        raise SolverError("a solution must have a kernel to be certified, got none; see its status")
    given = read_point(problem, point, kind, units.root)
    face = face_of(problem)
    inside = face.problem
    y = None
    if multipliers is not None:
        y = face.fold(units.inner_multipliers(units.whole.as_multipliers(multipliers)))
    restored, objective, upper, dual = _both_sides(inside, given.V, y, demand, prove=not demand.quick)
    needed = demand.tol * inside.size(objective, dual.bound)
    close = bool(np.isfinite(dual.bound)) and objective - dual.bound <= needed
    if demand.quick and inside.equalities and close:
        restored, objective, upper, dual = _both_sides(inside, given.V, y, demand, prove=True)
    bound, gap = dual.bound + 0.0, float("inf")
    if restored.feasible and np.isfinite(bound):
        gap = upper - bound
    return Certificate(
        objective=objective + 0.0, upper=upper, bound=bound, gap=gap,
        relative_gap=relative_gap(problem, upper, bound),
        min_eigenvalue=dual.found.estimate + dual.level, rigour=dual.rigour, repair=dual.repair,
        failure_probability=demand.failure_probability if dual.rigour == "probable" else 0.0,
        violation=problem.violation(given.V), point_min_eigenvalue=given.min_eigenvalue,
        moved=given.moved + restored.moved, feasible=restored.feasible, seconds=time.perf_counter() - started,
        multipliers=face.unfold(dual.y), point=restored.V,
        direction=inside.lift(dual.found.vector), directions=dual.found.directions,
    )  # fmt: skip


def _both_sides(
    problem: Statement, V: Array, y: Multipliers | None, demand: Demand, prove: bool
) -> tuple[Restored, float, float, Dual]:
    """The restored point, its objective, the upper bound that the point proves, and the dual side.

    Without ``prove``, the upper bound of a problem with equalities is inf.
    """
    restored = restore(problem, V, prove)
    V = restored.V
    objective = problem.objective_of_factor(V)
    if not np.isfinite(objective):
        raise _beyond(V)
    given = y
    if y is None:
        y = recover_multipliers(problem, V)
    upper = float("inf")
    if restored.near is not None:
        upper = restored.near.upper(problem, V, objective, y.equalities)
        upper += rounding.objective(problem, V, objective)
    if given is not None or not problem.regularizer.row_multipliers:
        dual = _one_side(problem, y, V, objective, upper, demand)
        return restored, objective, upper, dual
    share = replace(demand, failure_probability=demand.failure_probability / len(ACTIVE))
    dual = bound_from(problem, y, V, objective, upper, share)
    dual = _with_more_rows(problem, V, dual, objective, upper, share)
    return restored, objective, upper, dual


def _one_side(
    problem: Statement, y: Multipliers, V: Array, objective: float, upper: float, demand: Demand
) -> Dual:
    """The bound from the multipliers; if this bound does not suffice, the other bounds of `fallbacks`.

    Each way to a bound has its own randomised runs, so the ways share the failure probability.
    """
    demand = replace(demand, failure_probability=demand.failure_probability / ways(problem, demand))
    dual = around_low_vectors(problem, y, V, objective, upper, demand)
    if not (enough(problem, objective, dual.bound, demand) or demand.quick):
        held = bound_of_anchored(problem, y, V, demand)
        dual = dual if held is None or held.bound <= dual.bound else held
        if not np.isfinite(dual.bound):
            placed = bound_of_centred(problem, y, V, upper, demand)
            dual = dual if placed is None else placed
    needed = (problem.order <= DENSE_EIGH or demand.last) and not np.isfinite(dual.bound)
    if needed or not demand.quick:
        dual = by_signs(problem, dual, objective, demand)
    return dual


def _with_more_rows(
    problem: Statement, V: Array, dual: Dual, objective: float, upper: float, demand: Demand
) -> Dual:
    """Try more rows as active, since a solver may leave a row below its norm bound that should reach it."""
    for active in ACTIVE[1:]:
        if enough(problem, objective, dual.bound, demand):
            break
        y = recover_multipliers(problem, V, active)
        other = bound_from(problem, y, V, objective, upper, demand)
        known = other.rigour in CERTIFIED or dual.rigour not in CERTIFIED  # an estimate replaces no proof
        dual = other if known and other.bound > dual.bound else dual
    return dual

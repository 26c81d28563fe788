"""One certificate for every solver: a lower bound on the optimum, and the objective of a feasible point.

For y in the domain of the conjugates, S = C + sum_e y_e M_e and ``-sum f*(y) - nu'b - R*(-S)``
bounds the optimum from below. Where R* would be infinite because S is not quite PSD, y is repaired
first. How the smallest eigenvalue of S is known decides the rigour of the bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from npkl_models.certify import rounding
from npkl_models.certify.bounds import Demand, Dual, bound_from
from npkl_models.certify.points import read_point
from npkl_models.certify.recovery import ACTIVE, recover_multipliers
from npkl_models.certify.restoration import Restored, restore
from npkl_models.certify.unheld import bound_of_held
from npkl_models.errors import ProblemError, SolverError, UnsupportedError, instance
from npkl_models.hooks import lent
from npkl_models.linalg import Array
from npkl_models.linalg.owned import Owner, owned
from npkl_models.model.faces import face_of
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers
from npkl_models.proof.eigenbound import Rigour

CERTIFIED = ("proved", "probable")  # the rigours that certify


@dataclass(frozen=True, repr=False)
class Certificate(Owner):
    """What is proved of a point.

    Attributes
    ----------
    objective : float
        At the judged point, which is the given one with its constraints restored.
    upper : float
        Upper bound on the optimum: that objective, what rounding may have hidden of it, and what it may
        change on the way to the exactly feasible kernel that is proved to be near; inf where none is.
    bound : float
        Lower bound on the optimum, -inf if none could be given.
    gap, relative_gap : float
        ``upper - bound``, and that over ``1 + |objective| + |bound|`` (DIMACS error 5); inf without a
        bound, and for a point whose constraints could not be restored: its objective bounds nothing.
    min_eigenvalue : float
        Best approximation of the smallest eigenvalue of the dual slack S before repair, plus the
        subgradient of a trace-power regulariser (for p = 1 a multiple of I). Negative at a point
        that is stationary but not optimal.
    rigour : {"proved", "probable", "estimated", "none"}
        How the bound is known; only the first two count as certified.
    repair : str
        How y was made feasible: "none needed", "shift", "scale", "rows", "equality shift", "distances",
        "trace bound", "Slater point", "held points (...)", "regulariser" (the support absorbs it) or
        "no repair applies"; "local shift" and so on where the diagonal was raised on a few points more than
        on others.
    failure_probability : float
        Of a "probable" bound.
    violation : float
        Of the constraints, by the point as it was given, relative to their data; see `Problem.violation`.
    point_min_eigenvalue : float
        The smallest eigenvalue of a given kernel, if that was below zero by more than rounding.
    moved : float
        How far the kernel that was judged is from the given one, relative to that (Frobenius norm).
    feasible : bool
        Whether a kernel that meets all constraints exactly is proved to be within rounding of the judged one.
    seconds : float
        Spent on the certificate.
    multipliers : Multipliers
        The repaired dual point, which anybody can check with `Problem.dual_bound` (where equalities left
        no interior, with that of `npkl_models.model.faces.face_of`: the multipliers of what the face
        meets are zero).
    point : ndarray of shape (n, r)
        A factor of the judged kernel.
    direction : ndarray of shape (n,)
        Unit vector whose Rayleigh quotient is `min_eigenvalue`; in the range of the basis if there is one.
    directions : ndarray of shape (n, m), optional
        Low eigenvectors of the slack on few points each, where they stood in the way of a bound.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> solution = problem.solve()
    >>> found = solution.certificate
    >>> found.bound <= found.upper
    True
    >>> found.rigour
    'proved'
    >>> found.certifies(1e-6)
    True
    """

    objective: float
    upper: float
    bound: float
    gap: float
    relative_gap: float
    min_eigenvalue: float
    rigour: Rigour
    repair: str
    failure_probability: float
    violation: float
    point_min_eigenvalue: float
    moved: float
    feasible: bool
    seconds: float
    multipliers: Multipliers = field(repr=False)
    point: Array = field(repr=False)
    direction: Array = field(repr=False)
    directions: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("point", "direction", "directions"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, owned(array))
        object.__setattr__(self, "multipliers", self.multipliers.owned())

    def certifies(self, tol: float) -> bool:
        """Whether the point is feasible and proved (or probably) optimal within ``tol``."""
        if not isinstance(tol, Real) or not 0 < tol < 1:
            raise UnsupportedError(f"tol must be between 0 and 1, got {tol!r}")
        return self.feasible and self.rigour in CERTIFIED and abs(self.relative_gap) <= tol

    def __repr__(self) -> str:
        return f"Certificate({self})"

    def _repr_html_(self) -> str:
        page: str = lent("Certificate.html")(self)
        return page

    def __str__(self) -> str:
        return ", ".join(line.removeprefix("certificate: ") for line in self.lines())

    def lines(self) -> list[str]:
        """What is proved, in two or three lines."""
        label: str = self.rigour
        if self.rigour == "probable":
            label += f" (fails with probability {self.failure_probability:.0e})"
        if self.feasible:
            head = f"{self.bound:.8g} <= optimum <= {self.upper:.8g}"
            how = f"relative gap {self.relative_gap:.1e}, {label}"
        else:
            head = f"{self.bound:.8g} <= optimum, {label}"
            how = (
                f"no upper bound: the point violates a constraint by {self.violation:.1e} and no feasible "
                f"one was found near it (objective {self.objective:.8g})"
            )
        lines = [f"certificate: {head}", f"{how}, repair: {self.repair}"]
        changes = []
        if self.point_min_eigenvalue < 0:
            changes.append(f"its smallest eigenvalue was {self.point_min_eigenvalue:.1e}")
        if self.violation > 0 and self.feasible:
            changes.append(f"it violated a constraint by {self.violation:.1e}")
        if self.moved > 0:
            why = f" ({'; '.join(changes)})" if changes else ""
            lines.append(f"judged at a kernel {self.moved:.1e} away from the given one{why}")
        return lines


def certify(
    problem: Problem,
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
    """Bound the optimum of a problem and the gap of a point, wherever the point came from.

    Parameters
    ----------
    problem : Problem
    point : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor V or a kernel K. Its constraints are restored first (`restore`); the certificate
        says how far that moved it.
    multipliers : Multipliers, optional
        A dual point; without one it is taken from the solution or recovered from the point.
    kind : {"auto", "factor", "kernel"}
        What an array is; "auto" takes an n x n array for a kernel, which must be symmetric, any other for
        a factor.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        How the smallest eigenvalue is bounded; see `npkl_models.proof.bounds.min_eigenvalue`.
    tol : float
        The relative gap that matters; iterative methods stop when it is reached.
    failure_probability : float
        Of a randomised bound.
    random_state : int, optional
        None draws the random starts afresh from the operating system. With a number they follow from it
        and from the matrix that is tested, so that a run can be repeated.
    quick : bool
        Give up on a sharp bound as soon as it is clear that the point is not optimal.

    Returns
    -------
    Certificate

    Raises
    ------
    ProblemError
        If the point has a wrong shape, is not finite, or is too large to have a finite objective; or if the
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
    instance(problem, Problem, "problem")
    demand = Demand(method, tol, failure_probability, random_state, quick)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return _certify(problem, point, multipliers, kind, demand)


def _certify(
    problem: Problem, point: Any, multipliers: Multipliers | None, kind: str, demand: Demand
) -> Certificate:
    started = time.perf_counter()
    if multipliers is not None:
        multipliers = problem.as_multipliers(multipliers)
    if not isinstance(point, np.ndarray):
        multipliers = multipliers or getattr(point, "multipliers", None)
        kind = "factor" if hasattr(point, "V") else kind
    point = getattr(point, "V", point)
    if point is None:
        raise SolverError("a solution without a point has nothing to certify; see its status")
    given = read_point(problem, point, kind)
    face = face_of(problem)
    inside = face.problem
    y = None
    if multipliers is not None:
        y = face.fold(problem.as_multipliers(multipliers))
    restored, objective, upper, dual = _both_sides(inside, given.V, y, demand, prove=not demand.quick)
    needed = demand.tol * (1 + abs(objective) + abs(dual.bound))
    close = bool(np.isfinite(dual.bound)) and objective - dual.bound <= needed
    if demand.quick and inside.equalities and close:
        restored, objective, upper, dual = _both_sides(inside, given.V, y, demand, prove=True)
    bound, gap = dual.bound + 0.0, float("inf")
    if restored.feasible and np.isfinite(bound):
        gap = upper - bound
    return Certificate(
        objective=objective + 0.0, upper=upper, bound=bound, gap=gap, relative_gap=relative_gap(upper, bound),
        min_eigenvalue=dual.found.estimate + dual.level, rigour=dual.rigour, repair=dual.repair,
        failure_probability=demand.failure_probability if dual.rigour == "probable" else 0.0,
        violation=problem.violation(given.V), point_min_eigenvalue=given.min_eigenvalue,
        moved=given.moved + restored.moved, feasible=restored.feasible, seconds=time.perf_counter() - started,
        multipliers=face.unfold(dual.y), point=restored.V,
        direction=inside.lift(dual.found.vector), directions=dual.found.directions,
    )  # fmt: skip


def _both_sides(
    problem: Problem, V: Array, y: Multipliers | None, demand: Demand, prove: bool
) -> tuple[Restored, float, float, Dual]:
    """The restored point, its objective, the upper bound that it proves, and the dual side.

    Without ``prove`` a point with equalities proves none; the bound then owes nothing to its objective.
    """
    restored = restore(problem, V, prove)
    V = restored.V
    objective = problem.objective_of_factor(V)
    if not np.isfinite(objective):
        raise ProblemError(f"a point must have a finite objective, got entries up to {np.abs(V).max():.1e}")
    given = y
    if y is None:
        y = recover_multipliers(problem, V)
    upper = float("inf")
    if restored.near is not None:
        upper = restored.near.upper(problem, V, objective, y.equalities)
        upper += rounding.objective(problem, V, objective)
    if given is not None or not problem.regularizer.row_multipliers:
        dual = bound_from(problem, y, V, objective, upper, demand)
        if dual.bound == float("-inf") and not demand.quick:
            dual = bound_of_held(problem, y, V, demand) or dual
        return restored, objective, upper, dual
    share = replace(demand, failure_probability=demand.failure_probability / len(ACTIVE))
    dual = bound_from(problem, y, V, objective, upper, share)
    dual = _with_more_rows(problem, V, dual, objective, upper, share)
    return restored, objective, upper, dual


def _with_more_rows(
    problem: Problem, V: Array, dual: Dual, objective: float, upper: float, demand: Demand
) -> Dual:
    """Which rows are at their bound is told by what their multipliers gain: a solver may leave them below."""
    for active in ACTIVE[1:]:
        if objective - dual.bound <= demand.tol * (1 + abs(objective) + abs(dual.bound)):
            break
        y = recover_multipliers(problem, V, active)
        other = bound_from(problem, y, V, objective, upper, demand)
        known = other.rigour in CERTIFIED or dual.rigour not in CERTIFIED  # an estimate is no better bound
        dual = other if known and other.bound > dual.bound else dual
    return dual


def of_itself(found: Certificate) -> Certificate:
    """The same certificate, as one of the point that it judged."""
    return replace(
        found, violation=0.0 if found.feasible else found.violation, moved=0.0, point_min_eigenvalue=0.0
    )


def relative_gap(objective: float, bound: float) -> float:
    """``(objective - bound) / (1 + |objective| + |bound|)``, inf without a bound on either side."""
    if not (np.isfinite(objective) and np.isfinite(bound)):
        return float("inf")
    return (objective - bound) / (1 + abs(objective) + abs(bound))

"""A solver's claim becomes a solution with a certificate, from which its status follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.certificates.bounds import ANCHORED, FEASIBILITY
from npkl_models.certificates.certificate import ALARM, Certificate
from npkl_models.certificates.rays import infeasible
from npkl_models.certificates.recession import unbounded
from npkl_models.certificates.repairs import NO_REPAIR
from npkl_models.errors import OutOfRangeError, SolverError
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units
from npkl_models.proof.bounds import DENSE_EIGH
from npkl_models.proof.eigenbound import CERTIFIED
from npkl_models.solve.options import Options
from npkl_models.solve.watch import RunMonitor

LIMITS = (Status.STOPPED, Status.TIME_LIMIT, Status.ITERATION_LIMIT)
NOT_ANCHORED = (
    "no strictly feasible dual point was found: kernels may grow without limit at no cost, so there is no "
    "bound; give the Laplacian a shift, or the kernel a row norm or a bound on its trace"
)
AT_INFINITY = (
    "some points are not anchored: the infimum may be reached only at infinity, which floating point cannot "
    "represent; give the Laplacian a shift, or the kernel a row norm or a bound on its trace"
)
DEEP = (
    1e9  # below minus this many units of cost and kernel and without a bound, a proof of UNBOUNDED is tried
)


@dataclass(frozen=True)
class Claim:
    """The result that a solver reports when it ends.

    Attributes
    ----------
    V : ndarray of shape (n, r) or None
        The solver's point.
    multipliers : Multipliers or None
        The solver's dual point.
    status : Status
        The status that the solver reports. Without proof OPTIMAL, INFEASIBLE and UNBOUNDED become
        INACCURATE. With a certificate that suffices, any status but STOPPED becomes OPTIMAL.
    value : float
        The solver's own objective.
    certificate : Certificate, optional
        The certificate of this point, if the watch of the run has made one already; others are ignored.
    """

    V: Array | None
    multipliers: Multipliers | None = None
    status: Status = Status.LOCALLY_SOLVED
    value: float = float("nan")
    iterations: int = 0
    message: str = ""
    kernel_min_eigenvalue: float = 0.0
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.status, Status):
            raise SolverError(f"the status of a claim must be a Status, got {self.status!r}")
        V = self.V
        if V is not None and not (isinstance(V, np.ndarray) and V.ndim == 2 and V.dtype.kind == "f"):
            raise SolverError(f"V of a claim must be a real array (n x r) or None, got {type(V).__name__}")


def in_statement(claim: object, units: Units) -> Claim:
    """The claim in the units of the statement; `judge` refuses an object that is no claim."""
    if units.same or not isinstance(claim, Claim):
        return claim  # type: ignore[return-value]
    return replace(
        claim, V=None if claim.V is None else units.point(claim.V),
        multipliers=None if claim.multipliers is None else units.multipliers(claim.multipliers),
        value=units.value(claim.value),
        kernel_min_eigenvalue=claim.kernel_min_eigenvalue * units.root * units.root,
    )  # fmt: skip


def judge(problem: Statement, backend: str, claim: Claim, watch: RunMonitor) -> Solution:
    """The solution of a claim, with a certificate and the status that follows from it."""
    _check(problem, backend, claim)
    found = _or_zero(problem, _certificate(problem, claim, watch), watch)
    case = _Case(problem, claim, found, watch)
    status, words = next(verdict for verdict in (rule(case) for rule in RULES) if verdict is not None)
    left = found is not None and status not in (Status.INFEASIBLE, Status.UNBOUNDED)
    return Solution(
        problem, backend, status, V=found.point if found is not None and left else None,
        objective=found.objective if found is not None and left else float("nan"),
        reported_objective=claim.value, multipliers=None if found is None else found.multipliers,
        iterations=claim.iterations or (watch.rows[-1].iteration if watch.rows else 0), history=watch.history,
        message="; ".join(part for part in (claim.message, watch.trouble, words) if part),
        kernel_min_eigenvalue=claim.kernel_min_eigenvalue, known_certificate=found if left else None,
    )  # fmt: skip


def _check(problem: Statement, backend: str, claim: object) -> None:
    """Raise a `SolverError` unless ``claim`` is a `Claim` for this problem."""
    if not isinstance(claim, Claim):
        raise SolverError(f"a run of {backend} must end with a Claim, got {type(claim).__name__}")
    if claim.V is not None and len(claim.V) != problem.n:
        raise SolverError(f"V of {backend} must have {problem.n} rows, got {len(claim.V)}")


def judge_point(
    problem: Statement, label: str, point: Any, y: Iterable[Multipliers] = (), tol: float = 1e-6,
    feasibility: float = FEASIBILITY, kind: str = "auto",
) -> Solution:  # fmt: skip
    """The solution of a point from elsewhere as it is given, with the status that its certificate shows.

    The bound comes from the multipliers of the point, or from other known multipliers ``y`` if these give a
    smaller gap.
    """
    watch = RunMonitor(Options(tol=tol, feasibility=feasibility), label)
    own = point.multipliers if isinstance(point, Solution) and point.problem is problem else None
    kind, V = ("factor", point.V) if isinstance(point, Solution) else (kind, point)
    found = max(
        (watch.certify(problem, V, one, kind=kind, restoring=False) for one in (own, *y)),
        key=lambda one: one.bound if one.rigour in CERTIFIED else -np.inf,
    )
    status = Status.FEASIBLE_POINT if found.feasible else Status.INFEASIBLE_POINT
    status = Status.OPTIMAL if watch.suffices(found) else status
    return Solution(
        problem, label, status, V=found.point, objective=found.objective, reported_objective=float("nan"),
        multipliers=found.multipliers, kernel_min_eigenvalue=found.point_min_eigenvalue,
        known_certificate=found,
    )  # fmt: skip


def _certificate(problem: Statement, claim: Claim, watch: RunMonitor) -> Certificate | None:
    """The better of two certificates: with the solver's multipliers, or with those of its point."""
    known = watch.issued(problem, claim.certificate)
    if known is not None:
        return known
    if claim.V is None or not np.isfinite(problem.objective_of_factor(claim.V)):
        return None
    try:
        first = watch.certify(problem, claim.V, claim.multipliers)
    except OutOfRangeError:
        return None
    enough = first.certifies(watch.options.tol) or claim.multipliers is None
    if enough or claim.status is Status.TIME_LIMIT:
        return first
    other = watch.certify(problem, claim.V, None)
    return other if other.bound > first.bound else first


def _or_zero(problem: Statement, found: Certificate | None, watch: RunMonitor) -> Certificate | None:
    """The certificate of K = 0 if K = 0 is certified, else the given certificate.

    A solver may only come near K = 0. If the optimum is zero, the relative gap stays large however near the
    point is, unless some loss is positive at K = 0.
    """
    if found is None or problem.order > DENSE_EIGH or watch.suffices(found):
        return found
    zero = watch.certify(problem, np.zeros((problem.n, 1)), found.multipliers)
    return zero if watch.suffices(zero) else found


@dataclass(frozen=True)
class _Case:
    """The facts from which the rules decide the status."""

    problem: Statement
    claim: Claim
    found: Certificate | None
    watch: RunMonitor

    @property
    def V(self) -> Array | None:
        return self.claim.V if self.found is None else self.found.point


Verdict = tuple[Status, str] | None


def _certified(case: _Case) -> Verdict:
    if case.found is None or not case.watch.suffices(case.found):
        return None
    return (Status.STOPPED if case.claim.status is Status.STOPPED else Status.OPTIMAL), ""


def _alarm(case: _Case) -> Verdict:
    if case.found is None or case.found.repair != ALARM:
        return None
    return Status.FAILED, (
        "the multipliers prove a bound above the objective of the point, so a loss and its conjugate "
        "contradict each other; nothing is proved"
    )


def _no_kernel(case: _Case) -> Verdict:
    suspicious = case.claim.status is Status.INFEASIBLE or (case.found and not case.found.feasible)
    if not suspicious or case.claim.status is Status.TIME_LIMIT:
        return None
    ray = case.claim.multipliers if case.claim.status is Status.INFEASIBLE else None
    if not infeasible(case.problem, case.V, ray):
        return None
    return Status.INFEASIBLE, "multipliers of the constraints prove that no kernel meets the constraints"


def _no_bound(case: _Case) -> Verdict:
    claim, found = case.claim, case.found
    far = -DEEP * (case.problem.cost_unit * case.problem.kernel_unit)
    deep = found is not None and found.objective < far and not np.isfinite(found.bound)
    broken = claim.status is Status.FAILED or (found is None and claim.V is not None)
    said = claim.status is Status.UNBOUNDED
    if not (said or deep or broken) or not unbounded(case.problem, claim.V if said else case.V):
        return None
    met = f", from a kernel that meets the constraints to {FEASIBILITY:.0e}" * bool(case.problem.constraints)
    words = "a direction along which the objective falls without limit was found and checked"
    return Status.UNBOUNDED, words + met


def _unproved(case: _Case) -> Verdict:
    if case.claim.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        return None
    said = f"the solver reports {case.claim.status}, but no proof was found"
    return (Status.INACCURATE if case.found is not None else Status.FAILED), said


def _no_point(case: _Case) -> Verdict:
    if case.found is not None:
        return None
    ended = case.claim.status if case.claim.status in LIMITS else Status.FAILED
    return ended, "" if case.claim.V is None else "the iterates are no longer finite numbers"


def _not_feasible(case: _Case) -> Verdict:
    if case.found is None or case.found.feasible or case.claim.status in LIMITS:
        return None
    return Status.INACCURATE, (
        f"the point misses the constraint {case.found.missed!r} by {case.found.violation:.1e}, more than the "
        f"feasibility of {case.found.feasibility:.0e}"
    )


def _as_it_ended(case: _Case) -> Verdict:
    status = Status.INACCURATE if case.claim.status is Status.OPTIMAL else case.claim.status
    unbounded_kernels = case.found is not None and case.found.repair == NO_REPAIR
    if case.found is not None and case.found.repair.startswith(ANCHORED):
        return status, AT_INFINITY
    return status, NOT_ANCHORED if unbounded_kernels else ""


RULES: tuple[Callable[[_Case], Verdict], ...] = (
    _alarm, _certified, _no_kernel, _no_bound, _unproved, _no_point, _not_feasible, _as_it_ended,
)  # fmt: skip
"""The rules in their order; the first rule that does not return None decides the status."""

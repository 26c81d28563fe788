"""The one place that turns what a solver claims into a solution, and names its status.

A solver's word is not taken for anything: its point is restored and certified, INFEASIBLE and UNBOUNDED are
repeated only with a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from npkl_models.answer.solution import History, Solution, Status, with_certificate
from npkl_models.certify.budget import Budget
from npkl_models.certify.certificate import Certificate, certify, of_itself
from npkl_models.certify.rays import infeasible, unbounded
from npkl_models.linalg import Array
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers

LIMITS = (Status.STOPPED, Status.TIME_LIMIT, Status.ITERATION_LIMIT)
DEEP = 1e9  # an objective so far below zero, and no bound: it is asked whether there is one


@dataclass(frozen=True)
class Claim:
    """What a solver says when it ends.

    Attributes
    ----------
    V : ndarray of shape (n, r) or None
    multipliers : Multipliers or None
    status : Status
        How the run ended; OPTIMAL, INFEASIBLE and UNBOUNDED are no more than suspicions.
    value : float
        The solver's own objective.
    certificate : Certificate, optional
        Of this very point, if there is one already.
    """

    V: Array | None
    multipliers: Multipliers | None
    status: Status
    value: float = float("nan")
    iterations: int = 0
    history: History = field(default_factory=History)
    message: str = ""
    kernel_min_eigenvalue: float = 0.0
    certificate: Certificate | None = None


def judge(
    problem: Problem, backend: str, claim: Claim, tol: float, *, rigour: str = "probable",
    build_time: float = 0.0, seconds: float = 0.0, random_state: int | None = None,
) -> Solution:  # fmt: skip
    """The solution with the status that is proved of it."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        found = _certificate(problem, claim, tol, random_state)
        status, words = _status(problem, claim, found, tol, rigour)
    V = None if found is None or status in (Status.INFEASIBLE, Status.UNBOUNDED) else found.point
    solution = Solution(
        problem, backend, status, V, float("nan") if V is None or found is None else found.objective,
        claim.value, None if found is None else found.multipliers, claim.iterations, build_time, seconds,
        claim.history, "; ".join(part for part in (claim.message, words) if part),
        claim.kernel_min_eigenvalue,
    )  # fmt: skip
    return solution if V is None or found is None else with_certificate(solution, of_itself(found))


def _certificate(problem: Problem, claim: Claim, tol: float, random_state: int | None) -> Certificate | None:
    """The better of two: from the solver's multipliers, and from those recovered from its point."""
    if claim.certificate is not None:
        return claim.certificate
    if claim.V is None or not np.isfinite(problem.objective_of_factor(claim.V)):
        return None
    budget = Budget()

    def look(y: Multipliers | None) -> Certificate:
        found = certify(
            problem, claim.V, y, kind="factor", tol=tol, random_state=random_state,
            failure_probability=budget.next(),
        )  # fmt: skip
        return budget.stated(found)

    first = look(claim.multipliers)
    if first.certifies(tol) or claim.multipliers is None or claim.status is Status.TIME_LIMIT:
        return first
    other = look(None)
    return other if other.bound > first.bound else first


def _status(
    problem: Problem, claim: Claim, found: Certificate | None, tol: float, rigour: str
) -> tuple[Status, str]:
    if found is not None and found.certifies(tol) and (rigour != "proved" or found.rigour == "proved"):
        return (claim.status if claim.status is Status.STOPPED else Status.OPTIMAL), ""
    V = claim.V if found is None else found.point
    suspicious = claim.status is Status.INFEASIBLE or (found is not None and not found.feasible)
    if suspicious and claim.status is not Status.TIME_LIMIT and infeasible(problem, V):
        return (
            Status.INFEASIBLE,
            "that no kernel meets the constraints is proved by multipliers of the equalities",
        )
    deep = found is not None and found.objective < -DEEP and not np.isfinite(found.bound)
    broken = claim.status is Status.FAILED or (found is None and claim.V is not None)
    if (claim.status is Status.UNBOUNDED or deep or broken) and unbounded(problem, V):
        return (
            Status.UNBOUNDED,
            "a direction along which the objective falls without limit was found and checked",
        )
    if claim.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        said = f"the solver says {claim.status}, of which no proof was found"
        return (Status.INACCURATE if found is not None else Status.FAILED), said
    if found is None:
        ended = claim.status if claim.status in LIMITS else Status.FAILED
        return ended, "" if claim.V is None else "the iterates left the finite numbers"
    if not found.feasible and claim.status not in LIMITS:
        return Status.INACCURATE, "that a feasible kernel is near the point could not be shown"
    return (Status.INACCURATE if claim.status is Status.OPTIMAL else claim.status), ""


def relabelled(solution: Solution, problem: Problem, multipliers: Multipliers | None) -> Solution:
    """The same answer to an equivalent problem, whose kernels are the same."""
    out = replace(solution, problem=problem, multipliers=multipliers)
    found = solution.__dict__.get("certificate")
    if found is None or multipliers is None:
        return out
    return with_certificate(out, replace(found, multipliers=multipliers))

"""Judge a point from any source: with its multipliers, with recovered ones, or with those of a solve.

A right point has multipliers that prove it, but they are not unique where constraints depend on each other,
and those of least norm may leave the slack a little indefinite. The multipliers of any solve bound
the optimum for everybody's point.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from npkl_models.certificates.bounds import FEASIBILITY, CertifyOptions
from npkl_models.certificates.certificate import Certificate
from npkl_models.certificates.prove import prove
from npkl_models.errors import NPKLError, instance
from npkl_models.linalg.owned import real_number
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.cost import Cost
from npkl_models.solve.portfolio import AUTO, WITHOUT_END
from npkl_models.solve.registry import backends, candidates

SEARCH = 60.0  # predicted seconds of the largest solve that a certificate may ask for
QUICK = 1.0  # a sure backend with a shorter prediction needs no start
SHARPER = 0.1  # share of the tolerance that multipliers may leave open


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
    feasibility: float = FEASIBILITY,
    search: float = SEARCH,
) -> Certificate:
    """Certify a point from any source: bound the optimum of the problem and the gap of the point.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor V or a kernel K. It is judged as it is given, and never moved.
    multipliers : Multipliers, optional
        A dual point; by default that of the solution. Without one, and where one does not suffice for a
        feasible point, they are searched for: those of least norm that make the point stationary, then those
        of a solve. `Certificate.source` says which served.
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
        Seed of the random starts, which then depend on it and on the tested matrix; None takes any seed.
    quick : bool
        Whether to give up a sharp bound as soon as it is clear that the point is not optimal.
    feasibility : float
        Largest violation of the constraints, relative to their data, and largest negative part of a kernel,
        relative to its largest eigenvalue, of a point that counts as feasible.
    search : float
        Budget of the search for multipliers: the largest solve that it may begin, in seconds as the backends
        predict them from sizes. 0 means that none is begun.

    Raises
    ------
    ProblemError
        If the point has a wrong shape, is not finite, or is too large for a finite objective, or if the
        multipliers do not fit.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> solution = problem.solve(tol=1e-9)
    >>> nm.certify(problem, solution.K).certifies(1e-6)
    True
    >>> nm.certify(problem, 1.1 * solution.K).certifies(1e-6)
    False
    """
    instance(problem, Statement, "problem")
    budget = real_number(search, "search")
    demand = CertifyOptions(method, tol, failure_probability, random_state, quick, feasibility=feasibility)
    share = demand.share(3)  # each look has randomised runs of its own
    found = prove(problem, point, multipliers, kind, share)
    if found.source == "given" and not _enough(found, demand):
        found = _better(found, prove(problem, found_point(point), None, kind, share))
    if not _enough(found, demand) and not quick and budget > 0:
        y = multipliers_of_solve(problem, found, budget, demand)
        if y is not None:
            solved = replace(prove(problem, found_point(point), y, kind, share), source="a solve")
            found = _better(found, solved)
    return replace(found, failure_probability=failure_probability) if found.rigour == "probable" else found


def found_point(point: Any) -> Any:
    """The factor of a solution; a factor or kernel itself."""
    return getattr(point, "V", point)


def _better(one: Certificate, other: Certificate) -> Certificate:
    return other if other.relative_gap < one.relative_gap or other.bound > one.bound else one


def _enough(found: Certificate, demand: CertifyOptions) -> bool:
    """Whether no other multipliers are needed: the point is certified, or no bound could certify it."""
    return not found.feasible or found.certifies(demand.tol)


def multipliers_of_solve(
    problem: Statement, found: Certificate, budget: float, demand: CertifyOptions
) -> Multipliers | None:
    """The multipliers of a solve that begins at the point, if its prediction is within the budget."""
    options: dict[str, Any] = {"tol": max(SHARPER * demand.tol, 1e-12)}
    if not backends():  # nothing has imported them
        return None
    costs: dict[str, Cost] = candidates(problem, options)[0]
    quick = [cost.seconds for cost in costs.values() if cost.sure and cost.seconds <= QUICK]
    if not quick:
        options["start"] = found.point
        costs = candidates(problem, options)[0]
    if min((cost.seconds for cost in costs.values()), default=WITHOUT_END) > budget:
        return None
    try:
        solution = AUTO.solve(problem, options, costs)
    except NPKLError:
        return None
    return solution.multipliers

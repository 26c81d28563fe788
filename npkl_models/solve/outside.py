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
from npkl_models.solve.choice import compile
from npkl_models.solve.registry import backends, candidates, get_backend, usable

SEARCH = 10.0  # predicted seconds of the largest solve that a certificate may ask for
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
        A dual point; by default that of the solution. Without one, they are searched for: those of least norm
        that make the point stationary, and if these do not certify a feasible point, those of a solve.
        `Certificate.source` says which served.
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
        predict them from sizes; the solve ends at this limit. 0 means that none is begun.

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
    found = prove(problem, point, multipliers, kind, demand.share(2))  # each look has runs of its own
    point, kind = (point.V, "factor") if hasattr(point, "V") else (point, kind)  # a factor may be square
    known = found.source == "given" or not found.feasible or found.certifies(demand.tol)
    y = None if known or quick or not budget > 0 else multipliers_of_solve(problem, found, budget, demand)
    if y is not None:
        solved = replace(prove(problem, point, y, kind, demand.share(2)), source="a solve")
        found = solved if solved.bound > found.bound else found
    return replace(found, failure_probability=failure_probability) if found.rigour == "probable" else found


def multipliers_of_solve(
    problem: Statement, found: Certificate, budget: float, demand: CertifyOptions
) -> Multipliers | None:
    """The multipliers of a solve whose prediction is within the budget; it begins at the point if it can."""
    if not backends():  # nothing has imported them
        return None
    options: dict[str, Any] = {"tol": max(SHARPER * demand.tol, 1e-12), "time_limit": budget}
    costs = {name: one for name, one in candidates(problem, options)[0].items() if one.seconds <= budget}
    sure = [name for name in costs if costs[name].sure]
    if not costs:
        return None
    backend = get_backend(min(sure or costs, key=lambda one: costs[one].seconds))
    for begun in ({"start": found.point}, {}):  # some backends begin at solutions only
        try:
            return compile(problem, backend, **usable(backend, options | begun)).solve().multipliers
        except NPKLError:
            continue
    return None

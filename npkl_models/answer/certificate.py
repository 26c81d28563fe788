"""One certificate for every solver: a lower bound on the optimum from any dual point.

For y in the domain of the conjugates, S = C + sum_e y_e M_e and ``-sum f*(y) - nu'b - R*(-S)``
bounds the optimum from below. Where R* would be infinite because S is not quite PSD, y is repaired
first. How the smallest eigenvalue of S is known decides the rigour of the bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from npkl_models.answer.recovery import recover_multipliers
from npkl_models.answer.repairs import balanced, best_repair, diagonal_price
from npkl_models.errors import ProblemError, SolverError, unknown
from npkl_models.linalg import (
    DENSE_SPECTRUM,
    UNIT,
    Array,
    LowRankUpdate,
    dense,
    norm_bound,
    psd_factor,
)
from npkl_models.model.problem import Problem
from npkl_models.model.regularizers import TracePower
from npkl_models.model.terms import Multipliers
from npkl_models.spectrum.bounds import min_eigenvalue
from npkl_models.spectrum.eigenbound import EigenBound, Rigour
from npkl_models.spectrum.factorisation import DENSE_CHOLESKY

if TYPE_CHECKING:
    from npkl_models.answer.solution import Solution

SPARE = 0.95  # of the gap that is left: what raising the slack's diagonal may cost
FEASIBLE = 1e-6  # largest relative violation of a constraint that still counts as feasible


@dataclass(frozen=True)
class Certificate:
    """What is proved of a point.

    Attributes
    ----------
    objective : float
        At the point, its constraints restored by shrinking where they were exceeded.
    bound : float
        Lower bound on the optimum, -inf if none could be given.
    gap, relative_gap : float
        ``objective - bound``, and that over ``1 + |objective| + |bound|`` (DIMACS error 5).
    min_eigenvalue : float
        Best approximation of the smallest eigenvalue of the dual slack S before repair, plus the
        subgradient of a trace-power regulariser (for p = 1 a multiple of I). Negative at a point
        that is stationary but not optimal.
    rigour : {"proved", "probable", "estimated", "none"}
        How the bound is known; only the first two count as certified.
    repair : str
        How y was made feasible: "none needed", "shift", "scale", "rows", "equality shift", "distances",
        "trace bound", "regulariser" (the support absorbs it) or "no repair applies"; "local shift" and so
        on where the diagonal was raised on a few points more than on others.
    failure_probability : float
        Of a "probable" bound.
    violation : float
        Relative violation of the constraints that could not be restored (equalities).
    seconds : float
        Spent on the certificate.
    multipliers : Multipliers
        The repaired dual point, which anybody can check with `Problem.dual_bound`.
    direction : ndarray of shape (n,)
        Unit vector whose Rayleigh quotient is `min_eigenvalue`; in the range of the basis if there is one.
    directions : ndarray of shape (n, m), optional
        Low eigenvectors of the slack on few points each, where they stood in the way of a bound.
    """

    objective: float
    bound: float
    gap: float
    relative_gap: float
    min_eigenvalue: float
    rigour: Rigour
    repair: str
    failure_probability: float
    violation: float
    seconds: float
    multipliers: Multipliers = field(repr=False)
    direction: Array = field(repr=False)
    directions: Array | None = field(default=None, repr=False)

    def certifies(self, tol: float) -> bool:
        """Whether the point is feasible and proved (or probably) optimal within ``tol``.

        An objective below the bound by more than that shows that a constraint is not met well enough.
        """
        known = self.rigour in ("proved", "probable")
        return known and abs(self.relative_gap) <= tol and self.violation <= FEASIBLE

    def __str__(self) -> str:
        label: str = self.rigour
        if self.rigour == "probable":
            label += f" (fails with probability {self.failure_probability:.0e})"
        return (
            f"{self.bound:.8g} <= optimum <= {self.objective:.8g}, relative gap "
            f"{self.relative_gap:.1e}, {label}, repair: {self.repair}"
        )


def certify(
    problem: Problem,
    point: Solution | Array,
    multipliers: Multipliers | None = None,
    *,
    kind: str = "auto",
    method: str = "auto",
    tol: float = 1e-6,
    failure_probability: float = 1e-6,
    random_state: int | None = 0,
    quick: bool = False,
) -> Certificate:
    """Bound the optimum of a problem and the gap of a point, wherever the point came from.

    Parameters
    ----------
    problem : Problem
    point : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor V or a kernel K.
    multipliers : Multipliers, optional
        A dual point; without one it is taken from the solution or recovered from the point.
    kind : {"auto", "factor", "kernel"}
        What an array is; "auto" takes a symmetric n x n array for a kernel.
    method : {"auto", "eigh", "cholesky", "lanczos", "ritz"}
        How the smallest eigenvalue is bounded; see `npkl_models.spectrum.bounds.min_eigenvalue`.
    tol : float
        The relative gap that matters; iterative methods stop when it is reached.
    failure_probability : float
        Of a randomised bound.
    quick : bool
        Give up on a sharp bound as soon as it is clear that the point is not optimal.

    Returns
    -------
    Certificate
    """
    started = time.perf_counter()
    if not isinstance(point, np.ndarray):
        multipliers = multipliers or getattr(point, "multipliers", None)
        kind = "factor" if hasattr(point, "V") else kind
    point = getattr(point, "V", point)
    if point is None:
        raise SolverError("a solution without a point has nothing to certify; see its status")
    V = problem.regularizer.rescale(as_factor(problem, point, kind))
    objective = problem.objective_of_factor(V)
    y = recover_multipliers(problem, V) if multipliers is None else multipliers
    y = project_multipliers(problem, problem.as_multipliers(y))

    large = problem.basis is None and problem.n > DENSE_CHOLESKY and not problem.regularizer.finite_support
    S = problem.restrict(problem.slack(y))
    if large:
        y, S = balanced(problem, y, V, S)
    W = problem.drop(V)
    trace = max(float(np.sum(V**2)), 1e-12)
    options: dict[str, Any] = {
        "method": method,
        "accuracy": min(0.5 * tol * (1 + 2 * abs(objective)) / trace, tol * norm_bound(S)),
        "failure_probability": failure_probability,
        "random_state": random_state,
        "quick": quick,
    }
    if isinstance(problem.regularizer, TracePower) and problem.regularizer.finite_support:
        gradient = problem.regularizer.gradient(W, S @ W)
        found = min_eigenvalue(LowRankUpdate(S, *gradient), W, **options)
        whole = method in ("auto", "eigh") and S.shape[0] <= DENSE_SPECTRUM
        bound, rigour = _trace_power_bound(problem, problem.regularizer, y, S, gradient, found, whole)
        repair = "regulariser"
    else:
        if large:
            spare = tol * (1 + 2 * abs(objective)) - max(objective + problem.conjugate_sum(y), 0.0)
            options |= {"price": diagonal_price(problem, y), "allowance": SPARE * spare}
        found = min_eigenvalue(S, W, **options)
        shortfall = max(0.0, -(found.lower + problem.regularizer.shift))
        upper = objective if problem.violation(V) <= FEASIBLE else float("inf")
        repair, bound, y = best_repair(problem, y, shortfall, upper, found.raised)
        rigour = found.rigour if np.isfinite(bound) else "none"
    level = problem.regularizer.shift + _trace_multiplier(problem, S, W)
    gap = objective - bound
    return Certificate(
        objective=objective,
        bound=bound,
        gap=gap,
        relative_gap=relative_gap(objective, bound),
        min_eigenvalue=found.estimate + level,
        rigour=rigour,
        repair=repair,
        failure_probability=found.failure_probability,
        violation=problem.violation(V),
        seconds=time.perf_counter() - started,
        multipliers=y,
        direction=problem.lift(found.vector),
        directions=found.directions,
    )


def relative_gap(objective: float, bound: float) -> float:
    """``(objective - bound) / (1 + |objective| + |bound|)``, inf without a bound."""
    if not np.isfinite(bound):
        return float("inf")
    return (objective - bound) / (1 + abs(objective) + abs(bound))


def as_factor(problem: Problem, point: Any, kind: str = "auto") -> Array:
    """A factor V (n x r) of a factor or kernel; negative eigenvalues of a kernel are cut."""
    if kind not in ("auto", "factor", "kernel"):
        raise unknown("kind of point", kind, ("auto", "factor", "kernel"))
    A = np.asarray(point, dtype=float)
    if A.ndim != 2 or A.shape[0] != problem.n or not np.isfinite(A).all():
        raise ProblemError(
            f"a point must be a finite factor ({problem.n} x r) or kernel ({problem.n} x "
            f"{problem.n}), got shape {A.shape}"
        )
    square = A.shape[1] == problem.n
    if kind == "auto":
        symmetric = square and np.allclose(A, A.T, rtol=1e-8, atol=1e-8 * np.abs(A).max(initial=0.0))
        kind = "kernel" if symmetric else "factor"
    if kind == "factor":
        return A
    if not square:
        raise ProblemError(f"a kernel must be {problem.n} x {problem.n}, got shape {A.shape}")
    if problem.basis is None:
        return psd_factor(A)
    Q = problem.basis.Q
    out: Array = Q @ psd_factor(Q.T @ A @ Q)
    return out


def project_multipliers(problem: Problem, y: Multipliers) -> Multipliers:
    """The nearest multipliers in the domain of the conjugates."""
    terms = tuple(
        term.loss.project(part, term.target, term.weight)
        for term, part in zip(problem.terms, y.terms, strict=True)
    )
    rows = y.rows
    if problem.regularizer.row_multipliers:
        rows = np.maximum(np.zeros(problem.n) if rows is None else rows, 0.0)
    return replace(y, terms=terms, rows=rows)


def _trace_multiplier(problem: Problem, S: Any, W: Array) -> float:
    """The kappa of tr K <= B with S W + kappa W = 0 in the least-squares sense; 0 for other regularisers."""
    R = problem.regularizer
    if not isinstance(R, TracePower) or R.p > 1 or R.bound is None or not W.any():
        return 0.0
    return max(0.0, -float(np.sum(W * (S @ W))) / float(np.sum(W**2)))


def _trace_power_bound(
    problem: Problem,
    R: TracePower,
    y: Multipliers,
    S: Any,
    gradient: tuple[Array, Array],
    found: EigenBound,
    whole: bool,
) -> tuple[float, Rigour]:
    """-sum f* - R*(-S): from the whole spectrum of S if the order allows.

    Else from S + P + eps I >= 0 with P the (low-rank, PSD) subgradient of R at the point: then
    -S <= P + eps I, and R* is monotone.
    """
    paid = problem.conjugate_sum(y)
    order = S.shape[0]
    if whole:
        spectrum = -np.linalg.eigvalsh(dense(S)) + 4 * order * UNIT * norm_bound(S)
        return -paid - R.support(spectrum), "proved"
    if not np.isfinite(found.lower):
        return float("-inf"), "none"
    eps = max(0.0, -found.lower)
    mu = gradient[1]
    majorant = np.concatenate([mu + eps, np.full(order - mu.size, eps)])
    return -paid - R.support(majorant), found.rigour

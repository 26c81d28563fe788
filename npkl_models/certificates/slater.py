"""The search for a centre: multipliers whose slack is positive definite (a Slater point of the dual).

A graph Laplacian without shift has centres if values hold its null vectors v: for each v, v'M_e v > 0 for
some y_e that may grow. Without a cost, zero multipliers are no start. There the multipliers of squares are
raised within their boxes: a sum of Laplacians of a connected graph is positive definite over centred kernels.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, eigsh

from npkl_models import kernel
from npkl_models.feasibility.anchored import split
from npkl_models.kernel import Anchor
from npkl_models.linalg import DENSE_SPECTRUM, TINY, Array, Matrix, dense, lowest_pairs, norm_bound
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import fact
from npkl_models.model.functionals import squares
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.factorisation import can_factorise

ROUNDS = 8  # of ascent on the smallest eigenvalue
LOW = 8  # most eigenvectors that are raised together
CLOSE, BASIS, RESTARTS = 1e-6, 80, 50  # tolerance, basis size and restarts of ARPACK
NEARLY = 1e-12  # relative to the largest multiplier: smaller ones are rounding
STEPS = tuple(4.0**-k for k in range(12))  # changes of the slack over the norm of the cost, tried in turn


@fact
def strictly_feasible(problem: Statement) -> Anchor | None:
    """A point of `ascended` that no solver has to find, from zero multipliers or from `raised_squares`."""
    zero, free = projected(problem, problem.no_multipliers), not problem.cost.data.any()
    above = free or problem.order <= DENSE_SPECTRUM  # beyond, an eigenvalue takes long
    return ascended(problem, [zero, raised_squares(problem)] if above else [zero])


def ascended(problem: Statement, starts: list[Multipliers]) -> Anchor | None:
    """A centre near the best start.

    The smallest eigenvalue of the slack is raised from the best start. None if a point is not anchored.
    """
    if split(problem) is not None or not can_factorise(problem.restrict(problem.cost)):
        return None
    T = kernel.slack(problem, starts[0]).T  # units of the rows
    (y, values, vectors), steps = _best(problem, starts, T), STEPS
    for _ in range(ROUNDS):
        found, before = _raised(problem, y, values, problem.lift(vectors), steps, T), values[0]
        if found is None:
            break
        (y, values, vectors), best = found
        steps = STEPS[max(STEPS.index(best) - 2, 0) :]  # much longer ones fail again
        if before > 0 and values[0] < 2 * before:  # a mixture with a point twice as high is hardly better
            break
    return kernel.anchor(problem, y) if values[0] > 0 else None


def _best(problem: Statement, starts: list[Multipliers], T: Array) -> tuple[Multipliers, Array, Array]:
    """The best start, the smallest eigenvalues of its slack, and the eigenvectors."""
    found = [(y, *_lowest(problem, y, T)) for y in starts]
    prices = [max(problem.size() + abs(problem.conjugate_sum(y)), TINY) for y in starts]
    merits = [values[0] / price for (_, values, _), price in zip(found, prices, strict=True)]
    return found[int(np.argmax(merits))]


def raised_squares(problem: Statement) -> Multipliers:
    """Multipliers of squares (distances, K_ii), each the slope of its loss at twice the target.

    So a multiplier stays in its domain even if it is bounded, as that of the absolute loss. All others are
    next to zero.
    """
    slopes = []
    for part in problem.terms:
        slope: Array = np.zeros(part.functional.size)
        if isinstance(part, LossTerm):
            slope = part.derivative(2 * np.abs(part.target))
        risen = squares(part.functional) & (slope > 0) & np.isfinite(slope)
        slopes.append(np.where(risen, slope, 0.0))
    return projected(problem, problem.split_multipliers(slopes))


def _raised(
    problem: Statement, y: Multipliers, values: Array, V: Array, steps: tuple[float, ...], T: Array
) -> tuple[tuple[Multipliers, Array, Array], float] | None:
    """A step that raises the smallest eigenvalue, and its length; None if no length does.

    A step can lower an eigenvalue by its length. So it raises all eigenvalues that are less than that above
    the lowest, along sum v'M_e v over their eigenvectors.
    """
    best: tuple[tuple[Multipliers, Array, Array], float] | None = None
    norm, level = max(_norm(problem, problem.cost, T), problem.cost_unit * float(T.min()) ** 2), values[0]
    for length in steps:
        low = V[:, values <= values[0] + length * norm]
        ascent = problem.split_multipliers(part.functional.value_of_factor(low) for part in problem.terms)
        size = _norm(problem, problem.slack(ascent) - problem.cost, T)
        if not size > 0:
            continue
        t = length * norm / size
        moved = (a + t * b for a, b in zip(y.terms, ascent.terms, strict=True))
        trial = projected(problem, problem.split_multipliers(moved))
        if not trial.finite:
            continue
        found = _lowest(problem, trial, T)
        if found[0][0] > level + 1e-3 * abs(level):
            best, level = ((trial, *found), length), found[0][0]
        elif best is not None:
            break
    return best


def _norm(problem: Statement, A: Matrix, T: Array) -> float:
    """The norm of A in the units T of the rows, over a basis with one unit for all."""
    return norm_bound(_scaled(A, T)) if problem.basis is None else norm_bound(A) * float(T.max()) ** 2


def _scaled(A: Matrix, T: Array) -> Matrix:
    D = sp.diags_array(T)
    return sp.csr_array(D @ A @ D) if sp.issparse(A) else T[:, None] * A * T


def _lowest(problem: Statement, y: Multipliers, T: Array) -> tuple[Array, Array]:
    """The smallest eigenvalues of T S T, S with the shift, and T times their eigenvectors (order x k)."""
    S: Matrix = _scaled(problem.restrict(problem.slack(y)), T)
    n, norm = S.shape[0], norm_bound(S)
    nothing = np.full(1, -np.inf), np.zeros((n, 1))
    if not np.isfinite(norm):
        return nothing
    if n <= DENSE_SPECTRUM:
        values, vectors = lowest_pairs(dense(S), min(LOW, n))
    else:
        try:
            raised = S + norm * sp.eye_array(n)  # ARPACK's tolerance is relative to each eigenvalue
            values, vectors = eigsh(
                raised, k=LOW, which="SA", tol=CLOSE, ncv=BASIS, maxiter=RESTARTS, v0=np.ones(n)
            )
            values = values - norm
        except ArpackError:
            return nothing
    order = np.argsort(values)
    return values[order] + problem.regularizer.shift * float(np.min(T)) ** 2, T[:, None] * vectors[:, order]

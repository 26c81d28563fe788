"""The value of each pair if its own loss is left out: by solving again, or by one Newton step for all pairs.

At a stationary factor W with the Hessian H, leave out the loss w phi(z) of a pair. The gradient there is then
-w phi'(z) g, with g the gradient of z = <v_i, v_j>, and the Hessian is H - S M S'. S takes the rows i and j,
and M = w phi''(z) g g' + w phi'(z) Z, with Z the second derivative of z. So the Newton step at both rows is

    d = (I - G M)^-1 G w phi'(z) g,    G = S' H^-1 S,

a system with 2 r unknowns for each pair, from one inverse for all. The rank of the kernel stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from npkl_models.answer.solution import Solution, Status, factor_of
from npkl_models.applications.sensitivity import stationary_factor
from npkl_models.errors import ProblemError, SolverError, UnsupportedError, instance
from npkl_models.linalg import Array, Index, Mask
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.model.functionals import Entries
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

LARGEST = 6_000  # unknowns of a factor whose Hessian is inverted; the matrix has 288 MB
FLAT = 1e-12  # a smaller pivot, relative to the mean of the diagonal, counts as a singular Hessian
TOL = 1e-6  # relative gap of the problems that are solved again
BENT = 0.1  # a step whose system has a smaller eigenvalue leaves what Newton's model can say
ENOUGH = 1e-3  # largest relative gap of the solution


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The pairs of a solved problem, with their values with and without their own loss.

    Attributes
    ----------
    pairs : ndarray of int, shape (m, 2)
        The pairs in the order of the problem's terms.
    must : ndarray of bool, shape (m,)
        True for must-links.
    value : ndarray of shape (m,)
        K_ij in the solution.
    left_out : ndarray of shape (m,)
        K_ij in the optimum without the loss of this pair.
    """

    pairs: Index
    must: Mask
    value: Array
    left_out: Array

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"LeftOut({len(self)} pairs)"


def left_out_values(solution: Solution, exact: bool = True) -> LeftOut:
    """For each pair, its value in the kernel that is learnt without this pair.

    Parameters
    ----------
    solution : Solution
        A solution of a problem with losses on pairs.
    exact : bool
        Whether to solve the problem without each pair, from the solution, to a certified relative gap of
        1e-6. Otherwise one Newton step serves for all pairs, from one inverse of order n r. It needs smooth
        losses, keeps the rank of the kernel, and is rough where the value changes much. Pairs whose step has
        a nearly singular or indefinite system are solved again.

    Returns
    -------
    LeftOut
        The values with and without each pair.

    Raises
    ------
    ProblemError
        If no pair has a loss, or if the problem has nothing but one pair.
    UnsupportedError
        If ``exact`` is false: if a loss has a kink (hinge, absolute), if the problem has equalities or a
        bound, or if the factor has more than 6,000 numbers.
    SolverError
        If the solution has no kernel, or no accurate one; if a problem without a pair is not
        certified; or, if ``exact`` is false, if the optimal kernel is not unique.

    Notes
    -----
    The step is that of approximate leave-one-out (Giordano et al., "A Swiss Army Infinitesimal Jackknife",
    AISTATS 2019, have its first-order form), with the Hessian that the pair itself changes.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.left_out import left_out_values
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 2), (3, 5), (1, 4)], cannot_link=[(2, 3), (0, 5)])
    >>> solution = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs, gamma=3.0).solve()
    >>> found = left_out_values(solution)
    >>> found.pairs[2].tolist(), bool(found.left_out[2] < 0.5 * found.value[2])  # the wrong pair
    ([1, 4], True)
    """
    instance(solution, Solution, "solution")
    problem, V = solution.problem, factor_of(solution, "kernel")
    rows = {place: found for place, term in enumerate(problem.losses) if (found := _of_pairs(term)).size}
    if not rows:
        raise ProblemError(
            f"pairs must have a loss to be left out, got {problem.name or 'a problem'} without such a loss"
        )
    if sum(term.target.size for term in problem.losses) == 1 and not problem.constraints:
        raise ProblemError("the only pair cannot be left out: without it the problem says nothing")
    ends = {place: np.stack(_ends(problem.losses[place]), axis=1)[own] for place, own in rows.items()}
    pairs = np.concatenate(list(ends.values()))
    must = np.concatenate([problem.losses[place].target[own] > 0 for place, own in rows.items()])
    value = np.einsum("er,er->e", V[pairs[:, 0]], V[pairs[:, 1]])
    if not solution.certificate.relative_gap <= ENOUGH:
        raise SolverError(
            f"the solution must have a relative gap of at most {ENOUGH:g}, got "
            f"{solution.certificate.relative_gap:.1e} (status {solution.status})"
        )
    left = np.full(len(pairs), np.nan) if exact else _by_newton(problem, V, rows, pairs)
    bent = np.isnan(left)
    left[bent] = _solved_again(problem, V, rows, bent)
    return LeftOut(pairs, must, value, left)


def _ends(term: LossTerm) -> tuple[Index, Index]:
    """The two points of each entry of a term over entries."""
    assert isinstance(term.functional, Entries)
    i, j = term.functional.indices
    return i, j


def _of_pairs(term: LossTerm) -> Index:
    """The places of the pairs of different points in a term."""
    if not isinstance(term.functional, Entries):
        return np.zeros(0, dtype=np.intp)
    i, j = _ends(term)
    return np.flatnonzero(i != j)


def _by_newton(problem: Statement, V: Array, rows: dict[int, Index], pairs: Index) -> Array:
    """The values after a Newton step; not a number where the step's system is not safely definite."""
    objective = FactorObjective(problem)
    if not objective.smooth or problem.constraints:
        raise UnsupportedError(
            "values of pairs that are left out need smooth losses, without equalities or bounds, got "
            f"{problem!r}; squared_hinge, huber and square are smooth; exact=True takes every loss"
        )
    point = stationary_factor(problem, objective, problem.drop(V))
    if point.W.size > LARGEST:
        raise UnsupportedError(
            f"the factor must have at most {LARGEST:,} numbers, got {point.W.shape[0]:,} x "
            f"{point.W.shape[1]}; exact=True has no such limit"
        )
    r, inverse = point.W.shape[1], _lifted(objective, _inverse(point, objective.hessian(point)), point)
    places = np.concatenate([np.arange(c.part.start, c.part.stop)[rows[t]] for t, c in
                             enumerate(objective.channels) if t in rows])  # fmt: skip
    slope, bend = point.slope[places], point.bend[places]
    (i, j), columns = pairs.T, np.arange(r)
    at = np.concatenate([i[:, None] * r + columns, j[:, None] * r + columns], axis=1)
    G = inverse[at[:, :, None], at[:, None, :]]
    g = np.concatenate([point.V[j], point.V[i]], axis=1)
    swap = np.roll(np.eye(2 * r), r, axis=0)  # Z, which exchanges the two rows
    M = bend[:, None, None] * g[:, :, None] * g[:, None, :] + slope[:, None, None] * swap
    pull = np.einsum("eab,eb->ea", G, slope[:, None] * g)
    system = np.eye(2 * r) - G @ M
    safe = np.linalg.eigvals(system).real.min(axis=1) >= BENT
    step = np.linalg.solve(np.where(safe[:, None, None], system, np.eye(2 * r)), pull[:, :, None])[:, :, 0]
    value = np.einsum("er,er->e", point.V[i] + step[:, :r], point.V[j] + step[:, r:])
    return np.where(safe, value, np.nan)


def _inverse(point: Point, product: Callable[[Array], Array]) -> Array:
    """The inverse of the Hessian on the steps that are no rotations W R of the factor, and zero on these."""
    W, N = point.W, point.W.size
    H = np.empty((N, N))
    for place, unit in enumerate(np.eye(N)):
        H[place] = product(unit.reshape(W.shape)).ravel()
    a, b = np.triu_indices(W.shape[1], 1)
    skew = np.zeros((a.size, W.shape[1], W.shape[1]))
    skew[np.arange(a.size), a, b], skew[np.arange(a.size), b, a] = 1.0, -1.0
    T = np.linalg.qr((W @ skew).reshape(a.size, N).T)[0]
    H -= T @ (T.T @ H)
    H -= (H @ T) @ T.T
    size = float(np.trace(H)) / N
    try:
        L = np.linalg.cholesky((H + H.T) / 2 + size * (T @ T.T))
    except np.linalg.LinAlgError:
        L = np.zeros((N, N))
    if not np.min(np.diagonal(L), initial=np.inf) ** 2 > FLAT * size:
        raise SolverError(
            "the Hessian is singular beyond rotations: the optimal kernel is not unique or changes its rank "
            "here, or some points are hardly held; exact=True solves again without each pair"
        )
    inverse = scipy.linalg.cho_solve((L, True), np.eye(N))
    return np.asarray(inverse - (T @ T.T) / size)


def _lifted(objective: FactorObjective, inverse: Array, point: Point) -> Array:
    """The inverse in the rows of V = Q W."""
    if objective.Q is None:
        return inverse
    (k, r), n = point.W.shape, len(point.V)
    half = objective.lift(inverse.reshape(k, -1)).reshape(n * r, k * r)
    return np.asarray(objective.lift(half.T.reshape(k, -1)).reshape(n * r, n * r))


def _solved_again(problem: Statement, V: Array, rows: dict[int, Index], wanted: Mask) -> Array:
    """The values of the wanted pairs, each from a problem without the pair."""
    found = []
    places = [(place, e) for place, own in rows.items() for e in own]
    for place, e in (places[k] for k in np.flatnonzero(wanted)):
        i, j = (int(end[e]) for end in _ends(problem.losses[place]))
        again = _without(problem, place, e).solve("auto", tol=TOL, start=V)  # type: ignore[attr-defined]
        if again.status is not Status.OPTIMAL:
            raise SolverError(
                f"the problem without the pair ({i}, {j}) was not certified: {again.status}, relative gap "
                f"{again.certificate.relative_gap:.1e}"
            )
        W = factor_of(again, "kernel")
        found.append(float(W[i] @ W[j]))
    return np.array(found)


def _without(problem: Statement, place: int, e: int) -> Statement:
    """The problem without one value of a term."""
    term, others = problem.losses[place], (problem.losses[:place], problem.losses[place + 1 :])
    kept = np.arange(term.target.size) != e
    if not kept.any():
        return replace(problem, terms=others[0] + others[1])
    i, j = _ends(term)
    less = Entries(problem.n, (i[kept], j[kept]))
    smaller = LossTerm(less, term.loss, term.target[kept], term.weight[kept], term.name)
    return replace(problem, terms=(*others[0], smaller, *others[1]))

"""Derivatives of an optimum, and of a loss on held-out pairs, in the numbers of a problem.

The derivative of the optimum itself needs only the kernel (the envelope theorem): loss(z_e) in the weight of
a pair, and K in the cost. The derivative of anything else at the optimum needs the derivative of the kernel.
For a smooth problem and a factor V of full rank, the implicit function theorem gives dV: one linear solve
with the Hessian of the factorised objective, modulo the rotations V -> V R, which do not change the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from npkl_models.answer.solution import Solution
from npkl_models.applications.cost_gradient import CostGradient
from npkl_models.certify.prove import certify
from npkl_models.errors import ProblemError, SolverError, UnsupportedError, instance
from npkl_models.linalg import Array
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

KEPT = (1e-6, 1e-4, 1e-3)  # eigenvalues below this share of the largest do not count as rank; in turn
TINY_COST = 1e-6  # size of gradients that is negligible where there is no cost, per unit of the factor
STEPS, STATIONARY = 30, 1e-11  # Newton steps towards a stationary factor; norm of its gradient, relative
MOST, ROUNDS, FINE = 1_000, 4, 1e-10  # iterations of MINRES; runs, and a residual that ends them
EXACT, ACCURATE = 1e-12, 1e-6  # accuracy of the linear solve: target, and largest error that is accepted
OPTIMAL = 1e-6  # largest relative gap of the stationary factor
KINK = 1e-7  # distance to a jump of a second derivative, relative to the size of the values


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A number at the optimum, and its derivatives.

    Attributes
    ----------
    value : float
        The number: the optimum, or the loss on held-out pairs.
    weights : tuple of ndarray
        For each loss term, the derivative in the weight of each of its values.
    cost : CostGradient
        The derivative in the cost matrix, and so in shift, edges, width and features.
    gamma : float
        The derivative in a common factor on all weights, at the factor 1.
    kinks : int
        Number of values at a jump of a second derivative (a squared hinge at t z = 1). If it is not zero, the
        derivative of a held-out loss holds to one side only.
    """

    value: float
    weights: tuple[Array, ...]
    cost: CostGradient
    gamma: float
    kinks: int = 0


def optimum_sensitivity(solution: Solution) -> Sensitivity:
    """The derivatives of the optimum in weights and cost, by the envelope theorem.

    They are exact if the optimal kernel is unique. If several kernels are optimal, the result is between the
    derivatives to both sides. The tangent is an upper bound on the optimum of every other problem.

    Parameters
    ----------
    solution : Solution
        A solution with a kernel.

    Returns
    -------
    Sensitivity
        The optimum and its derivatives.

    Raises
    ------
    ProblemError
        If the solution has no kernel.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.sensitivity import optimum_sensitivity
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> solution = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs).solve()
    >>> found = optimum_sensitivity(solution)
    >>> found.weights[0].round(3).tolist()  # the loss of each pair
    [0.003, 0.003, 0.0]
    """
    problem, V = _solved(solution)
    values = problem.values(V)
    losses = tuple(t.loss.value(z, t.target) for t, z in zip(problem.losses, values, strict=True))
    gamma = sum(float(t.weight @ own) for t, own in zip(problem.losses, losses, strict=True))
    return Sensitivity(solution.objective, losses, CostGradient(V, V), gamma)


def held_out_sensitivity(solution: Solution, held: LossTerm) -> Sensitivity:
    """The derivatives of a loss on held-out values of the optimal kernel, by one linear solve.

    Parameters
    ----------
    solution : Solution
        A solution of a problem with smooth losses and without constraints.
    held : LossTerm
        The loss whose derivatives are wanted.

    Returns
    -------
    Sensitivity
        The held-out loss at the optimum, and its derivatives.

    Raises
    ------
    UnsupportedError
        If a loss has a kink (hinge, absolute), or if the problem has equalities or a bound: there the optimal
        kernel follows the kinks.
    SolverError
        If no stationary factor of this rank is optimal (where the rank changes), or if the Hessian is
        singular beyond rotations, or so nearly that its equations are not solved to 1e-6 (where the optimal
        kernel is not unique or changes its rank, or where points are hardly held).

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.sensitivity import held_out_sensitivity
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(nm.laplacian(X, n_neighbors=2, shift=0.1), pairs)
    >>> held = nm.LossTerm(nm.Entries(6, ([0], [2])), "square", 1.0)
    >>> held_out_sensitivity(problem.solve(), held).gamma < 0  # more weight helps the unseen must-link
    True
    """
    problem, V = _solved(solution)
    instance(held, LossTerm, "held")
    if held.functional.n != problem.n:
        raise ProblemError(
            f"held must be over the {problem.n} points of the problem, got {held.functional.n}"
        )
    objective = FactorObjective(problem)
    if not objective.smooth:
        raise UnsupportedError(
            "a derivative of the kernel must be at a problem with smooth losses and without equalities or "
            f"bounds, got {problem!r}; squared_hinge, huber and square are smooth"
        )
    point = stationary_factor(problem, objective, problem.drop(V))
    slope = held.derivative(held.functional.value_of_factor(point.V))
    wanted = 2 * objective.drop(held.functional.adjoint(slope) @ point.V)
    turned = objective.lift(_solve(objective, point, wanted))
    weights = []
    for channel, term in zip(objective.channels, problem.losses, strict=False):
        moved = term.functional.incidence.along(point.V, turned)
        weights.append(-point.slope[channel.part] / term.weight * moved)
    gamma = sum(float(t.weight @ own) for t, own in zip(problem.losses, weights, strict=True))
    value = held.value(held.functional.value_of_factor(point.V))
    kinks = _kinks(problem, point.V)
    return Sensitivity(value, tuple(weights), CostGradient(point.V, -2 * turned), gamma, kinks)


def _solved(solution: Solution) -> tuple[Statement, Array]:
    instance(solution, Solution, "solution")
    if solution.V is None:
        raise ProblemError(
            f"a solution must have a kernel to be differentiated, got none: {solution.message}"
        )
    return solution.problem, solution.V


def stationary_factor(problem: Statement, objective: FactorObjective, W: Array) -> Point:
    """A certified stationary factor near W, of full rank, with orthogonal columns; a few ranks are tried."""
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    gap, before = np.inf, 0
    for share in KEPT:
        rank = int(np.sum(s**2 > share * np.max(s, initial=0.0) ** 2))
        if rank in (0, before):
            continue
        point, before = _polished(problem, objective, (U * s)[:, :rank]), rank
        found = certify(problem, point.V, kind="factor")
        if found.certifies(OPTIMAL):
            return point
        gap = min(gap, found.relative_gap)
    if not before:
        raise SolverError("a kernel must not be zero to be differentiated: its factor has rank 0")
    raise SolverError(
        f"no optimal factor of rank {before} was found near the solution (relative gap {gap:.1e}): the rank "
        "may change here, or the solution is not accurate enough"
    )


def _polished(problem: Statement, objective: FactorObjective, W: Array) -> Point:
    """The end of Newton steps from W, with orthogonal columns."""
    point = objective.at(W)
    size = float(np.linalg.norm(problem.cost @ point.V)) + float(np.linalg.norm(W)) * TINY_COST
    for _ in range(STEPS):
        if np.linalg.norm(point.gradient) <= STATIONARY * size:
            break
        new = objective.at(point.W + _solve(objective, point, -point.gradient, checked=False))
        if not np.linalg.norm(new.gradient) < np.linalg.norm(point.gradient):
            break
        point = new
    U, s, _ = np.linalg.svd(point.W, full_matrices=False)
    return objective.at(U * s)


def _solve(objective: FactorObjective, point: Point, b: Array, checked: bool = True) -> Array:
    """The horizontal D with H D = b, for the Hessian H at a factor."""
    W, product = point.W, objective.hessian(point)
    values, vectors = np.linalg.eigh(W.T @ W)
    sums = values[:, None] + values[None, :]

    def horizontal(D: Array) -> Array:
        """D without its part W R with a skew R, which only rotates the factor."""
        skew = vectors.T @ (W.T @ D - D.T @ W) @ vectors
        return D - W @ (vectors @ (skew / sums) @ vectors.T)

    def image(d: Array) -> Array:
        return horizontal(product(horizontal(d.reshape(W.shape)))).ravel()

    if not (b := horizontal(b)).any():
        return np.zeros_like(W)
    inverse = objective.preconditioner(point)

    def nearly(d: Array) -> Array:
        return horizontal(inverse(horizontal(d.reshape(W.shape)))).ravel()

    operator, near = (LinearOperator((W.size, W.size), matvec=f, dtype=float) for f in (image, nearly))
    found, rest, left = np.zeros(W.size), b.ravel(), 1.0
    for _ in range(ROUNDS if checked else 1):  # the residual is solved for again, since MINRES ends early
        found = found + minres(operator, rest, M=near, rtol=EXACT, maxiter=MOST)[0]
        rest = b.ravel() - image(found)
        left = float(np.linalg.norm(rest) / np.linalg.norm(b))
        if left <= FINE:
            break
    if checked and not left <= ACCURATE:
        raise SolverError(
            f"the Hessian is singular beyond rotations, or nearly (residual {left:.1e}): the optimal kernel "
            "is not unique or changes its rank here, or some points are hardly held"
        )
    return horizontal(found.reshape(W.shape))


def _kinks(problem: Statement, V: Array) -> int:
    """The number of values at a jump of the second derivative of their loss."""
    count = 0
    for term, z in zip(problem.losses, problem.values(V), strict=True):
        reach = KINK * (np.abs(z) + np.abs(term.target) + problem.kernel_unit)
        beside = [term.loss.second_derivative(z + sign * reach, term.target) for sign in (-1, 1)]
        count += int(np.sum(beside[0] != beside[1]))
    return count

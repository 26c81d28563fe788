"""Minimum volume embedding: steps of `mve` until its own objective no longer falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from npkl_models.answer.solution import Solution
from npkl_models.applications.clustering import principal
from npkl_models.applications.embedding import coordinates, held, scree
from npkl_models.applications.refine import row_differences, row_squares
from npkl_models.errors import ProblemError, SolverError
from npkl_models.formulations import mve
from npkl_models.formulations.volume import turned
from npkl_models.linalg import Array
from npkl_models.problem import Problem
from npkl_models.routes import get_backend


@dataclass(frozen=True)
class VolumeRun:
    """The result of the steps of `minimum_volume`.

    Attributes
    ----------
    solution : Solution
        The solution of the best step.
    size : int
        Dimension d of the embedding.
    objectives : ndarray of shape (k,)
        Objective of each step's kernel, by `volume_objective`; never increasing.
    held : ndarray of shape (k,)
        Share of the first d eigenvalues in the trace of each step's centred kernel.
    settled : bool
        Whether the last step gained less than the tolerance. False if the number of steps was the limit.
    """

    solution: Solution
    size: int
    objectives: Array
    held: Array
    settled: bool

    @property
    def coordinates(self) -> Array:
        """The coordinates of the points along the first d eigenvectors (n x d)."""
        return coordinates(self.solution, self.size)


def volume_objective(problem: Problem, V: Array, size: int) -> float:
    """The sum of all other eigenvalues, minus the sum of the first d, plus the losses of the distances.

    This is the minimum of the objective of `mve` over all directions, whatever those of ``problem``.
    """
    values = scree(V)
    losses = sum(term.value(z) for term, z in zip(problem.losses, problem.values(V), strict=True))
    return float(values[size:].sum() - values[:size].sum()) + losses


def minimum_volume(
    X: Any, size: int = 2, *, max_steps: int = 30, tol: float = 1e-4, backend: str = "auto",
    options: dict[str, Any] | None = None, **formulation: Any,
) -> VolumeRun:  # fmt: skip
    """Minimum volume embedding: steps of `mve`, each along the leading eigenvectors of the last kernel.

    The sum of the d largest eigenvalues is the maximum of tr(P K) over all projectors P of rank d. So each
    step minimises a function that lies above the objective and touches it at the last kernel, and the
    objective cannot rise by more than the gap of the step (Shaw & Jebara, AISTATS 2007, theorem 1).
    Where all distances have a loss, L-BFGS first lowers the objective of the factor from one step to the
    next, which saves most of the steps.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    size : int
        Dimension d of the embedding.
    max_steps, tol : int and float
        Largest number of steps; they end once one lowers the objective by less than the share ``tol``.
    backend, options
        As in `Problem.solve`.
    **formulation
        Further arguments of `mve`: n_neighbors, C, trace_bound, metric, components, and first directions.

    Raises
    ------
    SolverError
        If the first step has no kernel.
    """
    if not (max_steps >= 1 and tol > 0):
        raise ProblemError(f"max_steps must be >= 1 and tol > 0, got {max_steps!r} and {tol!r}")
    given, best = dict(options or {}), None
    warm = backend != "auto" and "start" in get_backend(backend).option_names
    objectives: list[float] = []
    shares: list[float] = []
    settled, aim = False, np.inf
    problem = mve(X, size, **formulation)
    smooth = problem.losses == problem.terms and problem.regularizer.spectral is None
    while len(objectives) < max_steps:
        solution = problem.solve(backend, **given)
        if solution.V is None:
            if best is None:
                raise SolverError(f"no kernel: {solution.status} - {solution.status.value}")
            break
        V = np.asarray(solution.V)
        value = volume_objective(problem, V, size)
        settled = abs(aim - value) <= tol * problem.size(value)
        if objectives and objectives[-1] < value:  # the gap of the step is larger than the possible gain
            break
        best = solution
        objectives.append(value)
        shares.append(held(V, size))
        if settled:
            break
        if smooth:
            V = _descended(problem, V, size)
        aim = volume_objective(problem, V, size)
        problem = turned(problem, _leading(V, size))
        if warm:
            given["start"] = solution
    assert best is not None
    return VolumeRun(best, size, np.array(objectives), np.array(shares), settled)


def _descended(problem: Problem, V: Array, size: int) -> Array:
    """A factor of lower objective, by L-BFGS; the first columns stand for the first eigenvectors (Ky Fan)."""
    V = principal(V - V.mean(axis=0))
    sign = np.repeat([-2.0, 2.0], [size, V.shape[1]])[: V.shape[1]]
    ends = [term.functional.indices for term in problem.losses]
    apart = [row_differences(one[0], one[1], problem.n) for one in ends]
    parts = [(term, E, E.T.tocsr()) for term, E in zip(problem.losses, apart, strict=True)]

    def value(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(V.shape)  # centred, as its start and all slopes
        slope = sign * W
        total = float(np.vdot(W, slope)) / 2
        for term, E, back in parts:
            D = E @ W
            z = row_squares(D)
            total += term.value(z)
            slope += back @ (2 * term.derivative(z)[:, None] * D)
        return total, (slope - slope.mean(axis=0)).ravel()

    found = minimize(value, V.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 1_000, "ftol": 3e-9})
    return np.asarray(found.x).reshape(V.shape)


def _leading(V: Array, size: int) -> Array:
    """The first eigenvectors of the centred kernel; beyond its rank, any other centred directions."""
    U, _, _ = np.linalg.svd(V - V.mean(axis=0), full_matrices=V.shape[1] <= size)
    centred = U - U.mean(axis=0)
    return np.linalg.qr(centred[:, : size + 1])[0][:, :size]

"""Minimum volume embedding: steps of `mve` until its own objective no longer falls.

Examples
--------
>>> import numpy as np
>>> from npkl_models.applications.volume import minimum_volume
>>> angle = np.linspace(0.0, 4.0, 12)
>>> X = np.column_stack([np.cos(angle), np.sin(angle)])
>>> run = minimum_volume(X, 1, n_neighbors=2, C=100.0)
>>> run.settled, bool(np.all(np.diff(run.objectives) <= 0))
(True, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.applications.embedding import coordinates, held, scree
from npkl_models.errors import ProblemError, SolverError
from npkl_models.formulations import mve
from npkl_models.formulations.volume import along, turned
from npkl_models.linalg import Array, dense
from npkl_models.model.graph import check_points
from npkl_models.problem import Problem
from npkl_models.routes import get_backend


@dataclass(frozen=True)
class VolumeRun:
    """The steps of a minimum volume embedding.

    Attributes
    ----------
    solution : Solution
        Of the best step.
    size : int
        d.
    objectives : ndarray of shape (k,)
        Of the kernels, by `volume_objective`, or `printed_objective`: they do not rise.
    held : ndarray of shape (k,)
        The share of the trace of each that its first d eigenvalues hold.
    settled : bool
        Whether the last step gained less than the tolerance, and not the steps ran out.

    Examples
    --------
    >>> from npkl_models.applications.volume import minimum_volume
    >>> minimum_volume([[0.0], [1.0], [2.0], [3.5]], 1, n_neighbors=1).coordinates.shape
    (4, 1)
    """

    solution: Solution
    size: int
    objectives: Array
    held: Array
    settled: bool

    @property
    def coordinates(self) -> Array:
        """The points along the first d eigenvectors (n x d)."""
        return coordinates(self.solution, self.size)


def volume_objective(problem: Problem, V: Array, size: int) -> float:
    """The other eigenvalues less the first d of them, and what the distances and the bound cost.

    The least over all directions of what `mve` minimises; a problem of any directions will do.
    """
    values = scree(V)
    losses = sum(term.value(z) for term, z in zip(problem.terms, problem.values(V), strict=True))
    return float(values[size:].sum() - values[:size].sum()) + losses


def printed_objective(problem: Problem, V: Array) -> float:
    """- tr(K^2) / 2 and what the distances cost: what the steps of ``printed`` make fall."""
    losses = sum(term.value(z) for term, z in zip(problem.terms, problem.values(V), strict=True))
    return losses - 0.5 * float(np.sum((V.T @ V) ** 2))


def minimum_volume(
    X: Any, size: int = 2, *, max_steps: int = 30, tol: float = 1e-4, backend: str = "auto",
    options: dict[str, Any] | None = None, printed: bool = False, **formulation: Any,
) -> VolumeRun:  # fmt: skip
    """Steps of `mve`, each along the leading eigenvectors of the last kernel.

    The sum of the d largest eigenvalues is the largest tr(P K) of all projectors P of rank d: each step
    minimises a function that lies above the objective and touches it at the last kernel, so that the
    objective cannot rise by more than the gap of the step (majorisation; Shaw & Jebara, AISTATS 2007,
    theorem 1).

    With ``printed`` each step minimises - tr(K K0), K0 the last kernel itself and at first that of the points
    (Zhuang, Tsang & Hoi, JMLR 12, 2011, eq. (32)). That function lies above - tr(K^2) / 2 but for a constant
    and touches it at the last kernel: the steps make tr K^2 grow, whatever d is.

    Parameters
    ----------
    X : array_like of shape (n, d)
    size : int
        d, the dimension that is wanted.
    max_steps : int
    tol : float
        A step that gains less than this share of the objective is the last.
    backend : str
    options : dict, optional
        Of `Problem.solve`.
    printed : bool
        K0 as it is printed; with exact distances or a bound, without which tr K^2 grows for ever.
    **formulation
        Further arguments of `mve`: n_neighbors, C, bound, metric, components; ``directions`` are those of the
        first step.

    Returns
    -------
    VolumeRun

    Raises
    ------
    ProblemError
        For ``max_steps`` below 1, a ``tol`` that is not positive, or ``printed`` without C = inf or a bound.
    SolverError
        If the first step has no kernel.
    """
    if not (max_steps >= 1 and tol > 0):
        raise ProblemError(f"max_steps must be >= 1 and tol > 0, got {max_steps!r} and {tol!r}")
    given, best = dict(options or {}), None
    warm = backend != "auto" and "start" in get_backend(backend).option_names
    objectives: list[float] = []
    shares: list[float] = []
    settled = False
    problem = _first_step(X, size, printed, formulation)
    while len(objectives) < max_steps and not settled:
        solution = problem.solve(backend, **given)
        if solution.V is None:
            if best is None:
                raise SolverError(f"no kernel: {solution.status} - {solution.status.value}")
            break
        V = np.asarray(solution.V)
        value = printed_objective(problem, V) if printed else volume_objective(problem, V, size)
        fall = objectives[-1] - value if objectives else np.inf
        settled = fall <= tol * problem.size(value)
        if fall < 0:  # the gap of the step is larger than what there was to gain
            break
        best = solution
        objectives.append(value)
        shares.append(held(V, size))
        problem = along(problem, V) if printed else turned(problem, _leading(V, size))
        if warm:
            given["start"] = solution
    assert best is not None
    return VolumeRun(best, size, np.array(objectives), np.array(shares), settled)


def _first_step(X: Any, size: int, printed: bool, formulation: dict[str, Any]) -> Problem:
    """Along the principal components of the points, or along their kernel."""
    problem = mve(X, size, **formulation)
    if not printed:
        return problem
    if not (formulation.get("C") == np.inf or formulation.get("bound") is not None):
        raise ProblemError("printed=True needs C=numpy.inf or a bound: else tr K^2 grows without end")
    return along(problem, dense(check_points(X)))


def _leading(V: Array, size: int) -> Array:
    """The first eigenvectors of the centred kernel; where its rank ends any others."""
    U, _, _ = np.linalg.svd(V - V.mean(axis=0), full_matrices=V.shape[1] <= size)
    centred = U - U.mean(axis=0)
    return np.linalg.qr(centred[:, : size + 1])[0][:, :size]

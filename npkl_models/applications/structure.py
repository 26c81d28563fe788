"""Structure preserving embedding of a graph, with triplets that are added round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.answer.solution import Solution
from npkl_models.applications.embedding import coordinates
from npkl_models.certificates.certificate import relative_gap
from npkl_models.errors import ProblemError, SolverError
from npkl_models.formulations import spe
from npkl_models.formulations.structure import checked_graph, first_triplets
from npkl_models.linalg import Array, Index, Matrix

IDLE = 1e-9  # a triplet is kept if its multiplier exceeds this share of the weight


@dataclass(frozen=True)
class StructureRun:
    """The result of the rounds of `structure_preserving`.

    Attributes
    ----------
    solution : Solution
        The solution of the best round's problem, which has only ``triplets`` as constraints.
    triplets : ndarray of int, shape (m, 3)
        Triplets (i, k, j) of the best round.
    objective, bound : float
        Upper and certified lower bound on the optimum of the problem with all triplets: the best kernel's
        objective with the slack that all triplets need, and the largest bound of all rounds.
    slack : float
        The largest D_ik - D_ij of all triplets at the best round's kernel; zero if none is positive.
    rounds : int
        Number of rounds.
    settled : bool
        Whether the relative gap between ``objective`` and ``bound`` is at most the tolerance.
    """

    solution: Solution
    triplets: Index
    objective: float
    bound: float
    slack: float
    rounds: int
    settled: bool

    @property
    def relative_gap(self) -> float:
        """The relative gap of the problem with all triplets."""
        return relative_gap(self.objective, self.bound, self.solution.certificate.faint)

    def coordinates(self, size: int = 2) -> Array:
        """The coordinates of the points along the first eigenvectors (n x size)."""
        return coordinates(self.solution, size)


def most_violated(V: Array, graph: Matrix) -> tuple[Index, Array]:
    """For each point i its worst triplet (i, k, j): k is its farthest neighbour, j its nearest other point.

    Of a factor (n x r) and a graph (sparse, n x n). The triplets (m x 3) are those of points with both
    neighbours and other points; the values (m,) are the differences D_ik - D_ij of squared distances.
    """
    from sklearn.metrics import pairwise_distances_chunked

    found, values, graph, start = [], [], checked_graph(graph), 0
    for D in pairwise_distances_chunked(V, squared=True, working_memory=64):
        own = np.arange(start, start + len(D))
        start += len(D)
        near = sp.csr_array(graph[own]).toarray() > 0
        far = ~near
        far[np.arange(own.size), own] = False
        both = near.any(axis=1) & far.any(axis=1)
        k = np.where(near, D, -np.inf).argmax(axis=1)
        j = np.where(far, D, np.inf).argmin(axis=1)
        rows = np.arange(own.size)
        found.append(np.stack([own, k, j], axis=1)[both])
        values.append((D[rows, k] - D[rows, j])[both])
    return np.concatenate(found).astype(np.intp), np.concatenate(values)


def structure_preserving(
    W: Any, *, C: float = 1.0, trace_bound: float | None = None, centred: bool = True, max_rounds: int = 100,
    tol: float = 1e-4, backend: str = "simple_npkl", options: dict[str, Any] | None = None,
) -> StructureRun:  # fmt: skip
    """Structure preserving embedding with all triplets, of which only a few are ever built (cutting planes).

    Each round solves `spe` with the current triplets and keeps those with a positive multiplier. It then
    adds the most violated triplet of each point, if it is violated by more than the slack.
    Dropped triplets have no multiplier, so the bounds of the rounds do not fall, apart from the gaps of the
    solves. Shaw & Jebara, ICML 2009; cutting planes by Kelley 1960.

    Parameters
    ----------
    W : array_like or sparse of shape (n, n)
        The graph.
    C, trace_bound, centred
        Weight of the slack, bound on tr K^2, and centring, as in `spe`.
    max_rounds, tol : int and float
        Largest number of rounds, and relative gap of the problem with all triplets that ends them.
    backend, options
        Solver, which must support `spe`, and further options, as in `Problem.solve`.

    Raises
    ------
    ProblemError
        If ``max_rounds`` is below 1 or ``tol`` is not positive.
    SolverError
        If a round has no kernel.
    """
    if not (max_rounds >= 1 and tol > 0):
        raise ProblemError(f"max_rounds must be >= 1 and tol > 0, got {max_rounds!r} and {tol!r}")
    graph = checked_graph(W)
    triplets, lower, best = first_triplets(graph), -np.inf, np.inf
    kept: tuple[Solution, Index, float] | None = None
    rounds = 0
    while rounds < max_rounds:
        rounds += 1
        problem = spe(graph, triplets, C=C, trace_bound=trace_bound, centred=centred)
        solution = problem.solve(backend, **({"tol": 0.1 * tol} | (options or {})))
        if solution.V is None:
            raise SolverError(f"no kernel: {solution.status} - {solution.status.value}")
        V, certificate = np.asarray(solution.V), solution.certificate
        worst, values = most_violated(V, graph)
        slack, known = (max(0.0, float(np.max(z))) for z in (values, problem.values(V)[0]))
        upper, lower = problem.objective_of_factor(V) + C * (slack - known), max(lower, certificate.bound)
        if kept is None or upper < best:
            kept, best = (solution, triplets, slack), upper
        more = values > known
        if relative_gap(best, lower, problem.size()) <= tol or not more.any():
            break
        held = certificate.multipliers.losses[0] > IDLE * C
        triplets = np.unique(np.concatenate([triplets[held], worst[more]]), axis=0)
    assert kept is not None
    return StructureRun(
        *kept[:2], best, lower, kept[2], rounds, relative_gap(best, lower, problem.size()) <= tol
    )

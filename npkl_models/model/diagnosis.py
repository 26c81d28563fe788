"""What may be wrong with a problem before it is solved, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index
from npkl_models.model.colouring import of_pairs
from npkl_models.model.functionals import Entries
from npkl_models.model.mistakes import (
    ROUNDED,
    Finding,
    compares,
    joined_by_distances,
    measures,
    of_comparisons,
    of_distances,
    unjoined,
)
from npkl_models.model.pairs import Pairs, components
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import min_eigenvalue

OWN = ((measures, of_distances), (compares, of_comparisons))
SCALE_RATIO = 1e6


def diagnose(problem: Statement | Pairs, n_clusters: int | None = None) -> tuple[Finding, ...]:
    """Find contradictions, disconnected graphs, unboundedness and bad scaling; an empty tuple means none."""
    if isinstance(problem, Pairs):
        return tuple(of_pairs(problem, n_clusters))
    own = next(((check,) for applies, check in OWN if applies(problem)), None)
    checks = own or (_contradictions, _disconnection)
    return tuple(found for check in (*checks, _unboundedness, _scaling) for found in check(problem))


def diagonal_weight(problem: Statement) -> Array:
    """Per point, the total weight of losses on K_ii that grow quadratically."""
    total = np.zeros(problem.n)
    for term in problem.losses:
        if isinstance(term.functional, Entries) and term.loss.quadratic and term.loss.curvature > 0:
            i, j = term.functional.indices
            np.add.at(total, i[i == j], term.weight[i == j])
    return total


def _contradictions(problem: Statement) -> Iterator[Finding]:
    for term in problem.losses:
        if not isinstance(term.functional, Entries):
            continue
        i, j = term.functional.indices
        pairs, high = np.stack([i, j], axis=1)[i != j], term.target[i != j] > 0
        must, cannot = pairs[high], pairs[~high]
        label = components(problem.n, must)[1]
        bad = cannot[label[cannot[:, 0]] == label[cannot[:, 1]]]
        if len(bad):
            yield Finding(
                "contradiction",
                f"{len(bad)} cannot-links of {term.name} join points that a chain of must-links "
                f"also joins, for example {bad[:3].tolist()}",
            )


def _disconnection(problem: Statement) -> Iterator[Finding]:
    graph = sp.coo_array(problem.cost)
    off = graph.row != graph.col
    edges = np.stack([graph.row[off], graph.col[off]], axis=1)
    count, label = components(problem.n, edges)
    flat = _singular(problem, count, label)
    if flat:
        yield Finding(
            "disconnection",
            f"the graph of the cost matrix falls into {count} components, and the matrix is singular on "
            f"{flat} of them; its null space has at least dimension {flat}",
        )
    lonely = _reached_by_nothing(problem, edges)
    if lonely:
        yield Finding(
            "isolation",
            f"{lonely} points are reached by no loss term and no constraint, not even through the "
            "graph; their part of the kernel is not determined by the data",
        )


def _singular(problem: Statement, count: int, label: Index) -> int:
    """The number of components on which the smallest eigenvalue of the cost matrix is zero up to rounding."""
    C = sp.csr_array(problem.cost)
    tiny = ROUNDED * float(abs(C).max() or 1.0)
    if count == 1 or min_eigenvalue(C).estimate > tiny:
        return 0
    sizes = np.bincount(label, minlength=count)
    alone = sizes[label] == 1
    found = int(np.sum(np.abs(C.diagonal()[alone]) <= tiny))
    for k in np.flatnonzero(sizes > 1):
        own = np.flatnonzero(label == k)
        found += abs(min_eigenvalue(sp.csr_array(C[own][:, own])).estimate) <= tiny
    return int(found)


def _reached_by_nothing(problem: Statement, edges: Index) -> int:
    """The number of points that nothing reaches; points that share a column of a basis reach each other."""
    reach = [part.functional.triplets() for part in problem.terms]
    every, order = [edges, *(np.stack([t.row, t.column], axis=1) for t in reach)], problem.n
    if problem.basis is not None:
        Q = sp.coo_array(problem.basis.Q)
        every.append(np.stack([Q.row, problem.n + Q.col], axis=1))
        order += problem.basis.size
    count, label = components(order, np.concatenate(every))
    touched = np.zeros(count, dtype=bool)
    for t in reach:
        touched[label[t.row]] = True
    return int(np.sum(~touched[label[: problem.n]]))


def _unboundedness(problem: Statement) -> Iterator[Finding]:
    if problem.regularizer.finite_support or problem.constraints:
        return
    if bool(np.all(diagonal_weight(problem) > 0)):
        return
    if measures(problem):  # of centred points: squares outgrow a penalty
        ends = joined_by_distances(problem.losses, steep=problem.cost.nnz > 0)
        if not unjoined(ends, np.zeros(0, dtype=np.intp), problem.n).size:
            return
    S, open_below = problem.cost, [term for term in problem.losses if not term.loss.nonnegative]
    for term in open_below:
        S = S + term.functional.adjoint(term.derivative(np.zeros(term.functional.size)))
    found = min_eigenvalue(problem.restrict(S))
    level = found.estimate + problem.regularizer.shift
    if level < -1e-10 * (1 + abs(found.estimate)):
        cause = f"the {open_below[0].loss.name} loss" if open_below else "the cost matrix"
        yield Finding(
            "unboundedness",
            f"{cause} may push the objective to minus infinity: the part that grows linearly has "
            f"the eigenvalue {found.estimate:.3g} < 0 and no regulariser bounds K; add a bound",
        )
    elif level < 1e-10 and problem.regularizer.vacuous:
        yield Finding(
            "unboundedness",
            "the cost matrix is singular and nothing bounds the trace: the optimum may be "
            "attained only at infinity; use laplacian(..., shift=delta) with delta > 0",
        )


def _scaling(problem: Statement) -> Iterator[Finding]:
    weights = np.concatenate([term.weight for term in problem.losses]) if problem.losses else np.ones(1)
    size = float(abs(problem.cost).max()) or 1.0
    low, high = min(weights.min(), size), max(weights.max(), size)
    if high / low > SCALE_RATIO:
        yield Finding(
            "scaling",
            f"weights {weights.min():.2g} to {weights.max():.2g} against cost entries up to {size:.2g} "
            f"span a factor of {high / low:.1g}; conic solvers lose digits beyond {SCALE_RATIO:.0g}",
        )

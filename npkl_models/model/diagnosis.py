"""What may be wrong with a problem before it is solved, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from npkl_models.linalg import Array, Index
from npkl_models.model.functionals import Entries
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.bounds import min_eigenvalue

SCALE_RATIO = 1e6


@dataclass(frozen=True)
class Finding:
    """One finding: its kind and a sentence."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def diagnose(problem: Statement) -> tuple[Finding, ...]:
    """Contradictions, disconnection, unboundedness and bad scaling.

    An empty answer means that none of these was found.
    """
    checks = (_contradictions, _disconnection, _unboundedness, _scaling)
    return tuple(finding for check in checks for finding in check(problem))


def diagonal_weight(problem: Statement) -> Array:
    """Per point, the total weight of losses on K_ii that grow quadratically."""
    total = np.zeros(problem.n)
    for term in problem.terms:
        if isinstance(term.functional, Entries) and term.loss.quadratic and term.loss.curvature > 0:
            i, j = term.functional.indices
            np.add.at(total, i[i == j], term.weight[i == j])
    return total


def _links(term: LossTerm) -> tuple[Index, Index]:
    """Must- and cannot-link index pairs of a term on entries (targets high and low)."""
    i, j = term.functional.indices[:2]
    off = i != j
    pairs = np.stack([i[off], j[off]], axis=1)
    high = term.target[off] > 0
    return pairs[high], pairs[~high]


def _contradictions(problem: Statement) -> list[Finding]:
    out = []
    for term in problem.terms:
        if not isinstance(term.functional, Entries):
            continue
        must, cannot = _links(term)
        if not len(must) or not len(cannot):
            continue
        label = components(problem.n, must)[1]
        bad = cannot[label[cannot[:, 0]] == label[cannot[:, 1]]]
        if len(bad):
            out.append(
                Finding(
                    "contradiction",
                    f"{len(bad)} cannot-links of {term.name} join points that a chain of must-links "
                    f"also joins, for example {bad[:3].tolist()}",
                )
            )
    return out


def _disconnection(problem: Statement) -> list[Finding]:
    out = []
    graph = sp.coo_array(problem.cost)
    off = graph.row != graph.col
    edges = [np.stack([graph.row[off], graph.col[off]], axis=1)]
    count, _ = components(problem.n, edges[0])
    if count > 1:
        out.append(
            Finding(
                "disconnection",
                f"the graph of the cost matrix falls into {count} components; its null space has at "
                "least that dimension if it is a Laplacian",
            )
        )
    lonely = _reached_by_nothing(problem, edges)
    if lonely:
        out.append(
            Finding(
                "isolation",
                f"{lonely} points are reached by no loss term and no constraint, not even through the "
                "graph; their part of the kernel is not determined by the data",
            )
        )
    return out


def _reached_by_nothing(problem: Statement, edges: list[Array]) -> int:
    """The number of points; those that share a column of a basis reach each other."""
    reach = [part.functional.triplets() for part in problem.parts]
    edges = edges + [np.stack([t.row, t.column], axis=1) for t in reach]
    order = problem.n
    if problem.basis is not None:
        Q = sp.coo_array(problem.basis.Q)
        edges.append(np.stack([Q.row, problem.n + Q.col], axis=1))
        order += problem.basis.size
    ends = tuple(np.concatenate(edges).T)
    union = sp.coo_array((np.ones(ends[0].size), ends), shape=(order, order))
    label = connected_components(union, directed=False)[1]
    touched = np.zeros(label.max() + 1, dtype=bool)
    for t in reach:
        touched[label[t.row]] = True
    return int(np.sum(~touched[label[: problem.n]]))


def _unboundedness(problem: Statement) -> list[Finding]:
    confined = problem.regularizer.finite_support or problem.regularizer.row_multipliers
    if confined or problem.equalities:
        return []
    open_below = [term for term in problem.terms if not term.loss.nonnegative]
    if bool(np.all(diagonal_weight(problem) > 0)):
        return []
    S = problem.cost
    for term in open_below:
        S = S + term.functional.adjoint(term.derivative(np.zeros(term.functional.size)))
    found = min_eigenvalue(problem.restrict(S))
    shift = problem.regularizer.shift
    if found.estimate + shift < -1e-10 * (1 + abs(found.estimate)):
        cause = f"the {open_below[0].loss.name} loss" if open_below else "the cost matrix"
        return [
            Finding(
                "unboundedness",
                f"{cause} may push the objective to minus infinity: the part that grows linearly has "
                f"the eigenvalue {found.estimate:.3g} < 0 and no regulariser bounds K; add a bound",
            )
        ]
    if found.estimate + shift < 1e-10 and problem.regularizer.vacuous:
        return [
            Finding(
                "unboundedness",
                "the cost matrix is singular and nothing bounds the trace: the optimum may be "
                "attained only at infinity; use laplacian(..., shift=delta) with delta > 0",
            )
        ]
    return []


def _scaling(problem: Statement) -> list[Finding]:
    weights = np.concatenate([term.weight for term in problem.terms]) if problem.terms else np.ones(1)
    size = float(abs(problem.cost).max()) or 1.0
    low, high = min(weights.min(), size), max(weights.max(), size)
    if high / low <= SCALE_RATIO:
        return []
    return [
        Finding(
            "scaling",
            f"weights {weights.min():.2g} to {weights.max():.2g} against cost entries up to {size:.2g} "
            f"span a factor of {high / low:.1g}; conic solvers lose digits beyond {SCALE_RATIO:.0g}",
        )
    ]

"""Problems that do not see where the points are: distances alone, over a cost whose rows sum to zero.

Every slack then maps the constant vector to zero, and no dual point is strictly feasible. But K and its
centred kernel HKH, H = I - 11'/n, have the same objective: a bound over centred kernels is one for all. The
same holds for each part of the points that no cost and no value joins to others, a point alone among them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag

from npkl_models.certify.bounds import Demand, Dual, bound_from
from npkl_models.linalg import Array, gamma
from npkl_models.model import rounding
from npkl_models.model.basis import Basis
from npkl_models.model.conjugates import projected
from npkl_models.model.functionals import DistanceDifferences, SquaredDistances
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.presolve.faces import complement

MOST = 1_000  # points for which a dense basis of centred kernels is made
PLACED = "centred kernels"  # the name of the repair


def bound_of_centred(
    problem: Statement, y: Multipliers, V: Array, upper: float, demand: Demand
) -> Dual | None:
    """The bound over kernels centred in each part that is blind to its place; None where none is."""
    blind = _centred(problem)
    if blind is None:
        return None
    Q, off = blind
    y = projected(problem, y)
    size = float(np.max(rounding.slack_sizes(problem, y, y.equalities)))
    lowered = 4 * off * size  # what a range that is rounded may cost the slack; more than a unit of C
    if not np.isfinite(lowered):
        return None
    centred = replace(problem, cost=problem.cost - lowered * sp.eye_array(problem.n), basis=Q)
    W = centred.lift(centred.drop(V))
    dual = bound_from(centred, y, W, centred.objective_of_factor(W), upper, demand)
    if not np.isfinite(dual.bound):
        return None
    found = replace(dual.found, vector=Q.Q @ dual.found.vector, raised=None, directions=None)
    return replace(dual, repair=f"{PLACED} ({dual.repair})", found=found)


def _centred(problem: Statement) -> tuple[Basis, float] | None:
    """A basis of those kernels, block by block, and by how much its columns may miss being centred.

    None where no part is blind, or the basis would be too large.
    """
    if not problem.regularizer.vacuous or problem.basis is not None or problem.n > MOST:
        return None
    parts = (*problem.terms, *problem.equalities)
    coo = problem.cost.tocoo()
    edges = [np.stack([coo.row, coo.col], axis=1)]
    seen = np.zeros(problem.n, dtype=bool)
    for part in parts:
        t = part.functional.triplets()
        first = np.zeros(part.functional.size, dtype=np.intp)
        first[t.owner] = t.row
        edges += [np.stack([first[t.owner], t.row], axis=1), np.stack([first[t.owner], t.column], axis=1)]
        if not isinstance(part.functional, (SquaredDistances, DistanceDifferences)):
            seen[t.row] = seen[t.column] = True
    rows = np.split(problem.cost.data, problem.cost.indptr[1:-1])
    seen |= np.array([math.fsum(row) != 0.0 for row in rows])
    count, label = components(problem.n, np.concatenate(edges).astype(np.intp))
    blind = np.bincount(label, weights=seen, minlength=count) == 0
    if not blind.any() or (blind.all() and problem.n == count):
        return None
    blocks, off = [], 0.0
    for k, size in enumerate(np.bincount(label, minlength=count).tolist()):
        block: Array = np.eye(size)
        if blind[k]:
            block = complement(size).dense if size > 1 else np.zeros((1, 0))
            off += float(np.linalg.norm(block.sum(axis=0)))
            off += gamma(size + 4) * float(np.linalg.norm(np.abs(block).sum(axis=0)))
        blocks.append(block)
    Q = np.zeros((problem.n, sum(block.shape[1] for block in blocks)))
    Q[np.argsort(label, kind="stable")] = block_diag(*blocks)
    return Basis(Q), off

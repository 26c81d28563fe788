"""Other bounds, for multipliers that give no bound or a poor one.

Anchored points: a bound for the anchored points alone is a bound for the whole problem.

Centred kernels: if all values are distances and the rows of the cost sum to zero, every slack maps the
constant vector to zero. No dual point is strictly feasible. But K and its centred kernel HKH, H = I - 11'/n,
have the same objective, so a bound over centred kernels is a bound over all kernels. The same holds for every
component, that is, for points that neither the cost nor a value joins to other points.

Signs: the slack is PSD because C is PSD and every matrix that is added to C is PSD.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag

from npkl_models.certify.bounds import CertifyOptions, Dual, bound_from
from npkl_models.certify.certificate import CERTIFIED
from npkl_models.feasibility.anchored import split
from npkl_models.feasibility.faces import complement
from npkl_models.linalg import Array, gamma
from npkl_models.model import rounding
from npkl_models.model.basis import Basis
from npkl_models.model.conjugates import projected
from npkl_models.model.facts import cost_floor
from npkl_models.model.functionals import DISTANCES, squares
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import CHEAP_CHOLESKY, DENSE_EIGH

ANCHORED, PLACED = "anchored points", "centred kernels"  # names of repairs


def ways(problem: Statement, demand: CertifyOptions) -> int:
    """How many ways to a bound a certificate may try, each with randomised runs of its own."""
    if demand.quick:
        return 1
    return 1 + (split(problem) is not None) + _small_enough(problem)


def bound_of_anchored(problem: Statement, y: Multipliers, V: Array, demand: CertifyOptions) -> Dual | None:
    """The bound from the multipliers of the anchored points alone; None if all points are anchored."""
    parts = split(problem)
    if parts is None:
        return None
    inside, zero = parts.problem, problem.no_multipliers
    moved = any((a != b).any() for a, b in zip(projected(problem, zero).terms, zero.terms, strict=True))
    if inside is None or moved:
        return None
    W = V[parts.anchored]
    objective = inside.objective_of_factor(W)
    upper = objective + rounding.objective(inside, W, objective)
    dual = bound_from(inside, parts.fold(y), W, objective, upper, demand)
    if not np.isfinite(dual.bound):
        return None
    vector = np.zeros(problem.n)
    vector[parts.anchored] = dual.found.vector
    y, owed = parts.unfold(dual.y), -rounding.paid(inside, dual.y)
    lost = max(owed - dual.bound, 0.0) + gamma(4) * (abs(owed) + abs(dual.bound))  # a trace bound may cost it
    bound = -rounding.paid(problem, y) - lost
    found = replace(dual.found, vector=vector, raised=None)
    return Dual(bound, dual.rigour, f"{ANCHORED} ({dual.repair})", y, found, dual.level)


def bound_of_centred(
    problem: Statement, y: Multipliers, V: Array, upper: float, demand: CertifyOptions
) -> Dual | None:
    """The bound over kernels centred in each component that may be translated; None if none may be."""
    blind = _centred(problem)
    if blind is None:
        return None
    Q, off = blind
    y = projected(problem, y)
    size = float(np.max(rounding.slack_sizes(problem, y)[0]))
    lowered = 4 * off * size  # more than rounding in the basis may change the slack
    if not np.isfinite(lowered):
        return None
    centred = replace(problem, cost=problem.cost - lowered * sp.eye_array(problem.n), basis=Q)
    W = centred.lift(centred.drop(V))
    dual = bound_from(centred, y, W, centred.objective_of_factor(W), upper, demand)
    if not np.isfinite(dual.bound):
        return None
    found = replace(dual.found, vector=Q.Q @ dual.found.vector, raised=None)
    return replace(dual, repair=f"{PLACED} ({dual.repair})", found=found)


def _small_enough(problem: Statement) -> bool:
    return problem.regularizer.vacuous and problem.basis is None and problem.n <= CHEAP_CHOLESKY


def _centred(problem: Statement) -> tuple[Basis, float] | None:
    """A basis of the kernels of `bound_of_centred`, and a bound on how far its columns are from centred."""
    if not _small_enough(problem):
        return None
    coo = problem.cost.tocoo()
    edges = [np.stack([coo.row, coo.col], axis=1)]
    seen = np.zeros(problem.n, dtype=bool)
    for part in problem.terms:
        t = part.functional.triplets()
        first = np.zeros(part.functional.size, dtype=np.intp)
        first[t.owner] = t.row
        edges += [np.stack([first[t.owner], t.row], axis=1), np.stack([first[t.owner], t.column], axis=1)]
        if not isinstance(part.functional, DISTANCES):
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


def by_signs(problem: Statement, dual: Dual, objective: float, demand: CertifyOptions) -> Dual:
    """The bound of multipliers whose slack is PSD by its signs, if this bound is larger.

    C must be proved PSD. The positive multipliers of squares (K_ii, tr K, distances, 1'K1) are kept, and all
    other multipliers become zero. If no loss is negative, zero multipliers alone give the bound 0.
    """
    if not _worth(problem, dual, objective, demand) or cost_floor(problem) + problem.regularizer.shift < 0:
        return dual
    given, lower = dual.y, dual.bound < 0 or dual.rigour not in CERTIFIED
    if lower and all(term.loss.nonnegative for term in problem.losses):
        none = problem.no_multipliers
        dual = replace(dual, bound=0.0, rigour="proved", repair="no multipliers", y=none)
    pairs = zip(problem.terms, given.terms, strict=True)
    kept = (np.where(squares(part.functional) & (own > 0), own, 0.0) for part, own in pairs)
    y = problem.split_multipliers(kept)
    bound = -rounding.paid(problem, y)
    if not bound > dual.bound:
        return dual
    return replace(dual, bound=bound, rigour="proved", repair="positive multipliers", y=y)


def _worth(problem: Statement, dual: Dual, objective: float, demand: CertifyOptions) -> bool:
    """Whether a better bound is wanted, and the attempt is promising or cheap."""
    if dual.rigour in CERTIFIED and certifies(problem, objective, dual.bound, demand):
        return False
    nothing = objective <= demand.tol * problem.size(objective) or dual.bound == float("-inf")
    return nothing or (problem.order <= DENSE_EIGH and dual.rigour in CERTIFIED)


def certifies(problem: Statement, objective: float, bound: float, demand: CertifyOptions) -> bool:
    """Whether the bound is finite and the relative gap is within the tolerance."""
    return bound > -np.inf and objective - bound <= demand.tol * problem.size(objective, bound)

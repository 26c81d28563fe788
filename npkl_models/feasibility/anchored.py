"""The split into anchored points and others, in whose components no value bounds the kernel.

Without a shift each component of the graph has a null vector v > 0 of the Laplacian. Suppose that no
multiplier inside a component may grow with v'M_e v > 0 (must-links only, for example). Then v'S(y) v <= 0,
and no dual point is strictly feasible. S(y) >= 0 is still possible, but only with S(y) v = 0. So for each
outside point j, the crossing multipliers of j, whose values join j to the component, must cancel along v: the
sum of v_i times multiplier times sign is zero. If all of them pull the same way, each must be zero.

The split sets all multipliers of values that touch the component to zero. The slack there is the cost itself,
and a positive vector proves that the cost is PSD. The dual is then that of the anchored points alone, and its
bound is valid for the whole problem. The split loses nothing if the multipliers must be zero. If crossing
multipliers may cancel each other, the bound may be weaker than that of the whole problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from npkl_models.kernel import cost_floor
from npkl_models.linalg import DENSE_SPECTRUM, UNIT, Array, Index, Mask, Matrix, norm_bound
from npkl_models.model.diagnosis import diagonal_weight
from npkl_models.model.facts import fact
from npkl_models.model.functional import Functional
from npkl_models.model.multipliers import Multipliers, spread
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.perron import collatz, perron_vector

WEAK = (1e-12, 1e-15, 0.0)  # shares of the norm: smaller entries of the cost count as no edges, tried in turn
SINGULAR = 1e-9  # share of the norm: in a component with a larger floor, the cost bounds the kernel


class Parts(NamedTuple):
    """The parts of the whole problem that a split needs; a fact must not hold the problem itself."""

    n: int
    cost: Matrix
    losses: tuple[LossTerm, ...]
    name: str


@dataclass(frozen=True, eq=False)
class Split:
    """The anchored points, and the components of the other points."""

    whole: Parts  # the parts of the whole problem that the split needs
    anchored: Index  # the anchored points (h,)
    # components of the other points, each with a positive unit vector near the null vector of its cost
    cells: tuple[tuple[Index, Array], ...]
    # the cost of the anchored points, lowered by what the weak edges to the other points may cost (h x h)
    cost: Matrix

    @cached_property
    def kept(self) -> tuple[Mask, ...]:
        """For each term, a mask of the values that touch anchored points only."""
        others = np.ones(self.whole.n, dtype=bool)
        others[self.anchored] = False
        return tuple(~touching(term.functional, others) for term in self.whole.losses)

    @cached_property
    def problem(self) -> Statement | None:
        """The problem of the anchored points; None if it has no terms or fewer than two points."""
        place = np.full(self.whole.n, -1)
        place[self.anchored] = np.arange(self.anchored.size)
        own = [term.kept(mask) for term, mask in zip(self.whole.losses, self.kept, strict=True) if mask.any()]
        terms = [replace(term, functional=term.functional.over(self.anchored.size, place)) for term in own]
        return Statement(self.cost, terms, name=self.whole.name) if terms and self.anchored.size > 1 else None

    def fold(self, y: Multipliers) -> Multipliers:
        """Multipliers of the problem of the anchored points, from those of the whole problem."""
        pairs = zip(y.losses, self.kept, strict=True)
        return Multipliers(tuple(part[kept] for part, kept in pairs if kept.any()))

    def unfold(self, y: Multipliers | None) -> Multipliers:
        """Multipliers of the whole problem; those of values that touch other points are zero."""
        return Multipliers(spread(() if y is None else y.losses, self.kept))


@fact
@np.errstate(all="ignore")
def split(problem: Statement) -> Split | None:
    """The split into anchored points and others; None if all points are anchored, or without proof."""
    known = problem.regularizer.vacuous and problem.basis is None and not problem.constraints
    raised = bool((diagonal_weight(problem) > 0).all())  # a multiplier may grow at every point
    if not known or raised or any(term.functional.arity == 0 for term in problem.losses):
        return None
    size = norm_bound(problem.cost)
    small, ones = problem.n <= DENSE_SPECTRUM, np.ones(problem.n)
    if (cost_floor(problem) if small else collatz(problem.cost, ones)) > SINGULAR * size:
        return None  # no component is singular
    labels = np.zeros(0, dtype=np.intp)
    for weak in WEAK:
        before, labels = labels, _components(problem.cost, weak * size)
        if np.array_equal(labels, before):
            continue
        if not small and _growing(problem, labels, ones, 0.0).all():
            return None
        found = _checked(problem, _loose(problem, labels))
        if found is not None:
            return found
    return None


def _components(C: Matrix, weak: float) -> Index:
    coo = C.tocoo()
    strong = (np.abs(coo.data) > weak) & (coo.row != coo.col)
    return components(C.shape[0], np.stack([coo.row[strong], coo.col[strong]], axis=1))[1]


def _loose(problem: Statement, labels: Index) -> list[tuple[Index, Array]]:
    """Components with a singular cost in which no multiplier may grow along the null vector."""
    size = norm_bound(problem.cost)
    order = np.argsort(labels, kind="stable")
    cells, vectors = {}, np.zeros(problem.n)
    for k, points in enumerate(np.split(order, np.cumsum(np.bincount(labels))[:-1])):
        C = problem.cost[points][:, points]
        x = perron_vector(C)
        if x is not None and collatz(C, x) <= SINGULAR * size:
            cells[k], vectors[points] = (points, x), x
    held = _growing(problem, labels, vectors, SINGULAR)
    return [cell for k, cell in cells.items() if not held[k]]


def _growing(problem: Statement, labels: Index, x: Array, least: float) -> Mask:
    """Components with a value inside whose multiplier may move from zero such that x'S x grows."""
    out = np.zeros(labels.max() + 1, dtype=bool)
    for term in problem.losses:
        t = term.functional.incidence
        first = np.full(term.functional.size, -1)
        first[t.owner] = labels[t.row]
        whole = np.ones(term.functional.size, dtype=bool)
        whole[t.owner[(labels[t.row] != first[t.owner]) | (labels[t.column] != first[t.owner])]] = False
        pull = term.functional.value_of_factor(x[:, None])
        pull = np.where(np.abs(pull) > least, pull, 0.0)
        moved = term.loss.project(1e-3 * term.weight * np.sign(pull), term.target, term.weight)
        out[first[whole & (moved * pull > 0)]] = True
    return out


def _checked(problem: Statement, cells: list[tuple[Index, Array]]) -> Split | None:
    """The split, if the cost of the cells is proved PSD with a reserve for edges to the anchored points."""
    if not cells:
        return None
    points = np.concatenate([cell[0] for cell in cells])
    x = np.concatenate([cell[1] for cell in cells])
    held = np.setdiff1d(np.arange(problem.n), points)
    floor = collatz(problem.cost[points][:, points], x)
    weak = abs(problem.cost[points][:, held]) * (1 + 64 * UNIT)
    across = float(np.max(weak.sum(axis=1), initial=0.0)) * (1 + problem.n * UNIT)
    if floor < 0 or (across > 0 and floor == 0):
        return None
    share = min(1.0, 0.5 * floor / across) if across > 0 else 1.0
    lowered = np.asarray(weak.sum(axis=0)).ravel() / share
    C = problem.cost[held][:, held]
    lowered = np.where(lowered > 0, lowered * (1 + problem.n * UNIT) + 4 * UNIT * np.abs(C.diagonal()), 0.0)
    if np.max(lowered, initial=0.0) > SINGULAR * norm_bound(problem.cost):
        return None
    parts = Parts(problem.n, problem.cost, problem.losses, problem.name)
    return Split(parts, held, tuple(cells), sp.csr_array(C - sp.diags_array(lowered)))


def touching(functional: Functional, points: Mask) -> Mask:
    """Which values depend on one of some points (n,)."""
    t = functional.incidence
    return np.bincount(t.owner[points[t.row] | points[t.column]], minlength=functional.size) > 0

"""The sweeps of algorithm 1 of BCDKL: the rows in a new order each time, those of points with pairs first.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, algorithm 1, lines 5 to 11, and eqs. (19)-(22) and (26)-(28) for a
row of V whose losses have kinks. The dual of this row program is a quadratic program on a box. The source
uses a general solver for it; here coordinate ascent solves it. Eqs. (12)-(17) and (35)-(37) are about the
free rows: the rows of points that enter the cost alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU

from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Index, Mask, Matrix, symmetric_lu, without_diagonal
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.rows.sweeps import Sweeper
from npkl_models.lowrank.structure import Structure
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries
from npkl_models.model.statement import Statement

PASSES = 200
SETTLED = 1e-11  # largest change of a multiplier in the last pass
SMALLEST_PIVOT = 1e-12  # relative to the largest pivot


class RowPrograms(NamedTuple):
    """The rows of points that may be updated at once, each with k pairs (padded by ``valid`` = False)."""

    mu0: Array  # (b,)
    g: Array  # (b, r)
    P: Array  # (b, k, r)
    pairs: Index  # (b, k)
    valid: Mask  # (b, k)


class ShuffledSweeper(Sweeper):
    """Sweeps, each in a new order; row programs for losses with kinks.

    With ``alone``, a sweep updates the rows of points with pairs only; the caller updates the other rows.
    """

    def __init__(
        self, problem: Statement, pairs: Structure, model: EdgeModel, random_state: int | None, alone: bool
    ) -> None:
        super().__init__(problem, pairs, model)
        self.alone, self.labelled = alone, labelled(pairs)
        self.rng = np.random.default_rng(random_state)
        self.off = without_diagonal(problem.cost)
        self.graph = sp.csr_array(abs(self.off) + pairs.incidence.pattern())

    def run(self, V: Array) -> tuple[float, float]:
        order = self.rng.permutation(self.labelled.size)
        own = self.labelled[order]
        self.order = order[own] if self.alone else np.concatenate([order[own], order[~own]])
        if self.model.smooth:
            return super().run(V)
        for points in level_sets(self.graph, self.order):
            for table in self.held.tables(points):
                at = table.points
                rows = RowPrograms(
                    self.mu0[at], 2 * (self.off[at] @ V), V[table.neighbor], table.pair, table.valid
                )
                V[at] = minimise_rows_by_dual(rows, self.model)
        return 0.0, 0.0

    def __str__(self) -> str:
        return "rows in a new order each sweep"


def level_sets(graph: Matrix, order: Index) -> list[Index]:
    """Sets of points that may be updated at once, with the same result as updates in the order.

    A point comes as soon as all its neighbours that precede it in the order have come. Points that are not in
    the order are left out.
    """
    n = graph.shape[0]
    place = np.full(n, -1, dtype=np.intp)
    place[order] = np.arange(order.size)
    coo = graph.tocoo()
    row, col = coo.row, coo.col
    waits = (place[col] >= 0) & (place[col] < place[row])
    row, col = row[waits], col[waits]
    ahead = place >= 0
    out: list[Index] = []
    while ahead.any():
        held = np.zeros(n, dtype=bool)
        held[row] = True
        ready = np.flatnonzero(ahead & ~held)
        out.append(ready)
        ahead[ready] = False
        waiting = ahead[col]
        row, col = row[waiting], col[waiting]
    return out


def minimise_rows_by_dual(rows: RowPrograms, model: EdgeModel) -> Array:
    """Solve the row problem of losses with kinks, by coordinate ascent on the dual, eq. (22).

    With v(y) = -(g + P'y) / mu0, each multiplier has a closed form by the proximal map of its loss.
    """
    if not rows.pairs.shape[1]:
        return -rows.g / rows.mu0[:, None]
    y = np.zeros(rows.pairs.shape)
    norm = np.einsum("bkr,bkr->bk", rows.P, rows.P) / rows.mu0[:, None]
    v = -rows.g / rows.mu0[:, None]
    for _ in range(PASSES):
        largest = 0.0
        for k in range(rows.pairs.shape[1]):
            step = np.maximum(norm[:, k], 1e-300)
            z = np.einsum("br,br->b", rows.P[:, k], v)
            u = model.prox(z + step * y[:, k], step, rows.pairs[:, k])
            change = np.where(rows.valid[:, k], (z - u) / step, 0.0)
            y[:, k] += change
            v -= (change / rows.mu0)[:, None] * rows.P[:, k]
            largest = max(largest, float(np.max(np.abs(change), initial=0.0)))
        if largest <= SETTLED:
            break
    return v


def labelled(pairs: Structure) -> Mask:
    """Whether a point has a pair or a loss on its diagonal entry."""
    out = (pairs.linear != 0) | (pairs.quadratic != 0)
    out[pairs.i] = True
    out[pairs.j] = True
    return out


class FreeRows:
    """minimise <C, V V'> over the rows of the ``free`` points U, for given rows of the ``held`` points L."""

    def __init__(self, problem: Statement, pairs: Structure) -> None:
        of = labelled(pairs)
        self.held: Index = np.flatnonzero(of)
        self.free: Index = np.flatnonzero(~of)
        C = sp.csr_array(problem.cost)[self.free]
        self.across, self.among = sp.csr_array(C[:, self.held]), sp.csc_array(C[:, self.free])
        self.diagonal = self.among.diagonal()

    def step(self, V: Array) -> None:
        """One step of eq. (17), in place: every free row from the old free rows (Jacobi)."""
        pull = self.across @ V[self.held] + self.among @ V[self.free]
        V[self.free] -= pull / self.diagonal[:, None]

    def block(self, V: Array) -> None:
        """V_U = -C_UU^-1 C_UL V_L in place, the limit of eq. (17)."""
        if self.free.size:
            V[self.free] = self.solve(-(self.across @ V[self.held]))

    def solve(self, right: Array) -> Array:
        """C_UU^-1 applied to columns."""
        return self._factor.solve(np.asfortranarray(right))

    @cached_property
    def _factor(self) -> SuperLU:
        try:
            factor = symmetric_lu(self.among)
            pivots = factor.U.diagonal()
        except RuntimeError:
            pivots = np.zeros(1)
        if not pivots.min() > SMALLEST_PIVOT * np.abs(pivots).max():
            raise UnsupportedError(
                "the cost must be positive definite on the points without pairs, got a singular or "
                "indefinite block; give the Laplacian a shift"
            )
        return factor

    @cached_property
    def lift(self) -> Array:
        """-C_UU^-1 C_UL, dense (|U| x |L|): the rows of Q in eq. (37)."""
        if not self.free.size:
            return np.zeros((0, self.held.size))
        return self.solve(-self.across.toarray())

    def reduced(self, problem: Statement) -> Statement:
        """The problem over the held points, with the Schur complement of the cost (eqs. (35), (36))."""
        own = sp.csr_array(problem.cost)[self.held][:, self.held].toarray()
        schur = own + self.across.T @ self.lift
        place = np.zeros(problem.n, dtype=np.intp)
        place[self.held] = np.arange(self.held.size)
        terms = []
        for term in problem.losses:
            i, j = term.functional.indices
            terms.append(replace(term, functional=Entries(self.held.size, (place[i], place[j]))))
        every = np.arange(self.held.size)  # a bound on all rows is one on the held rows
        own = Entries(self.held.size, (every, every))
        kept = (Constraint(own, upper=c.upper[self.held], name=c.name) for c in problem.constraints)
        return replace(problem, cost=0.5 * (schur + schur.T), terms=(*terms, *kept))

    def expand(self, V: Array) -> Array:
        """The rows of all points from the rows of the held points (eq. (37))."""
        out = np.empty((self.held.size + self.free.size, V.shape[1]))
        out[self.held] = V
        out[self.free] = self.lift @ V
        return out

"""Rows of points that nothing but the cost holds: their block update, and their elimination.

Source: Hu & Kwok, IEEE TNNLS 26(9), 2015, eqs. (12)-(17) and (35)-(37).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU

from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Index, Mask, symmetric_lu
from npkl_models.lowrank.edges import Structure
from npkl_models.model.functionals import Entries
from npkl_models.model.statement import Statement

SMALLEST_PIVOT = 1e-12  # share of the largest


def labelled(pairs: Structure) -> Mask:
    """Whether a point has a pair or a loss on its diagonal entry."""
    out = (pairs.linear != 0) | (pairs.quadratic != 0)
    out[pairs.i] = True
    out[pairs.j] = True
    return out


class FreeRows:
    """minimise <C, V V'> over the rows of the points U that are ``free``, those of ``held`` ones L given."""

    def __init__(self, problem: Statement, pairs: Structure) -> None:
        of = labelled(pairs)
        self.held: Index = np.flatnonzero(of)
        self.free: Index = np.flatnonzero(~of)
        C = sp.csr_array(problem.cost)[self.free]
        self.across, self.among = sp.csr_array(C[:, self.held]), sp.csc_array(C[:, self.free])
        self.diagonal = self.among.diagonal()

    def step(self, V: Array) -> None:
        """One step of eq. (17), in place: every free row from the free rows as they were (Jacobi)."""
        pull = self.across @ V[self.held] + self.among @ V[self.free]
        V[self.free] -= pull / self.diagonal[:, None]

    def block(self, V: Array) -> None:
        """V_U = -C_UU^-1 C_UL V_L in place, what (17) converges to."""
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
        for term in problem.terms:
            i, j = term.functional.indices
            terms.append(replace(term, functional=Entries(self.held.size, (place[i], place[j]))))
        return replace(problem, cost=0.5 * (schur + schur.T), terms=tuple(terms))

    def expand(self, V: Array) -> Array:
        """The rows of all points from those of the held ones (eq. (37))."""
        out = np.empty((self.held.size + self.free.size, V.shape[1]))
        out[self.held] = V
        out[self.free] = self.lift @ V
        return out

"""The constraints of a statement as one linear map A(K): adjoint, AA', and the derivative on factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.contraction import of_unknown
from npkl_models.linalg import PLAIN, Array, Mask, Matrix, dense
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries, SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement

SMALLEST = 1e-3  # relative to the largest number that is asked for: the smallest divisor of a residual
NUMBERS = 5e7  # most numbers of a derivative
MOST = 5_000  # most constraints of which a derivative is factorised
ORDER, DENSE = 600, 1_500  # largest unknown, and most constraints, for which all vectors are formed
FULL = 0.05  # share of numbers that are not zero above which dense products are quicker

Normal = tuple[Array, Callable[[Array], Array]]
"""J J', and the map x -> J'x to a change of the unknown's factor."""


@dataclass(frozen=True, eq=False)
class ConstraintMap:
    """The linear map A of constraints; V and D (n x r) are factors of kernels, W (s x r) of the unknown."""

    problem: Statement
    parts: tuple[Constraint, ...]
    masks: tuple[Mask, ...] = ()  # of the values of the problem's constraints that the parts keep

    @classmethod
    def of(cls, problem: Statement) -> Self:
        """The map of all constraints of a problem."""
        return cls(problem, problem.constraints)

    @cached_property
    def wanted(self) -> Array:
        """The bounds b (m) of the constraints."""
        return np.concatenate([np.zeros(0), *(part.value for part in self.parts)])

    @property
    def size(self) -> int:
        """The number m of constraints."""
        return self.wanted.size

    @cached_property
    def scales(self) -> Array:
        """The divisors (m) that make residuals relative to the data."""
        parts = [part.value for part in self.parts]
        return np.concatenate([np.maximum(np.abs(b), SMALLEST * largest(b)) for b in parts])

    def value(self, V: Array) -> Array:
        """A(VV')."""
        return np.concatenate([part.functional.value_of_factor(V) for part in self.parts])

    def residual(self, V: Array) -> Array:
        """A(VV') - b."""
        return self.value(V) - self.wanted

    def excess(self, V: Array) -> Array:
        """What A(VV') misses of the nearest values that the constraints allow."""
        return np.concatenate([part.excess(part.functional.value_of_factor(V)) for part in self.parts])

    def sizes(self, V: Array) -> Array:
        """The sizes of the numbers that A(VV') sums."""
        return np.concatenate([part.functional.size_of_factor(V) for part in self.parts])

    def along(self, V: Array, D: Array) -> Array:
        """A(VD' + DV'): the derivative at V along D."""
        parts = [part.functional for part in self.parts]
        return np.concatenate([f.value_of_product(V, D) + f.value_of_product(D, V) for f in parts])

    def back(self, y: Array, V: Array) -> Array:
        """2 A'(y) V: the adjoint of `along`."""
        pairs = zip(self.parts, self.split(y), strict=True)
        out: Array = 2 * np.sum([np.asarray(part.functional.adjoint(own) @ V) for part, own in pairs], axis=0)
        return out

    def split(self, y: Array) -> tuple[Array, ...]:
        """Split numbers for all constraints (m) into those of each part."""
        cuts = np.cumsum([part.functional.size for part in self.parts])[:-1]
        return tuple(np.split(y, cuts))

    @cached_property
    def triplets(self) -> Incidence:
        """The weighted entries of all constraints."""
        return Incidence.stack([part.functional.incidence for part in self.parts])

    def of_each(self, numbers: Array) -> Array:
        """Sums over the triplets of each constraint."""
        return np.bincount(self.triplets.owner, numbers, self.size).astype(float)

    @cached_property
    def vectors(self) -> tuple[Array, Array] | None:
        """P and R (m x s): a value's matrix is the symmetric part of p r'; None for others or too many."""
        problem, left, right = self.problem, [], []
        if problem.order > ORDER or self.size > DENSE:
            return None
        for part in self.parts:
            f = part.functional
            if not isinstance(f, (Entries, SquaredDistances)):
                return None
            i, j = (problem.Q[at] for at in f.indices)
            left.append(i - j if isinstance(f, SquaredDistances) else i)
            right.append(i - j if isinstance(f, SquaredDistances) else j)
        return np.concatenate(left), np.concatenate(right)

    def normal(self, V: Array) -> Normal | None:
        """JJ' of the derivative J at V, and the adjoint of J; None if J would be too large."""
        if self.vectors is None:
            J = self.derivative(V)
            return None if J is None else (outer(J), lambda x: (J.T @ x).reshape(V.shape[1], -1).T)
        (P, R), (PP, RR, PR) = self._near, self._inner
        W = self.problem.drop(V)
        PW, RW = np.asarray(P @ W), np.asarray(R @ W)
        G = PP * (RW @ RW.T) + RR * (PW @ PW.T)
        mixed = PR * (RW @ PW.T)
        return G + mixed + mixed.T, lambda x: P.T @ (x[:, None] * RW) + R.T @ (x[:, None] * PW)

    @cached_property
    def _near(self) -> tuple[Matrix, Matrix]:
        """P and R, as sparse arrays if they are nearly empty, which is so if the basis contracts points."""
        assert self.vectors is not None
        P, R = self.vectors
        empty = P.size > PLAIN and np.count_nonzero(P) + np.count_nonzero(R) <= 2 * FULL * P.size
        return (sp.csr_array(P), sp.csr_array(R)) if empty else (P, R)

    @cached_property
    def _inner(self) -> tuple[Array, Array, Array]:
        """PP', RR' and PR' (m x m)."""
        P, R = self._near
        return dense(P @ P.T), dense(R @ R.T), dense(P @ R.T)

    def derivative(self, V: Array) -> Matrix | None:
        """The derivative J (m x s r) of W -> A(QWW'Q'), V = QW, column by column of W; None if too large."""
        r, s = V.shape[1], self.problem.order
        t, Q = of_unknown(self.problem, self.triplets)
        if 2.0 * t.row.size * r * (1 if Q is None else s) > NUMBERS:
            return None
        W = V if Q is not None else self.problem.drop(V)
        if Q is not None:
            shape = (t.size, t.owner.size)
            gather = sp.csr_array((t.coefficient, (t.owner, np.arange(t.owner.size))), shape=shape)
            left, right = Q[t.row], Q[t.column]
            columns = [gather @ (W[t.column, a, None] * left + W[t.row, a, None] * right) for a in range(r)]
            return sp.csr_array(np.hstack(columns))
        every = np.arange(r) * s
        places = np.concatenate([(t.row[:, None] + every).ravel(), (t.column[:, None] + every).ravel()])
        c = np.asarray(t.coefficient, dtype=float)[:, None]
        data = np.concatenate([(c * W[t.column]).ravel(), (c * W[t.row]).ravel()])
        owners = np.tile(np.repeat(t.owner, r), 2)
        return sp.coo_array((data, (owners, places)), shape=(t.size, s * r)).tocsr()


def outer(J: Matrix) -> Array:
    """J J', by dense algebra unless J is very sparse."""
    if J.nnz > FULL * J.shape[0] * J.shape[1]:
        A = dense(J)
        return np.asarray(A @ A.T)
    return dense(J @ J.T)


def largest(values: Array) -> float:
    """The largest absolute value; one if all values are zero."""
    return float(np.max(np.abs(values), initial=0.0)) or 1.0

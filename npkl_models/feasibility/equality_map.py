"""The equalities of a statement as one linear map A(K) = b: adjoint, AA', and the derivative on factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Matrix, dense, symmetrize
from npkl_models.model.functionals import Entries, SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement
from npkl_models.presolve.contraction import of_unknown

SMALLEST = 1e-3  # of a part's largest value: what a residual is divided by at least
NUMBERS = 5e7  # of the derivative, at most
MOST = 5_000  # equalities of which a derivative is factorised
ORDER, DENSE = 600, 1_500  # largest unknown, and most equalities, of which all vectors are formed
FEW = 20_000  # numbers of a matrix up to which it is quicker to multiply its zeros, too
FULL = 0.05  # share of a matrix's numbers from which on sparse products are slower than dense ones

Normal = tuple[Array, Callable[[Array], Array]]
"""J J' and x -> J'x, as a change of the unknown's factor."""


@dataclass(frozen=True, eq=False)
class EqualityMap:
    """A of a problem with equalities; V (n x r) and D are factors of kernels, W (s x r) of the unknown."""

    problem: Statement

    @cached_property
    def wanted(self) -> Array:
        """b (m)."""
        return np.concatenate([part.value for part in self.problem.equalities])

    @property
    def size(self) -> int:
        """m."""
        return self.wanted.size

    @cached_property
    def scales(self) -> Array:
        """What each residual is divided by (m), so that it counts by its share in the data."""
        parts = [part.value for part in self.problem.equalities]
        return np.concatenate([np.maximum(np.abs(b), SMALLEST * largest(b)) for b in parts])

    def value(self, V: Array) -> Array:
        """A(VV')."""
        return np.concatenate([part.functional.value_of_factor(V) for part in self.problem.equalities])

    def residual(self, V: Array) -> Array:
        """A(VV') - b."""
        return self.value(V) - self.wanted

    def sizes(self, V: Array) -> Array:
        """Of the numbers of which A(VV') is summed."""
        return np.concatenate([part.functional.size_of_factor(V) for part in self.problem.equalities])

    def along(self, V: Array, D: Array) -> Array:
        """A(VD' + DV'): the derivative at V along D."""
        parts = [part.functional for part in self.problem.equalities]
        return np.concatenate([f.value_of_product(V, D) + f.value_of_product(D, V) for f in parts])

    def back(self, y: Array, V: Array) -> Array:
        """2 A'(y) V: the adjoint of that."""
        pairs = zip(self.problem.equalities, self.split(y), strict=True)
        out: Array = 2 * np.sum([np.asarray(part.functional.adjoint(own) @ V) for part, own in pairs], axis=0)
        return out

    def split(self, y: Array) -> tuple[Array, ...]:
        """Numbers for all equalities (m), as those of each part."""
        cuts = np.cumsum([part.functional.size for part in self.problem.equalities])[:-1]
        return tuple(np.split(y, cuts))

    @cached_property
    def triplets(self) -> Incidence:
        """All equalities' weighted entries."""
        return Incidence.stack([part.functional.incidence for part in self.problem.equalities])

    def of_each(self, numbers: Array) -> Array:
        """Sums over the triplets of each equality."""
        return np.bincount(self.triplets.owner, numbers, self.size).astype(float)

    @cached_property
    def vectors(self) -> tuple[Array, Array] | None:
        """P and R (m x s): the matrix of a value is the symmetric part of p r'; None for other kinds."""
        problem, left, right = self.problem, [], []
        if problem.order > ORDER or self.size > DENSE:
            return None
        for part in problem.equalities:
            f = part.functional
            if not isinstance(f, (Entries, SquaredDistances)):
                return None
            i, j = (problem.Q[at] for at in f.indices)
            left.append(i - j if isinstance(f, SquaredDistances) else i)
            right.append(i - j if isinstance(f, SquaredDistances) else j)
        return np.concatenate(left), np.concatenate(right)

    def products(self, U: Array | None = None) -> Array:
        """<A_e, U A_f U> of all pairs (m x m): AA' where there is no U. There are ``vectors``."""
        assert self.vectors is not None
        P, R = self.vectors
        PU, RU = (P, R) if U is None else (P @ U, R @ U)
        return symmetrize(0.5 * ((PU @ P.T) * (RU @ R.T) + (PU @ R.T) * (RU @ P.T)))

    def normal(self, V: Array) -> Normal | None:
        """JJ' of the derivative J at V, and its adjoint; None where that would be too large.

        With ``vectors`` JJ' is a sum of products of inner products.
        """
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
        """P and R, sparse where they are nearly empty: rows of a basis that contracts points."""
        assert self.vectors is not None
        P, R = self.vectors
        empty = P.size > FEW and np.count_nonzero(P) + np.count_nonzero(R) <= 2 * FULL * P.size
        return (sp.csr_array(P), sp.csr_array(R)) if empty else (P, R)

    @cached_property
    def _inner(self) -> tuple[Array, Array, Array]:
        """PP', RR' and PR' (m x m)."""
        P, R = self._near
        return dense(P @ P.T), dense(R @ R.T), dense(P @ R.T)

    def derivative(self, V: Array) -> Matrix | None:
        """J (m x s r) of W -> A(QWW'Q') at W, V = QW, the columns of W one after the other."""
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
    """J J', by dense algebra where J is nearly full."""
    if J.nnz > FULL * J.shape[0] * J.shape[1]:
        A = dense(J)
        return np.asarray(A @ A.T)
    return dense(J @ J.T)


def largest(values: Array) -> float:
    """The largest absolute value, one if all are zero."""
    return float(np.max(np.abs(values), initial=0.0)) or 1.0

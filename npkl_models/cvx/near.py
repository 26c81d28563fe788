"""Equations that hold exactly near a point: the radius within which an exact solution is known.

Let E u miss f by m. If the least singular value of EW (W a diagonal matrix) is at least sigma > 0, then
E u* = f holds for some u* = u + W v with ||v|| <= ||m|| / sigma. Residuals are formed in long double where it
is longer, and sigma is proved by the floor of the spectrum of E W (E W)'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from npkl_models.linalg import UNIT, Array, Index, Mask, Matrix, definite_lu, gamma
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.factorisation import by_cholesky, eigenvalue_floor

LONG = np.longdouble
LONG_UNIT = float(np.finfo(LONG).eps)
DENSE = 1_500  # largest number of equations whose matrix is formed and factorised densely


class Missed(NamedTuple):
    """f - E u, rounded, and a bound on its rounding."""

    value: Array
    error: Array

    @property
    def most(self) -> Array:
        """Bounds on the absolute values."""
        return (np.abs(self.value) + self.error) * (1 + 4 * UNIT)


def missed(E: Matrix, u: Array, f: Array) -> Missed:
    """By how much equations are missed: products and sums in long double."""
    E = sp.csr_array(E)
    terms = E.data.astype(LONG) * u[E.indices].astype(LONG)
    counts = np.diff(E.indptr)
    some = np.flatnonzero(counts)
    total, size = f.astype(LONG), np.abs(f)
    if some.size:
        total[some] -= np.add.reduceat(terms, E.indptr[some])
        size[some] += np.add.reduceat(np.abs(terms), E.indptr[some]).astype(float)
    value = total.astype(float)
    return Missed(value, (counts + 4) * LONG_UNIT * size * (1 + counts * UNIT) + UNIT * np.abs(value))


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations E u = f, where u may move by W v with W = diag(weight), powers of two or zero."""

    E: sp.csr_array  # (equations, numbers)
    weight: Array

    @cached_property
    def unit(self) -> Array:
        """A power of two for each row, which makes the rows of E W about one long."""
        lengths = np.sqrt(np.asarray((self.E * self.weight).power(2).sum(axis=1)).ravel())
        return np.ldexp(1.0, -np.frexp(np.where(lengths > 0, lengths, 1.0))[1])

    @cached_property
    def F(self) -> sp.csr_array:
        """The scaled rows; scaling by powers of two is exact."""
        return sp.csr_array(sp.diags_array(self.unit) @ self.E @ sp.diags_array(self.weight))

    @cached_property
    def gram(self) -> Matrix:
        """F F', rounded; dense where it is small or full."""
        G = sp.csc_array(self.F @ self.F.T)
        return G.toarray() if G.shape[0] <= DENSE or G.nnz > G.shape[0] ** 2 / 8 else G

    @cached_property
    def factor(self) -> object:
        """A factorisation of F F' for solving; None if it fails."""
        if not np.isfinite(self.F.data).all():
            return None
        if sp.issparse(self.gram):
            return definite_lu(self.gram)
        try:
            return scipy.linalg.cho_factor(self.gram, lower=True)
        except scipy.linalg.LinAlgError:
            return None

    def solve(self, right: Array) -> Array:
        """G^-1 right, rounded."""
        if sp.issparse(self.gram):
            return np.asarray(self.factor.solve(right))  # type: ignore[attr-defined]
        return np.asarray(scipy.linalg.cho_solve(self.factor, right, check_finite=False))

    def step(self, left: Array) -> Array:
        """The shortest W v with E W v = left, rounded."""
        return np.asarray(self.weight * (self.F.T @ self.solve(self.unit * left)))

    @cached_property
    def sigma(self) -> float:
        """A proved floor of the least singular value of F; 0 if none is known.

        The computed G differs from F F' by gamma(k) |F| |F'| for rows of k entries, whose norm is at most its
        largest row sum.
        """
        if not self.E.shape[0]:
            return np.inf
        if self.factor is None:
            return 0.0
        size = abs(self.F)
        k = int(np.max(np.diff(self.F.indptr)))
        doubt = gamma(k + 2) * float(np.max(size @ (size.T @ np.ones(self.E.shape[0])))) * (1 + k * UNIT)
        floor = self._floor() - doubt
        return float(np.sqrt(floor)) * (1 - 4 * UNIT) if floor > 0 else 0.0

    def _floor(self) -> float:
        G = self.gram
        if not sp.issparse(G):
            return eigenvalue_floor(G)
        off = sp.csr_array(G)
        off.setdiag(0.0)
        beside = np.asarray(abs(off).sum(axis=1)).ravel() * (1 + G.shape[0] * UNIT)
        by_rows = float(np.min(G.diagonal() - beside))
        if by_rows > 0:  # Gershgorin
            return by_rows
        v = np.random.default_rng(0).standard_normal(G.shape[0])
        for _ in range(12):
            v = self.solve(v / np.linalg.norm(v))
        v = v / np.linalg.norm(v)
        estimate = float(v @ (G @ v))
        found = by_cholesky(G, EigenBound(-np.inf, estimate, "estimated", v), 0.0)
        return found.lower if found.rigour != "estimated" else 0.0

    def radius(self, most: Array) -> float:
        """A bound on ||v|| for the nearest exact solution, if the rows are missed by at most ``most``."""
        if not self.E.shape[0]:
            return 0.0
        length = float(np.linalg.norm(self.unit * most)) * (1 + (most.size + 4) * UNIT)
        return length / self.sigma * (1 + 4 * UNIT) if self.sigma > 0 else np.inf


def independent(rows: Matrix, right: Array) -> Index | None:
    """The rows without empty ones and multiples of others by powers of two; None if they contradict.

    ``right`` is what each row must be equal to. Exact comparisons alone decide.
    """
    R = sp.csr_array(rows)
    R.sum_duplicates()
    R.eliminate_zeros()
    R.sort_indices()
    counts = np.diff(R.indptr)
    if (right[counts == 0] != 0).any():
        return None
    some = np.flatnonzero(counts)
    first = R.data[R.indptr[some]]
    unit = np.copysign(np.ldexp(1.0, -np.frexp(np.abs(first))[1]), first)
    S, asked = sp.csr_array(sp.diags_array(unit) @ R[some]), unit * right[some]
    key = S @ np.random.default_rng(0).standard_normal(S.shape[1])
    _, chosen, which = np.unique(
        np.stack([key, counts[some]]), axis=1, return_index=True, return_inverse=True
    )
    heir = chosen[which.ravel()]
    apart = np.diff(without_zeros(S - S[heir]).indptr) > 0  # numbers that share a key by chance
    if (asked[~apart] != asked[heir[~apart]]).any():
        return None
    return np.sort(some[apart | (heir == np.arange(some.size))])


def without_zeros(S: Matrix) -> sp.csr_array:
    """A copy that stores no zeros."""
    S = sp.csr_array(S)
    S.eliminate_zeros()
    return S


def idle_rows(rows: Matrix, weight: Array) -> Mask:
    """Which rows have no number that may move; one that is exactly met needs none."""
    return np.diff(without_zeros(sp.csr_array(rows) * weight).indptr) == 0


def held_rows(rows: Matrix, weight: Array) -> Mask:
    """Which rows have one number, and one that may not move."""
    rows = sp.csr_array(rows)
    one = np.diff(rows.indptr) == 1
    found = one.copy()
    found[one] = weight[rows.indices[rows.indptr[:-1][one]]] == 0
    return found

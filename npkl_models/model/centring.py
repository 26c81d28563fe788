"""Centred kernels: 1'K1 = 0 and K >= 0 say K1 = 0, so K lives on the complement of the constant vector.

As a constraint 1'K1 = 0 forbids every positive definite K: multipliers are unbounded, and a violation of 1e-8
may move the objective by its root. As a basis it is met exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.basis import Basis
from npkl_models.model.functionals import TotalSum
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Multipliers

LARGEST = 5_000  # points for which the complement of the constant vector is written as a basis
CENTRED = 1e-10  # a basis whose columns sum to no more than this is centred already


@dataclass(frozen=True, eq=False)
class Centred:
    """The same problem, its centring done by a basis.

    Attributes
    ----------
    problem : Problem
        Without the equalities 1'K1 = 0.
    kept : tuple of int
        Which equalities of the original it has.
    count : int
        How many that one had.
    """

    problem: Problem
    kept: tuple[int, ...]
    count: int

    def fold(self, y: Multipliers) -> Multipliers:
        """Multipliers of the original without those of the centring."""
        return replace(y, equalities=tuple(y.equalities[k] for k in self.kept))

    def unfold(self, y: Multipliers) -> Multipliers:
        """Multipliers for the original; that of the centring is zero, any other would do as well."""
        parts: list[Array] = [np.zeros(1)] * self.count
        for k, part in zip(self.kept, y.equalities, strict=True):
            parts[k] = part
        return replace(y, equalities=tuple(parts))


_known: WeakKeyDictionary[Problem, Centred | None] = WeakKeyDictionary()


def centred(problem: Problem) -> Centred | None:
    """The problem with a basis in place of its equality 1'K1 = 0; None if it has none or is too large."""
    if not any(isinstance(part.functional, TotalSum) for part in problem.equalities):
        return None
    if problem not in _known:
        _known[problem] = _centred(problem)
    return _known[problem]


def _centred(problem: Problem) -> Centred | None:
    def centring(k: int) -> bool:
        part = problem.equalities[k]
        return isinstance(part.functional, TotalSum) and not part.value.any()

    count = len(problem.equalities)
    kept = tuple(k for k in range(count) if not centring(k))
    whole = not problem.terms and not kept  # nothing would be left to state
    if len(kept) == count or whole or (problem.basis is None and problem.n > LARGEST):
        return None
    basis = complement(problem.n) if problem.basis is None else _within(problem.basis)
    if basis is None:
        return None
    equalities = tuple(problem.equalities[k] for k in kept)
    return Centred(replace(problem, equalities=equalities, basis=basis), kept, count)


@lru_cache(maxsize=2)
def complement(n: int) -> Basis:
    """Orthonormal complement of the constant vector: columns 2..n of the reflection that maps it to e_1."""
    return Basis(_reflected(np.full(n, n**-0.5)))


def _within(basis: Basis) -> Basis | None:
    """The part of a basis that is orthogonal to the constant vector."""
    sums = basis.Q.sum(axis=0)
    size = float(np.linalg.norm(sums))
    if size <= CENTRED * np.sqrt(basis.n):
        return basis
    return Basis(basis.Q @ _reflected(sums / size)) if basis.size > 1 else None


def _reflected(u: Array) -> Array:
    """Columns 2..n of the Householder reflection that maps the unit vector u to a multiple of e_1."""
    v = u.copy()
    v[0] += 1.0 if u[0] >= 0 else -1.0
    out: Array = (np.eye(u.size) - np.outer(v, v) * (2 / float(v @ v)))[:, 1:]
    return out

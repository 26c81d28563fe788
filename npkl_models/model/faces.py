"""The face of the cone on which all feasible kernels lie, where equalities say so.

1'K1 = 0 and K >= 0 say K1 = 0; K_ii = K_jj = K_ij, or a squared distance of zero, that points i and j
share a row; K_ii = 0 that it is zero. As constraints these forbid every positive definite K: multipliers
are unbounded, and a violation of 1e-16 may move the objective by its root. As a basis they are met
exactly (facial reduction, Borwein & Wolkowicz 1981).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from npkl_models.linalg import UNIT, Array, Index, Mask, dense
from npkl_models.model.basis import Basis, shared_rows
from npkl_models.model.functionals import Entries, SquaredDistances, TotalSum
from npkl_models.model.pairs import components
from npkl_models.model.problem import Problem
from npkl_models.model.terms import Equality, Multipliers

LARGEST = 5_000  # points for which a face of centred kernels is written as a (dense) basis
CENTRED = 64 * UNIT  # a basis whose columns sum to no more than this, times n, is centred already


@dataclass(frozen=True, eq=False)
class Face:
    """The same problem over the kernels of a face, by a basis.

    Attributes
    ----------
    problem : Problem
        Without the equalities that the basis meets.
    kept : tuple of ndarray of bool
        For each equality of the original, which of its values are left.
    whole : bool
        Whether it is the whole cone, and the problem as it was stated.
    """

    problem: Problem
    kept: tuple[Mask, ...]
    whole: bool = False

    def fold(self, y: Multipliers) -> Multipliers:
        """Multipliers of the original without those of what the basis meets."""
        pairs = zip(y.equalities, self.kept, strict=True)
        return replace(y, equalities=tuple(part[kept] for part, kept in pairs if kept.any()))

    def unfold(self, y: Multipliers) -> Multipliers:
        """Multipliers for the original; those of what the basis meets are zero, others would do as well."""
        left, out = iter(y.equalities), []
        for kept in self.kept:
            part = np.zeros(kept.size)
            if kept.any():
                part[kept] = next(left)
            out.append(part)
        return replace(y, equalities=tuple(out))


_known: WeakKeyDictionary[Problem, Face | None] = WeakKeyDictionary()  # None: the whole cone


def face_of(problem: Problem) -> Face:
    """The problem over its face; as it was stated if that is the whole cone, or too large to write down."""
    if problem.equalities and problem not in _known:
        _known[problem] = _face(problem)
    face = _known.get(problem)
    if face is not None:
        return face
    return Face(
        problem, tuple(np.ones(e.functional.size, dtype=bool) for e in problem.equalities), whole=True
    )


def _face(problem: Problem) -> Face | None:
    centring = any(map(_is_centring, problem.equalities))
    if problem.basis is not None:
        kept = tuple(np.full(e.functional.size, not _is_centring(e)) for e in problem.equalities)
        return _restrict(problem, _within(problem.basis), kept) if centring else None
    if centring and problem.n > LARGEST:
        return None
    label, gone = _groups(problem)
    plain = int(label.max()) + 1 == problem.n and not gone.any()
    if (plain and not centring) or gone.all():
        return None
    kept = _kept(problem, label, gone)
    if plain:
        return _restrict(problem, complement(problem.n), kept)
    return _restrict(problem, _shared_rows(label, gone, centring), kept)


def _restrict(problem: Problem, basis: Basis | None, kept: tuple[Mask, ...]) -> Face | None:
    left = tuple(_part(e, mask) for e, mask in zip(problem.equalities, kept, strict=True) if mask.any())
    if basis is None or not (problem.terms or left):  # nothing would be left to state
        return None
    return Face(replace(problem, equalities=left, basis=basis), kept)


def _part(equality: Equality, mask: Mask) -> Equality:
    f = equality.functional
    if mask.all():
        return equality
    return replace(
        equality, functional=type(f)(f.n, tuple(i[mask] for i in f.indices)), value=equality.value[mask]
    )


def _is_centring(equality: Equality) -> bool:
    return isinstance(equality.functional, TotalSum) and not equality.value.any()


def _groups(problem: Problem) -> tuple[Index, Mask]:
    """Which points share a row, by labels; and which labels have a row of zeros."""
    fixed = np.full(problem.n, np.nan)
    entries = [e for e in problem.equalities if isinstance(e.functional, Entries)]
    for part in entries:
        i, j = part.functional.indices
        fixed[i[i == j]] = part.value[i == j]
    edges = [np.zeros((0, 2), dtype=np.intp)]
    for part in entries:
        i, j = part.functional.indices
        same = (i != j) & (part.value == fixed[i]) & (part.value == fixed[j])
        edges.append(np.stack([i[same], j[same]], axis=1))
    for part in problem.equalities:
        if isinstance(part.functional, SquaredDistances):
            edges.append(np.stack(part.functional.indices, axis=1)[part.value == 0])
    count, label = components(problem.n, np.concatenate(edges))
    gone = np.zeros(count, dtype=bool)
    gone[label[fixed == 0]] = True
    return label, gone


def _kept(problem: Problem, label: Index, gone: Mask) -> tuple[Mask, ...]:
    """Each value of a pair of groups once; those that the face meets are left out."""
    seen: set[tuple[str, int, int, float]] = set()
    out = []
    for part in problem.equalities:
        f = part.functional
        mask = np.full(f.size, not _is_centring(part))
        if isinstance(f, (Entries, SquaredDistances)):
            first, second = label[f.indices[0]], label[f.indices[1]]
            for e, (a, b, value) in enumerate(
                zip(first.tolist(), second.tolist(), part.value.tolist(), strict=True)
            ):
                entry = isinstance(f, Entries)
                met = value == 0 and ((gone[a] or gone[b]) if entry else (a == b or (gone[a] and gone[b])))
                key = (f.kind, min(a, b), max(a, b), value)
                mask[e] = not met and key not in seen
                seen.add(key)
        out.append(mask)
    return tuple(out)


def _shared_rows(label: Index, gone: Mask, centring: bool) -> Basis | None:
    """A column for each group, sparse; centred, and then dense, if asked for."""
    column = np.cumsum(~gone) - 1
    if column[-1] < 0:
        return None
    basis = shared_rows(np.where(gone[label], -1, column[label]), int(column[-1]) + 1)
    return _within(basis) if centring else basis


@lru_cache(maxsize=2)
def complement(n: int) -> Basis:
    """Orthonormal complement of the constant vector: columns 2..n of the reflection that maps it to e_1."""
    return Basis(_reflected(np.full(n, n**-0.5)))


def _within(basis: Basis) -> Basis | None:
    """The part of a basis that is orthogonal to the constant vector."""
    sums = np.asarray(basis.Q.sum(axis=0)).ravel()
    size = float(np.linalg.norm(sums))
    if size <= CENTRED * basis.n:
        return basis
    return Basis(dense(basis.Q) @ _reflected(sums / size)) if basis.size > 1 else None


def _reflected(u: Array) -> Array:
    """Columns 2..n of the Householder reflection that maps the unit vector u to a multiple of e_1."""
    v = u.copy()
    v[0] += 1.0 if u[0] >= 0 else -1.0
    out: Array = (np.eye(u.size) - np.outer(v, v) * (2 / float(v @ v)))[:, 1:]
    return out

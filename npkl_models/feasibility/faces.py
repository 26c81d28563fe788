"""The face of the cone on which equalities force all feasible kernels to lie.

v'Kv = 0 and K >= 0 imply Kv = 0, for example 1'K1 = 0. K_ii K_jj = K_ij K_ij, or a squared distance of zero,
implies that the rows i and j of V are multiples of one row (`groups`). K_ii = 0 implies that the row is zero.
As constraints, these equalities forbid every positive definite K: multipliers are unbounded, and a violation
of 1e-16 may change the objective by the root of 1e-16. A basis meets these equalities exactly (facial
reduction, Borwein & Wolkowicz 1981).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from npkl_models.feasibility.groups import Groups, groups_of, link_of, quotient
from npkl_models.linalg import TINY, Array, Index, Mask, dense
from npkl_models.model.basis import CENTRED, Basis, orthonormal, shared_rows
from npkl_models.model.constraint import Constraint
from npkl_models.model.facts import fact
from npkl_models.model.functionals import DistanceDifferences, SquaredDistances, TotalSum, single_entries
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers, spread
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

LARGEST = 5_000  # most points for which a face of centred kernels is written as a (dense) basis


@dataclass(frozen=True, eq=False)
class Face:
    """A problem over the kernels of a face, which a basis describes."""

    problem: Statement  # the problem over the face, without the constraints that the basis meets
    kept: tuple[Mask, ...]  # for each constraint of the original problem, which of its values are kept
    # for each value of all constraints, the kept value that is a multiple of it on the face; -1 if the face
    # makes the value zero
    heir: Index
    ratio: Array  # what a value is of its heir: -1 for D_ij - D_ik and D_ik - D_ij
    losses: int  # number of loss terms of the original problem
    whole: bool = False  # whether the face is the whole cone, and the problem is unchanged

    def fold(self, y: Multipliers) -> Multipliers:
        """Multipliers over the face, from those of the original problem; equal values add up."""
        if self.whole or not y.constraints:
            return y
        terms = y.losses or tuple(np.zeros(term.functional.size) for term in self.problem.losses)
        every, counts = np.concatenate(y.constraints) * self.ratio, self.heir >= 0
        total = np.bincount(self.heir[counts], every[counts], every.size).astype(float)
        sizes = np.cumsum([kept.size for kept in self.kept])[:-1]
        parts: list[Array] = np.split(total, sizes)
        pairs = zip(parts, self.kept, strict=True)
        return Multipliers(terms, tuple(part[kept] for part, kept in pairs if kept.any()))

    def unfold(self, y: Multipliers, given: Multipliers | None = None) -> Multipliers:
        """Multipliers of the original problem; where the basis meets equalities, those given, or zero."""
        found = spread(y.constraints, self.kept)
        if given is not None and not self.whole:
            met = np.split(self.heir < 0, np.cumsum([part.size for part in found])[:-1])
            pairs = zip(found, given.constraints, met, strict=True)
            found = tuple(np.where(mask, other, own) for own, other, mask in pairs)
        return Multipliers(y.losses[: self.losses], found)


def face_of(problem: Statement) -> Face:
    """The problem over its face; unchanged if the face is the whole cone, or too large to write down."""
    face = _face(problem) if problem.constraints else None
    if face is not None:
        return face
    kept = tuple(np.ones(e.functional.size, dtype=bool) for e in problem.constraints)
    heir = _own(kept)
    return Face(problem, kept, heir, np.ones(heir.size), len(problem.losses), whole=True)


@fact
def _face(problem: Statement) -> Face | None:
    """The face; None for the whole cone, or if the face is too large."""
    groups, vectors = implied(problem)
    if problem.basis is None and ((vectors and problem.n > LARGEST) or groups.gone.all()):
        return None
    kept, heir, ratio = _kept(problem, groups)
    plain, basis = groups.gone.size == problem.n and not groups.gone.any(), problem.basis
    if not plain or vectors:
        if basis is not None:
            basis = _within(basis, vectors)
        else:
            basis = _complement(vectors) if plain else _shared_rows(groups, vectors)
        if basis is None:
            return None
    elif all(mask.all() for mask in kept):  # equalities that are stated twice are kept once
        return None
    return Face(_with(problem, kept, basis), kept, heir, ratio, len(problem.losses))


def implied(problem: Statement) -> tuple[Groups, list[Array]]:
    """Groups of points whose rows must be multiples of one row, and other vectors v with v'Kv = 0."""
    vectors, n = [v for part in problem.constraints for v in vanishing(part)[1]], problem.n
    if problem.basis is not None:
        return Groups(np.arange(n), np.ones(n), np.zeros(n, dtype=bool)), vectors
    links = [link_of(v) for v in vectors]
    rest = [v for v, link in zip(vectors, links, strict=True) if link is None]
    return groups_of(problem, [link for link in links if link is not None]), rest


def _own(kept: tuple[Mask, ...]) -> Index:
    """Each kept value is its own heir; -1 for the others."""
    left = np.concatenate(kept) if kept else np.zeros(0, dtype=bool)
    return np.where(left, np.arange(left.size), -1)


def _with(problem: Statement, kept: tuple[Mask, ...], basis: Basis | None) -> Statement:
    """The problem with the kept constraints; with a term that is always zero if nothing is kept."""
    pairs = zip(problem.constraints, kept, strict=True)
    left = tuple(part if mask.all() else part.kept(mask) for part, mask in pairs if mask.any())
    terms = problem.losses
    if not (terms or left):  # a point's distance from itself
        terms = (LossTerm(SquaredDistances(problem.n, ([0], [0])), "square", 0.0, name="nothing"),)
    return replace(problem, terms=(*terms, *left), basis=basis)


def _kept(problem: Statement, groups: Groups) -> tuple[tuple[Mask, ...], Index, Array]:
    """Which values are kept (equal values once, none that the face meets), their heirs and ratios."""
    masks = [~vanishing(part)[0] for part in problem.constraints]
    ends = np.cumsum([0, *(mask.size for mask in masks)])
    table, ratio = [], np.ones(int(ends[-1]))
    for part, start in zip(problem.constraints, ends[:-1], strict=True):
        for e, columns in _values(part, groups) if part.equal else ():
            table.append(np.column_stack([start + e, *columns, part.value[e]]))
    left, heir = np.concatenate(masks), _own(tuple(masks))
    if table:
        at, met, *keys, scale, value = np.concatenate(table).T
        at, met = at.astype(np.intp), (met > 0) & (value == 0)
        heir[at[met]] = -1
        at, scale, value = at[~met], scale[~met], value[~met]
        rows = np.column_stack([*(key[~met] for key in keys), value / scale + 0.0])
        _, chosen, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        first = chosen[same.ravel()]
        alike = (value == 0) | (quotient(value, scale, value[first], scale[first]) == 1)
        alike &= np.minimum(np.abs(scale), np.abs(scale[first])) >= TINY
        first = np.where(alike, first, np.arange(at.size))
        heir[at], ratio[at] = at[first], scale / scale[first]
        left = heir == np.arange(left.size)
    return tuple(np.split(left, ends[1:-1])), heir, ratio


def _values(part: Constraint, groups: Groups) -> Iterator[tuple[Index, tuple[Array | Index | Mask, ...]]]:
    """Values that depend on few rows: their positions, whether they are zero, what they say, and a factor.

    Values that say the same are equal up to their factors.
    """
    f, one = part.functional, np.ones(part.functional.size)
    if isinstance(f, DistanceDifferences):
        i, j, k = (groups.rows[index] for index in f.indices)
        yield (
            np.arange(f.size),
            (j == k, 2 * one, i, np.minimum(j, k), np.maximum(j, k), np.where(j <= k, 1.0, -1.0)),
        )
    elif isinstance(f, SquaredDistances):
        i, j = (groups.rows[index] for index in f.indices)
        yield np.arange(f.size), (i == j, 0 * one, -one, np.minimum(i, j), np.maximum(i, j), one)
    else:
        e, i, j, c = single_entries(f)
        a, b, c = groups.label[i], groups.label[j], c * groups.share[i] * groups.share[j]
        zero, one = groups.gone[a] | groups.gone[b], one[e]
        yield e, (zero, one, -one, np.minimum(a, b), np.maximum(a, b), c)


def _shared_rows(groups: Groups, vectors: list[Array]) -> Basis | None:
    """A sparse basis with a column for each group; with ``vectors``, its dense part orthogonal to them."""
    column = np.where(groups.gone, -1, np.cumsum(~groups.gone) - 1)
    basis = shared_rows(column[groups.label], int(column.max()) + 1, groups.share)
    return _within(basis, vectors) if vectors else basis


@lru_cache(maxsize=2)
def complement(n: int) -> Basis:
    """Orthonormal complement of the constant vector: columns 2..n of the reflection that maps it to e_1."""
    return Basis(_reflected(np.full(n, n**-0.5)))


def _complement(vectors: list[Array]) -> Basis | None:
    """Orthonormal complement of the vectors."""
    first, rest = vectors[0], vectors[1:]
    constant = bool((first == first[0]).all())
    basis = complement(first.size) if constant else Basis(_reflected(first / np.linalg.norm(first)))
    return _within(basis, rest) if rest else basis


def _within(basis: Basis, vectors: list[Array]) -> Basis | None:
    """The part of a basis that is orthogonal to the vectors; None if this part is zero."""
    Q = basis.Q
    for v in vectors:
        along = np.asarray(Q.T @ (v / np.abs(v).max())).ravel()
        size = float(np.linalg.norm(along))
        if size > CENTRED * basis.n:
            if Q.shape[1] == 1:
                return None
            Q = dense(Q) @ _reflected(along / size)
    return basis if Q is basis.Q else Basis(orthonormal(Q))


def _reflected(u: Array) -> Array:
    """Columns 2..n of the Householder reflection that maps the unit vector u to a multiple of e_1."""
    return np.linalg.qr(u[:, None], mode="complete")[0][:, 1:]


def vanishing(part: Constraint) -> tuple[Mask, list[Array]]:
    """Which values of a constraint are squares v'Kv that must be zero (m,), and their vectors v (n,).

    Multiples of single entries K_ii are left out: a basis would join the blocks of a program.
    """
    f = part.functional
    found = np.zeros(f.size, dtype=bool)
    if isinstance(f, TotalSum) and not part.upper.any():
        return ~found, [np.ones(f.n)]
    if not isinstance(f, SparseMatrices):
        return found, []
    own = f.row == f.column
    sign = np.zeros(f.size)
    sign[f.owner[own]] = np.sign(f.entry[own])
    points, entries = (np.bincount(f.owner[mask], minlength=f.size) for mask in (own, slice(None)))
    asked = np.where(sign > 0, part.upper == 0, part.lower == 0)
    vectors = []
    for e in np.flatnonzero(asked & (points > 1) & (entries == points * (points + 1) // 2)):
        here = slice(*np.searchsorted(f.owner, [e, e + 1]))
        v = _root(f.n, f.row[here], f.column[here], sign[e] * f.entry[here])
        found[e] = v is not None
        vectors += [] if v is None else [v]
    return found, vectors


def _root(n: int, row: Index, column: Index, entry: Array) -> Array | None:
    """A multiple of the v with M = vv' exactly, from all entries of an upper half; None if there is none.

    With p the first row, M_pp M_ij = M_pi M_pj must hold without rounding.
    """
    first = np.zeros(n)
    own = row == row[0]
    first[column[own]] = entry[own]
    if not first[row[0]] > 0 or np.count_nonzero(first) ** 2 + np.count_nonzero(first) != 2 * entry.size:
        return None
    same = quotient(entry, first[row], first[column], np.full(entry.size, first[row[0]])) == 1
    return first if same.all() else None

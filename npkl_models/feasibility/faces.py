"""The face of the cone on which equalities force all feasible kernels to lie.

v'Kv = 0 and K >= 0 imply Kv = 0, for example 1'K1 = 0. K_ii = K_jj = K_ij, or a squared distance of zero,
implies that points i and j share a row of V. K_ii = 0 implies that the row is zero. As constraints, these
equalities forbid every positive definite K: multipliers are unbounded, and a violation of 1e-16 may change
the objective by the root of 1e-16. A basis meets these equalities exactly (facial reduction, Borwein &
Wolkowicz 1981).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from npkl_models.linalg import Array, Index, Mask, dense
from npkl_models.linalg.twofold import exact_product
from npkl_models.model.basis import CENTRED, Basis, orthonormal, shared_rows
from npkl_models.model.constraint import Constraint
from npkl_models.model.facts import fact
from npkl_models.model.functionals import DistanceDifferences, Entries, SquaredDistances, TotalSum
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers, spread
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

LARGEST = 5_000  # most points for which a face of centred kernels is written as a (dense) basis


@dataclass(frozen=True, eq=False)
class Face:
    """A problem over the kernels of a face, which a basis describes."""

    problem: Statement  # the problem over the face, without the constraints that the basis meets
    kept: tuple[Mask, ...]  # for each constraint of the original problem, which of its values are kept
    # for each value of all constraints, the kept value that is equal on the face; -1 if the face makes the
    # value zero
    heir: Index
    sign: Array  # -1 if a value is minus its heir (D_ij - D_ik and D_ik - D_ij), else 1
    losses: int  # number of loss terms of the original problem
    whole: bool = False  # whether the face is the whole cone, and the problem is unchanged

    def fold(self, y: Multipliers) -> Multipliers:
        """Multipliers over the face, from those of the original problem; equal values add up."""
        if self.whole or not y.constraints:
            return y
        terms = y.losses or tuple(np.zeros(term.functional.size) for term in self.problem.losses)
        every, counts = np.concatenate(y.constraints) * self.sign, self.heir >= 0
        total = np.bincount(self.heir[counts], every[counts], every.size).astype(float)
        sizes = np.cumsum([kept.size for kept in self.kept])[:-1]
        parts: list[Array] = np.split(total, sizes)
        pairs = zip(parts, self.kept, strict=True)
        return Multipliers(terms, tuple(part[kept] for part, kept in pairs if kept.any()))

    def unfold(self, y: Multipliers) -> Multipliers:
        """Multipliers of the original problem; those of equalities that the basis meets are zero."""
        return Multipliers(y.losses[: self.losses], spread(y.constraints, self.kept))


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
    vectors, n = [v for part in problem.constraints for v in vanishing(part)[1]], problem.n
    label, gone = np.arange(n), np.zeros(n, dtype=bool)
    if problem.basis is None:
        if vectors and n > LARGEST:
            return None
        label, gone = _groups(problem)
        if gone.all():
            return None
    kept, heir, sign = _kept(problem, label, gone)
    plain, basis = int(label.max()) + 1 == n and not gone.any(), problem.basis
    if not plain or vectors:
        if basis is not None:
            basis = _within(basis, vectors)
        else:
            basis = _complement(vectors) if plain else _shared_rows(label, gone, vectors)
        if basis is None:
            return None
    elif all(mask.all() for mask in kept):  # equalities that are stated twice are kept once
        return None
    return Face(_with(problem, kept, basis), kept, heir, sign, len(problem.losses))


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


def _groups(problem: Statement) -> tuple[Index, Mask]:
    """Labels of the groups of points that share a row, and a mask of the groups with a row of zeros."""
    fixed = np.full(problem.n, np.nan)
    entries = [e for e in problem.constraints if isinstance(e.functional, Entries)]
    for part in entries:
        i, j = part.functional.indices
        own = (i == j) & ((part.upper == 0) | part.equal)
        fixed[i[own]] = part.upper[own]
    edges = [np.zeros((0, 2), dtype=np.intp)]
    for part in (e for e in entries if e.equal):
        i, j = part.functional.indices
        same = (i != j) & (part.value == fixed[i]) & (part.value == fixed[j])
        edges.append(np.stack([i[same], j[same]], axis=1))
    for part in problem.constraints:
        if isinstance(part.functional, SquaredDistances):
            edges.append(np.stack(part.functional.indices, axis=1)[part.upper == 0])
    count, label = components(problem.n, np.concatenate(edges))
    while (more := _followed(problem, label)).size:
        edges.append(more)
        count, label = components(problem.n, np.concatenate(edges))
    gone = np.zeros(count, dtype=bool)
    gone[label[fixed == 0]] = True
    return label, gone


def _followed(problem: Statement, label: Index) -> Index:
    """Pairs of points of different groups that equal distances join: d_ij = d_ik, where i, j share a row."""
    out = [np.zeros((0, 2), dtype=np.intp)]
    for part in problem.constraints:
        if isinstance(part.functional, DistanceDifferences) and part.equal:
            i, j, k = (index[part.value == 0] for index in part.functional.indices)
            a, b, c = label[i], label[j], label[k]
            out.append(np.stack([i, k], axis=1)[(a == b) & (a != c)])
            out.append(np.stack([i, j], axis=1)[(a == c) & (a != b)])
    return np.concatenate(out)


def _kept(problem: Statement, label: Index, gone: Mask) -> tuple[tuple[Mask, ...], Index, Array]:
    """Which values are kept (equal values once, none that the face meets), their heirs and signs."""
    masks = [~vanishing(part)[0] for part in problem.constraints]
    ends = np.cumsum([0, *(mask.size for mask in masks)])
    rows, sign = [], np.ones(int(ends[-1]))
    for part, start in zip(problem.constraints, ends[:-1], strict=True):
        f = part.functional
        at = start + np.arange(f.size)
        if not part.equal:
            continue
        if isinstance(f, DistanceDifferences):
            i, j, k = (label[index] for index in f.indices)
            sign[at] = np.where(j <= k, 1.0, -1.0)
            asked = sign[at] * part.value + 0.0
            columns = (np.full(f.size, 2), i, np.minimum(j, k), np.maximum(j, k), asked)
            rows.append(np.column_stack([at, (j == k) & (part.value == 0), *columns]))
            continue
        if not isinstance(f, (Entries, SquaredDistances)):
            continue
        first, second = label[f.indices[0]], label[f.indices[1]]
        entry = isinstance(f, Entries)
        absent = gone[first] | gone[second] if entry else (first == second) | (gone[first] & gone[second])
        ends_of = (np.full(f.size, -1), np.minimum(first, second), np.maximum(first, second))
        columns = (np.full(f.size, entry), *ends_of, part.value + 0.0)
        rows.append(np.column_stack([at, absent & (part.value == 0), *columns]))
    left, heir = np.concatenate(masks), _own(tuple(masks))
    if rows:
        table = np.concatenate(rows)
        at, met = table[:, 0].astype(np.intp), table[:, 1] > 0
        heir[at[met]] = -1
        at, table = at[~met], table[~met, 2:]
        _, chosen, same = np.unique(table, axis=0, return_index=True, return_inverse=True)
        first_of, same = at[chosen], same.ravel()
        heir[at] = first_of[same]
        sign[at] = sign[at] * sign[first_of[same]]
        sign[first_of] = 1.0
        left = heir == np.arange(left.size)
    return tuple(np.split(left, ends[1:-1])), heir, sign


def _shared_rows(label: Index, gone: Mask, vectors: list[Array]) -> Basis | None:
    """A sparse basis with a column for each group; with ``vectors``, its dense part orthogonal to them."""
    column = np.cumsum(~gone) - 1
    if column[-1] < 0:
        return None
    basis = shared_rows(np.where(gone[label], -1, column[label]), int(column[-1]) + 1)
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
    """The vector v with M = vv' exactly, from all entries of an upper half; None if there is none.

    With p the first row, M_pp M_ij = M_pi M_pj must hold without rounding.
    """
    first = np.zeros(n)
    own = row == row[0]
    first[column[own]] = entry[own]
    if not first[row[0]] > 0 or np.count_nonzero(first) ** 2 + np.count_nonzero(first) != 2 * entry.size:
        return None
    left = exact_product(np.full(entry.size, first[row[0]]), entry)
    right = exact_product(first[row], first[column])
    same = np.array_equal(left.high, right.high) and np.array_equal(left.low, right.low)
    return np.asarray(first / np.sqrt(first[row[0]])) if same else None

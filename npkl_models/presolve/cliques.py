r"""Flat cliques: points with all mutual distances given that leave no kernel positive definite.

k points whose given distances fit into r < k - 1 dimensions have one Gram matrix G, of rank r. Every vector x
with sum zero and x'Gx = 0 has Kx = 0 for every feasible K. All these vectors, of all cliques, and the
constant vector span the orthogonal complement of a *face* K = Q U Q' (facial reduction: Krislock & Wolkowicz,
SIAM J. Optim. 20, 2010, theorem 2.3; sums of exposing vectors: Drusvyatskiy, Pataki & Wolkowicz 2015). On the
face some distances depend on others, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack

from npkl_models.errors import ProblemError
from npkl_models.feasibility.faces import complement
from npkl_models.linalg import Array, Index, Mask, symmetrize
from npkl_models.model.basis import Basis, orthonormal

FLAT = 1e-12  # eigenvalue of a Gram matrix, relative to its largest, that may be rounding
FOLLOWED = 10.0  # the same for what follows from other numbers, as a multiple of their error
CLEAR = 1e-9  # a relative eigenvalue, or error of a distance that is left out, that is not rounding
SUPPORT = 1e-8  # coefficients below this share of the largest are tried as zero
JOINED = 1e-6  # length of a row q_i - q_j, or singular value of all normals together, that counts as zero
ROUNDS = 20  # of cliques, each with the distances that the last round has determined
BRANCHES = 500  # of the search from each point; missed cliques only leave a larger face


@dataclass(frozen=True, eq=False)
class Flat:
    """The face of centred kernels that the flat cliques leave, and the distances that must still be stated.

    Let K be a kernel of the face that meets the kept distances. A distance that is left out, with the value
    b, then differs from b by at most ``missed * b + tilt * tr K``.
    """

    basis: Basis  # q (n x s)
    kept: Mask  # which pairs are kept: their distances are independent of each other over the face
    cliques: int  # number of flat cliques
    missed: float  # largest difference, relative to b, between b and the value that the kept distances imply
    tilt: float  # largest distance (Frobenius) between Q'MQ and its combination of kept matrices


def flatten(n: int, pairs: Index, squared: Array) -> Flat | None:
    """The face of the flat cliques of a graph of distances; None if there is none or rounding hides it."""
    known, values, best, idle, within = pairs, squared, None, 0, complement(n)
    for k in range(ROUNDS):
        rounded = FLAT if best is None else float(np.clip(FOLLOWED * best.missed, FLAT, CLEAR / 10))
        found = _flat_cliques(n, known, values, rounded, given=k == 0)
        basis = _orthogonal(within, found) if found else None
        if basis is None:
            break
        within = basis  # a later round is less accurate, and may only shrink the face
        span = _Span.of(basis.dense[pairs[:, 0]] - basis.dense[pairs[:, 1]], squared)
        if span.missed > CLEAR or not span.kept.any():
            break
        idle = idle + 1 if best is not None and basis.size == best.basis.size else 0
        best = Flat(basis, span.kept, len(found), span.missed, span.tilt)
        if 2 * span.kept.sum() == basis.size * (basis.size + 1):  # the distances determine U, singular or not
            return _of_range(best, pairs, squared)
        if idle == 2:
            break
        more = _with_common_neighbors(n, known)
        value, determined = span.follow(basis.dense[more[:, 0]] - basis.dense[more[:, 1]])
        if not determined.any():
            break
        known = np.concatenate([known, more[determined]])
        values = np.concatenate([values, value[determined]])
    return best


def _of_range(flat: Flat, pairs: Index, squared: Array) -> Flat:
    """The face of the range of U, if the distances determine a singular U; otherwise the same face."""
    differences = flat.basis.dense[pairs[:, 0]] - flat.basis.dense[pairs[:, 1]]
    i, j = np.triu_indices(flat.basis.size)
    matrices = differences[:, i] * differences[:, j] * np.where(i == j, 1.0, 2.0)
    length = np.maximum(np.linalg.norm(matrices, axis=1), JOINED**2)
    U = np.zeros((flat.basis.size,) * 2)
    U[i, j] = U[j, i] = np.linalg.lstsq(matrices / length[:, None], squared / length, rcond=None)[0]
    eigenvalues, vectors = np.linalg.eigh(U)
    size = float(np.max(np.abs(eigenvalues), initial=0.0))
    null = np.abs(eigenvalues) <= CLEAR / 10 * size
    if not null.any() or not np.all(null | (eigenvalues >= CLEAR * size)):
        return flat
    basis = Basis(orthonormal(flat.basis.dense @ vectors[:, ~null]))
    span = _Span.of(basis.dense[pairs[:, 0]] - basis.dense[pairs[:, 1]], squared)
    if span.missed > CLEAR or not span.kept.any():
        return flat
    return Flat(basis, span.kept, flat.cliques, span.missed, span.tilt)


def _with_common_neighbors(n: int, pairs: Index) -> Index:
    """Pairs (k, 2) of points that are not neighbours and have two common neighbours; they may be rigid."""
    i, j = pairs.T
    A = sp.coo_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    common = sp.coo_array(sp.triu(A @ A, 1) - sp.triu(A, 1) * n)
    out: Index = np.stack([common.row, common.col], axis=1)[common.data >= 2].astype(np.intp)
    return out


def maximal_cliques(n: int, pairs: Index) -> list[Index]:
    """All maximal cliques of a graph, or those that `BRANCHES` branches from each point find.

    Bron & Kerbosch 1973, with the pivot of Tomita, Tanaka & Takahashi 2006.
    """
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs.tolist():
        near[i].add(j)
        near[j].add(i)
    out = [np.array(sorted(clique), dtype=np.intp) for clique in _cliques(near)]
    return sorted(out, key=lambda clique: clique.tolist())


def _cliques(near: list[set[int]]) -> Iterator[list[int]]:
    """The maximal cliques, point by point, points with few neighbours first; no clique comes twice."""
    done: set[int] = set()
    for start in sorted(range(len(near)), key=lambda i: len(near[i])):
        stack = [([start], near[start] - done, near[start] & done)]
        for _ in range(BRANCHES):
            if not stack:
                break
            clique, more, seen = stack.pop()
            if not more:
                if not seen:
                    yield clique
                continue
            pivot = max(more | seen, key=lambda i: len(more & near[i]))
            for i in sorted(more - near[pivot]):
                stack.append(([*clique, i], more & near[i], seen & near[i]))
                more, seen = more - {i}, seen | {i}
        done.add(start)


def _flat_cliques(
    n: int, pairs: Index, squared: Array, rounded: float, given: bool
) -> list[tuple[Index, Array]]:
    """Flat cliques and their normals; an error is raised if ``given`` distances are impossible."""
    D = np.zeros((n, n))
    D[pairs[:, 0], pairs[:, 1]] = D[pairs[:, 1], pairs[:, 0]] = squared
    found = [(clique, _normals(D, clique, rounded, given)) for clique in maximal_cliques(n, pairs)]
    return [(clique, normals) for clique, normals in found if len(normals)]


def _normals(D: Array, clique: Index, rounded: float, given: bool) -> Array:
    """Orthonormal rows (k x clique) that the centred Gram matrix maps to zero, all with sum zero."""
    centred = scipy.linalg.helmert(clique.size)
    values, vectors = np.linalg.eigh(symmetrize(centred @ (-0.5 * D[np.ix_(clique, clique)]) @ centred.T))
    size = float(np.max(np.abs(values), initial=0.0))
    if given and values[0] < -CLEAR * size:
        shown = ", ".join(map(str, clique[:8].tolist())) + (", ..." if clique.size > 8 else "")
        raise ProblemError(
            f"the distances between points {shown} must be possible, got a Gram matrix with the negative "
            f"eigenvalue {values[0]:.1e} (the largest absolute eigenvalue is {size:.1e})"
        )
    flat = np.abs(values) <= rounded * size
    if not np.all(flat | (values >= CLEAR * size)):
        flat[:] = False
    normals: Array = vectors[:, flat].T @ centred
    return normals


def _orthogonal(within: Basis, found: list[tuple[Index, Array]]) -> Basis | None:
    """The part of a basis that is orthogonal to all normals; None if this part is zero."""
    count = np.concatenate([np.full(len(normals), clique.size) for clique, normals in found])
    columns = np.concatenate([np.tile(clique, len(normals)) for clique, normals in found])
    entries = np.concatenate([normals.ravel() for _, normals in found])
    N = sp.csr_array(
        (entries, columns, np.concatenate([[0], np.cumsum(count)])), shape=(count.size, within.n)
    )
    A = N @ within.dense
    if A.shape[0] > A.shape[1]:
        A = np.linalg.qr(A, mode="r")
    _, s, rows = np.linalg.svd(A)
    rank = int(np.sum(s > JOINED))
    return Basis(orthonormal(within.dense @ rows[rank:].T)) if rank < within.size else None


@dataclass(frozen=True, eq=False)
class _Span:
    """Linearly independent matrices q q' of distances, of unit norm, and their values."""

    kept: Mask
    missed: float
    tilt: float
    unit: Array
    share: Array
    L: Array

    @classmethod
    def of(cls, differences: Array, squared: Array) -> _Span:
        """The span of the matrices q q' for the rows q of ``apart``."""
        length = np.linalg.norm(differences, axis=1)
        kept, free = np.zeros(length.size, dtype=bool), np.flatnonzero(length > JOINED)
        unit = differences[free] / length[free, None]
        L, pivots, rank, _ = lapack.dpstrf((unit @ unit.T) ** 2, lower=1, tol=FOLLOWED * FLAT)
        first = free[pivots[:rank] - 1]
        kept[first] = True
        share = squared[first] / length[first] ** 2
        own = cls(kept, 0.0, 0.0, unit[pivots[:rank] - 1], share, np.tril(L)[:rank, :rank])
        value, tilt = own._all(differences)
        kept[tilt > CLEAR] = True
        out = ~kept
        off = np.abs(value - squared)[out] / np.where(squared > 0, squared, 1.0)[out]
        return replace(
            own, missed=float(np.max(off, initial=0.0)), tilt=float(np.max(tilt[out], initial=0.0))
        )

    def follow(self, differences: Array) -> tuple[Array, Mask]:
        """Squared distances that the span implies, and a mask of those that it determines."""
        value, rest = self._all(differences)
        return value, rest <= FLAT

    def _all(self, differences: Array) -> tuple[Array, Array]:
        """Values, and the distances of their matrices from the span; a distance that is not small is one."""
        length = np.linalg.norm(differences, axis=1)
        value, rest = np.zeros(length.size), np.ones(length.size)
        joined = length <= JOINED
        rest[joined] = length[joined] ** 2
        unit = differences / np.where(joined, 1.0, length)[:, None]
        halfway = scipy.linalg.solve_triangular(self.L, (self.unit @ unit.T) ** 2, lower=True)
        near = ~joined & (np.abs(1 - np.sum(halfway**2, axis=0)) <= FOLLOWED**2 * FLAT)
        guess = np.abs(scipy.linalg.solve_triangular(self.L.T, halfway[:, near]))
        for e, about in zip(np.flatnonzero(near).tolist(), guess.T, strict=True):
            support = about > SUPPORT * np.max(about)
            coefficient, off = _combination(self.unit[support], unit[e])
            rest[e] = off * length[e] ** 2
            value[e] = float(coefficient @ self.share[support]) * length[e] ** 2
        return value, rest


def _combination(others: Array, q: Array) -> tuple[Array, float]:
    """Coefficients of the others' matrices whose sum is nearest to q q', and the distance that is left."""
    every = np.vstack([others, q])
    _, s, rows = np.linalg.svd(every, full_matrices=False)
    local = every @ rows[s > 1e-14 * s[0]].T
    i, j = np.triu_indices(local.shape[1])
    matrices = local[:, i] * local[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    coefficient: Array = np.linalg.lstsq(matrices[:-1].T, matrices[-1], rcond=None)[0]
    rest = matrices[-1] - coefficient @ matrices[:-1]
    return coefficient, float(np.linalg.norm(rest))

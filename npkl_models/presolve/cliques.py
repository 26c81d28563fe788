r"""Flat cliques: points with all mutual distances given that leave no kernel positive definite.

k points whose given distances fit into r < k - 1 dimensions have one Gram matrix G, of rank r. Every vector x
with sum zero and x'Gx = 0 has Kx = 0 for every feasible K. All these vectors, of all cliques, and the
constant vector span the orthogonal complement of a *face* K = Q U Q' (facial reduction: Krislock & Wolkowicz,
SIAM J. Optim. 20, 2010, theorem 2.3; sums of exposing vectors: Drusvyatskiy, Pataki & Wolkowicz 2015). On the
face some distances depend on others, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack

from npkl_models.errors import ProblemError
from npkl_models.feasibility.faces import complement
from npkl_models.linalg import Array, Index, Mask, symmetrize
from npkl_models.model.basis import Basis, orthonormal

FLAT = 1e-12  # eigenvalue of a Gram matrix, relative to its largest, that may be rounding
FOLLOWED = 10.0  # what follows from other numbers errs by this multiple of their error
CLEAR = 1e-9  # a relative eigenvalue, or error of a distance that is left out, that is not rounding
SUPPORT = 1e-8  # coefficients below this share of the largest are tried as zero
JOINED = 1e-6  # length of a row q_i - q_j, or singular value of all normals together, that counts as zero
BRANCHES = 500  # of the search from each point; missed cliques only leave a larger face


@dataclass(frozen=True, eq=False)
class Flat:
    """The face of centred kernels that the flat cliques leave, and the distances that must still be stated.

    Let K be a kernel of the face that meets the kept distances. A distance that is left out, with the value
    b, then differs from b by at most ``missed * b + tilt * tr K``.
    """

    basis: Basis  # q (n x s)
    kept: Mask  # which pairs are kept: their distances are independent of each other over the face
    missed: float  # largest difference, relative to b, between b and the value that the kept distances imply
    tilt: float  # largest distance (Frobenius) between Q'MQ and its combination of kept matrices


def flatten(n: int, pairs: Index, squared: Array) -> Flat | None:
    """The face of the flat cliques of a graph of distances; None if there is none or rounding hides it."""
    found = _flat_cliques(n, pairs, squared)
    basis = _orthogonal(complement(n), found) if found else None
    if basis is None:
        return None
    kept, off, tilt = _spanned(basis.dense[pairs[:, 0]] - basis.dense[pairs[:, 1]], squared)
    kept |= tilt > CLEAR
    missed = float(np.max(off[~kept] / np.where(squared > 0, squared, 1.0)[~kept], initial=0.0))
    if missed > CLEAR or not kept.any():
        return None
    return Flat(basis, kept, missed, float(np.max(tilt[~kept], initial=0.0)))


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


def _flat_cliques(n: int, pairs: Index, squared: Array) -> list[tuple[Index, Array]]:
    """Flat cliques and their normals; an error is raised if distances are impossible."""
    D = np.zeros((n, n))
    D[pairs[:, 0], pairs[:, 1]] = D[pairs[:, 1], pairs[:, 0]] = squared
    found = [(clique, _normals(D, clique)) for clique in maximal_cliques(n, pairs)]
    return [(clique, normals) for clique, normals in found if len(normals)]


def _normals(D: Array, clique: Index) -> Array:
    """Orthonormal rows (k x clique) that the centred Gram matrix maps to zero, all with sum zero."""
    centred = scipy.linalg.helmert(clique.size)
    values, vectors = np.linalg.eigh(symmetrize(centred @ (-0.5 * D[np.ix_(clique, clique)]) @ centred.T))
    size = float(np.max(np.abs(values), initial=0.0))
    if values[0] < -CLEAR * size:
        shown = ", ".join(map(str, clique[:8].tolist())) + (", ..." if clique.size > 8 else "")
        raise ProblemError(
            f"the distances between points {shown} must be possible, got a Gram matrix with the negative "
            f"eigenvalue {values[0]:.1e} (the largest absolute eigenvalue is {size:.1e})"
        )
    flat = np.abs(values) <= FLAT * size
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


def _spanned(differences: Array, squared: Array) -> tuple[Mask, Array, Array]:
    """Which matrices q q' of rows q are linearly independent, and how far the others are from their span.

    The second array are the differences between the distances and those that the kept ones imply; the third
    are the distances of the matrices from the span. A matrix that is not near it has the distance one.
    """
    length = np.linalg.norm(differences, axis=1)
    kept, free = np.zeros(length.size, dtype=bool), np.flatnonzero(length > JOINED)
    unit = differences / np.where(length > JOINED, length, 1.0)[:, None]
    L, pivots, rank, _ = lapack.dpstrf((unit[free] @ unit[free].T) ** 2, lower=1, tol=FOLLOWED * FLAT)
    first, L = free[pivots[:rank] - 1], np.tril(L)[:rank, :rank]
    kept[first] = True
    share = squared[first] / length[first] ** 2
    value, rest = np.zeros(length.size), np.where(length > JOINED, 1.0, length**2)
    halfway = scipy.linalg.solve_triangular(L, (unit[first] @ unit.T) ** 2, lower=True)
    near = (length > JOINED) & (np.abs(1 - np.sum(halfway**2, axis=0)) <= FOLLOWED**2 * FLAT)
    guess = np.abs(scipy.linalg.solve_triangular(L.T, halfway[:, near]))
    for e, about in zip(np.flatnonzero(near).tolist(), guess.T, strict=True):
        support = about > SUPPORT * np.max(about)
        coefficient, off = _combination(unit[first[support]], unit[e])
        rest[e] = off * length[e] ** 2
        value[e] = float(coefficient @ share[support]) * length[e] ** 2
    return kept, np.abs(value - squared), rest


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

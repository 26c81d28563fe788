"""Vectors v with v'Kv = 0 for all feasible K, so that Kv = 0: constraints with matrix vv' and target 0."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.twofold import exact_product
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import TotalSum
from npkl_models.model.matrices import SparseMatrices


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

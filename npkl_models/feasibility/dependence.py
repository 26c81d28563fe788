"""Find equalities that contradict each other in rational arithmetic.

If numbers nu exist with sum_k nu_k M_k = 0 and nu'b not zero, no matrix at all meets <M_k, K> = b_k.
Elimination with fractions finds such numbers exactly, since all coefficients and values are floating-point
numbers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import TotalSum
from npkl_models.model.statement import Statement

MOST = 120  # most equalities for elimination
WIDE = 60  # most points with an equality on 1'K1, which has a coefficient for each two points
WORK = 3e5  # equalities times coefficients; rows fill up, and fractions get longer with each step
SMALL = 6  # largest basis over which equalities are written out

Row = dict[tuple[int, int], Fraction]


def linearly_contradictory(problem: Statement) -> bool:
    """Whether the equalities are proved to have no symmetric solution (over the basis, if it is small)."""
    return any(not row and value != 0 for row, value in _eliminated(problem))


def _eliminated(problem: Statement) -> list[tuple[Row, Fraction]]:
    """The rest of each equality after elimination of the earlier ones; empty if there are too many."""
    parts = [part for part in problem.constraints if part.equal]
    m = sum(part.functional.size for part in parts)
    total = any(isinstance(part.functional, TotalSum) for part in parts)
    if m > MOST or (total and problem.n > WIDE):
        return []
    if m * sum(part.functional.incidence.owner.size for part in parts) > WORK:
        return []
    pivots: dict[tuple[int, int], tuple[Row, Fraction]] = {}
    out: list[tuple[Row, Fraction]] = []
    for row, value in _rows(problem, parts):
        for place, (pivot, known) in pivots.items():
            share = row.get(place)
            if share:
                _subtract(row, pivot, share)
                value -= share * known
        out.append((row, value))
        if not row:
            continue
        first = next(iter(row))
        scale = row[first]
        pivots[first] = {at: x / scale for at, x in row.items()}, value / scale
    return out


def _subtract(row: Row, pivot: Row, share: Fraction) -> None:
    for at, x in pivot.items():
        left = row.get(at, Fraction(0)) - share * x
        if left:
            row[at] = left
        else:
            row.pop(at, None)


def _rows(problem: Statement, parts: list[Constraint]) -> list[tuple[Row, Fraction]]:
    """For each equality its coefficients of K_ij, i <= j (of U_ab over a small basis), and its value."""
    out: list[tuple[Row, Fraction]] = []
    for part in parts:
        t = part.functional.triplets()
        rows: list[Row] = [{} for _ in range(part.functional.size)]
        entries = zip(
            t.owner.tolist(), t.row.tolist(), t.column.tolist(), t.coefficient.tolist(), strict=True
        )
        for owner, i, j, coefficient in entries:
            at = (min(i, j), max(i, j))
            rows[owner][at] = rows[owner].get(at, Fraction(0)) + Fraction(coefficient)
        own = [{at: x for at, x in row.items() if x} for row in rows]
        if problem.basis is not None and problem.basis.size <= SMALL:
            own = [_in_basis(row, problem.Q) for row in own]
        out += zip(own, map(Fraction, part.value.tolist()), strict=True)
    return out


def _in_basis(row: Row, Q: np.ndarray) -> Row:
    """The coefficients of U_ab, a <= b, where K = Q U Q'."""
    exact = {i: [Fraction(x) for x in Q[i].tolist()] for at in row for i in at}
    out: Row = {}
    for a, b in combinations_with_replacement(range(Q.shape[1]), 2):
        total = Fraction(0)
        for (i, j), x in row.items():
            p, q = exact[i], exact[j]
            total += x * (p[a] * q[a] if a == b else p[a] * q[b] + p[b] * q[a])
        if total:
            out[a, b] = total
    return out

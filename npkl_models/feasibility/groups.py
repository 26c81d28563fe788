"""Points whose rows of V are multiples of one row, whatever V: K_ij K_ij = K_ii K_jj, or <vv', K> = 0.

If v_i and v_j are the only numbers of v that are not zero, v'Kv = 0 says that v_i row_i + v_j row_j = 0. A
squared distance of zero is such a square. Only multiples by plus or minus a power of two are taken, and only
if the data imply them without rounding. So the columns of a basis represent them exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from npkl_models.linalg import TINY, Array, Index, Mask
from npkl_models.linalg.twofold import exact_product
from npkl_models.model.functionals import DistanceDifferences, SquaredDistances, single_entries
from npkl_models.model.pairs import components
from npkl_models.model.statement import Statement


class Groups(NamedTuple):
    """row_i = share_i times the row of the group of i, which is zero if the group is gone."""

    label: Index
    share: Array  # plus or minus a power of two
    gone: Mask

    @property
    def rows(self) -> Index:
        """The same number for points with the same row; -1 for a row of zeros."""
        same = np.unique(np.column_stack([self.label, self.share]), axis=0, return_inverse=True)[1].ravel()
        return np.where(self.gone[self.label], -1, same)


class Links(NamedTuple):
    """row_i = factor times row_j."""

    i: Index
    j: Index
    factor: Array


@np.errstate(over="ignore", under="ignore")
def quotient(a: Array, b: Array, c: Array, d: Array) -> Array:
    """(a / b) / (c / d) where it is exactly plus or minus a power of two; else zero."""
    (a, p), (b, q), (c, r), (d, s) = map(np.frexp, (a, b, c, d))
    up, down = exact_product(a, d), exact_product(b, c)
    (high, e), (other, f) = np.frexp(up.high), np.frexp(down.high)
    sign = np.sign(high * other)
    same = (np.abs(high) == np.abs(other)) & (sign * np.ldexp(up.low, -e) == np.ldexp(down.low, -f))
    return np.where(same, np.ldexp(sign, e - f + p - q - r + s), 0.0)


def link_of(v: Array) -> Links | None:
    """The link that v'Kv = 0 makes, if v has two numbers that are not zero and fit; else None."""
    places, one = np.flatnonzero(v), np.ones(1)
    if places.size != 2:
        return None
    i, j = places[:1], places[1:]
    factor = -quotient(v[j], one, v[i], one)
    return Links(i, j, factor) if factor.all() else None


def groups_of(problem: Statement, links: list[Links]) -> Groups:
    """The groups that entries and distances imply, and known links."""
    held, found = entry_links(problem)
    links = [*links, found]
    for part in problem.constraints:
        if isinstance(part.functional, SquaredDistances):
            links.append(_equal(*(index[part.upper == 0] for index in part.functional.indices)))
    groups = _joined(problem.n, links, held == 0)
    while (more := _followed(problem, groups.rows)).i.size:
        links.append(more)
        groups = _joined(problem.n, links, held == 0)
    return groups


def _equal(i: Index, j: Index) -> Links:
    return Links(i, j, np.ones(i.size))


def entry_links(problem: Statement) -> tuple[Array, Links]:
    """The required numbers c K_ii, NaN where there are none, and the links that entries make."""
    held, by, links = np.full(problem.n, np.nan), np.ones(problem.n), []
    every = [(part, *single_entries(part.functional)) for part in problem.constraints]
    for part, e, i, j, c in every:
        high = np.where(c > 0, part.upper[e], part.lower[e])
        own = (i == j) & (part.equal | (high == 0))
        held[i[own]], by[i[own]] = high[own], c[own]
    for part, e, i, j, c in every:
        if part.equal:
            b = part.value[e]
            factor = quotient(b, c, held[j], by[j])
            same = (i != j) & (factor != 0) & (factor == quotient(held[i], by[i], b, c))
            links.append(Links(i[same], j[same], factor[same]))
    return held, _stacked(links)


def _followed(problem: Statement, rows: Index) -> Links:
    """Links of points that equal distances make: d_ij = d_ik, where i and j share a row."""
    out = []
    for part in problem.constraints:
        if isinstance(part.functional, DistanceDifferences) and part.equal:
            i, j, k = (index[part.value == 0] for index in part.functional.indices)
            a, b, c = rows[i], rows[j], rows[k]
            for mask, end in (((a == b) & (a != c), k), ((a == c) & (a != b), j)):
                out.append(_equal(i[mask], end[mask]))
    return _stacked(out)


def _stacked(links: list[Links]) -> Links:
    whole = [np.concatenate(part) for part in zip(*links, strict=True)] if links else [np.zeros(0)] * 3
    return Links(whole[0].astype(np.intp), whole[1].astype(np.intp), whole[2])


def _joined(n: int, links: list[Links], zero: Mask) -> Groups:
    """The groups of linked points; a group that the links contradict has a row of zeros."""
    i, j, factor = _stacked(links)
    count, label = components(n, np.stack([i, j], axis=1))
    gone = np.zeros(count, dtype=bool)
    share: Array = np.ones(n)
    if (factor != 1).any():
        share = _along(n, i, j, factor, label)
        top = np.zeros(count)
        np.maximum.at(top, label, np.abs(share))
        share = share / top[label]
        if not (np.abs(share) >= math.sqrt(TINY)).all():  # products of shares may leave the range
            one = factor == 1
            return _joined(n, [Links(i[one], j[one], factor[one])], zero)
        gone[label[i[share[i] != factor * share[j]]]] = True
    gone[label[zero]] = True
    return Groups(label, share, gone)


def _along(n: int, i: Index, j: Index, factor: Array, label: Index) -> Array:
    """The product of the factors along a tree that spans each group (n,)."""
    roots = np.unique(label, return_index=True)[1]
    ends = np.concatenate([i, j, np.full(roots.size, n)]), np.concatenate([j, i, roots])
    graph = sp.coo_array((np.ones(ends[0].size), ends), shape=(n + 1, n + 1)).tocsr()
    before = breadth_first_order(graph, n, directed=False)[1][:n]
    codes, first = np.unique(ends[0][: -roots.size] * n + ends[1][: -roots.size], return_index=True)
    each, before = np.concatenate([factor, 1 / factor])[first], np.where(before == n, np.arange(n), before)
    share: Array = np.ones(n)
    moved = np.flatnonzero(before != np.arange(n))
    share[moved] = each[np.searchsorted(codes, moved * n + before[moved])]
    while (before[before] != before).any():
        share *= share[before]
        before = before[before]
    return share

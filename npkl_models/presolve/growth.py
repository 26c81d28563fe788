"""A factor of all points, grown from a factor of the anchored points.

`npkl_models.feasibility.anchored` splits off components in which no value bounds the kernel. There, sqrt(t)
times the null vector costs next to nothing. For a large t, changes of size 1 / sqrt(t) in other rows give the
values of the component the wanted numbers, as far as these agree. The t with the smallest cost is taken. No
kernel may attain the infimum, which t tending to infinity approaches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.feasibility.anchored import Split
from npkl_models.linalg import TINY, UNIT, Array, Index, Mask, norm_bound
from npkl_models.model.functionals import Entries

ROUNDING = 100 * UNIT  # least cost of a unit of trace in an upper bound, relative to the norm
LARGEST = 1e14  # largest t
ROUNDS = 5  # rounds that drop changes which cost more than they gain


@dataclass(frozen=True)
class _Wishes:
    """Entries K_ij that touch a cell: i lies in the cell, and row j may change along the cell's column."""

    i: Index
    j: Index
    cell: Index
    share: Array  # entry of i in the null vector
    inner: Mask  # whether j lies in the cell too
    wanted: Array  # the value at which the loss is least
    slots: tuple[tuple[Index, int], ...]  # positions of each term's values, and the number of the term

    @property
    def change(self) -> Array:
        """The wanted change of row j, times sqrt(t)."""
        return self.wanted / self.share


def grown(parts: Split, V: Array) -> Array | None:
    """A factor (n x (r + cells)) from a factor V of the anchored points; None if a value is not an entry."""
    problem = parts.whole
    if not all(isinstance(term.functional, Entries) for term in problem.losses):
        return None
    wishes = _wishes(parts)
    if not np.isfinite(wishes.change).all():
        return None
    count, r = len(parts.cells), V.shape[1]
    groups, place = np.unique(wishes.cell * problem.n + wishes.j, return_inverse=True)
    cell, j = np.divmod(groups, problem.n)
    change, gain = _least(parts, wishes, groups.size, place)
    price = problem.cost.diagonal()[j] * change**2
    kept = np.ones(groups.size, dtype=bool)
    for _ in range(ROUNDS):
        t = _lengths(parts, np.bincount(cell[kept], price[kept], count).astype(float))
        kept = np.logical_and(kept, gain > price / t[cell])
    far = ~(wishes.inner & (t[wishes.cell] * wishes.share**2 >= np.abs(wishes.wanted)))
    kept &= np.bincount(place, weights=far, minlength=groups.size) > 0
    out = np.zeros((problem.n, r + count))
    out[parts.anchored, :r] = V
    for k, (points, x) in enumerate(parts.cells):
        out[points, r + k] = np.sqrt(t[k]) * x
    cell, j, change = cell[kept], j[kept], change[kept]
    out[j, r + cell] += np.where(np.abs(out[j, r + cell]) > 1, 0.0, change / np.sqrt(t[cell]))
    return out


def _wishes(parts: Split) -> _Wishes:
    problem = parts.whole
    cell, x = np.full(problem.n, -1), np.zeros(problem.n)
    for k, (points, vector) in enumerate(parts.cells):
        cell[points], x[points] = k, vector
    rows, columns, values, slots, at = [], [], [], [], 0
    for number, (term, kept) in enumerate(zip(problem.losses, parts.kept, strict=True)):
        left = ~kept
        i, j = (index[left] for index in term.functional.indices)
        zero = np.zeros(i.size)
        values.append(term.loss.conjugate_derivative(zero, term.target[left], term.weight[left]))
        rows.append(i)
        columns.append(j)
        slots.append((np.arange(at, at + i.size), number))
        at += i.size
    i, j = np.concatenate(rows), np.concatenate(columns)
    swap = (cell[i] < 0) | ((cell[j] >= 0) & (x[j] > x[i]))
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    return _Wishes(i, j, cell[i], x[i], cell[i] == cell[j], np.concatenate(values), tuple(slots))


def _least(parts: Split, wishes: _Wishes, count: int, place: Index) -> tuple[Array, Array]:
    """For each changed point and cell the change of least loss, and what it gains over no change."""
    wish = wishes.change
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, place, wish)
    np.maximum.at(high, place, wish)
    weight = wishes.share**2
    mean = np.bincount(place, weight * wish, count) / np.maximum(np.bincount(place, weight, count), 1e-300)
    options = np.stack([np.zeros(count), low, mean, high])
    losses = np.stack([np.bincount(place, _loss(parts, wishes, a[place]), count) for a in options])
    best, each = np.argmin(losses, axis=0), np.arange(count)
    return options[best, each], losses[0] - losses[best, each]


def _loss(parts: Split, wishes: _Wishes, change: Array) -> Array:
    out = np.zeros(wishes.wanted.size)
    for where, number in wishes.slots:
        term, left = parts.whole.losses[number], ~parts.kept[number]
        z = wishes.share[where] * change[where]
        out[where] = term.weight[left] * term.loss.value(z, term.target[left])
    return out


def _lengths(parts: Split, price: Array) -> Array:
    """For each cell, the t that minimises t times the cost of the null vector plus price / t.

    Without any cost, changes alter other values by 1 / t, and rounding errors are proportional to t.
    """
    C, size = parts.whole.cost, norm_bound(parts.whole.cost)
    if not size:
        return np.full(len(parts.cells), UNIT**-0.5)
    out = []
    for (points, x), own in zip(parts.cells, price, strict=True):
        cost = max(float(x @ (C[points][:, points] @ x)), 0.0) + ROUNDING * size
        out.append(min(max(np.sqrt(own) / np.sqrt(max(cost, TINY)), 1.0 / float(np.max(x) ** 2)), LARGEST))
    return np.array(out)

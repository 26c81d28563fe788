"""The parts of a problem on entries and distances that a low-rank solver needs: pairs and diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npkl_models.linalg import Array, Index, Mask
from npkl_models.model.conjugates import quadratic_conjugates
from npkl_models.model.functionals import Entries, SquaredDistances
from npkl_models.model.incidence import Incidence
from npkl_models.model.losses import Loss, known_as
from npkl_models.model.statement import Statement


@dataclass(frozen=True)
class Block:
    """A range of pairs that share a loss, and their positions in the problem."""

    loss: Loss
    term: int
    start: int
    stop: int
    source: Index  # position of each pair in its term

    @property
    def part(self) -> slice:
        """The range of the pairs as a slice."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class Structure:
    """Pairs i < j, and a quadratic b_i s + a_i s^2 in each s = K_ii.

    The value of a pair is K_ij, or the squared distance of its points if ``apart`` is True for the pair.
    """

    n: int
    i: Index
    j: Index
    target: Array
    weight: Array
    blocks: tuple[Block, ...]
    linear: Array  # b
    quadratic: Array  # a
    apart: Mask | None = None  # None if all values are entries

    @property
    def size(self) -> int:
        """Number of pairs."""
        return int(self.i.size)

    @property
    def distances(self) -> bool:
        """Whether there are pairs, and all their values are squared distances."""
        return self.apart is not None and bool(self.apart.all())

    @cached_property
    def incidence(self) -> Incidence:
        """The linear map from a kernel to the values of the pairs."""
        if self.apart is None:
            return Incidence.entries(self.i, self.j, self.n)
        own = np.flatnonzero(self.apart)
        i, j, one = self.i[own], self.j[own], np.ones(own.size)
        return Incidence(
            np.concatenate([np.arange(self.size), own, own]), np.concatenate([self.i, i, j]),
            np.concatenate([self.j, i, j]), np.concatenate([np.where(self.apart, -2.0, 1.0), one, one]),
            self.n, self.size,
        )  # fmt: skip

    def pair_values(self, V: Array, U: Array | None = None) -> Array:
        """The value of each pair: v_i'u_j (u = v by default), or ||v_i - v_j||^2 for distances."""
        if self.apart is None or U is not None:
            return self.incidence.of_product(V, V if U is None else U)
        one, other = V[self.i], V[self.j]
        z = np.einsum("er,er->e", one, other)
        off = one[self.apart] - other[self.apart]
        z[self.apart] = np.einsum("er,er->e", off, off)
        return z

    def diagonal_value(self, V: Array) -> float:
        """sum_i b_i s_i + a_i s_i^2: the losses on the diagonal up to a constant."""
        s = np.einsum("ir,ir->i", V, V)
        return float(self.linear @ s + self.quadratic @ s**2)


def structure(problem: Statement) -> Structure:
    """Split the terms of a problem on entries and distances into pairs and diagonal."""
    linear, quadratic = np.zeros(problem.n), np.zeros(problem.n)
    blocks: list[Block] = []
    parts: list[tuple[Index, Index, Array, Array]] = []
    apart: list[Mask] = []
    at = 0
    for k, term in enumerate(problem.losses):
        i, j = term.functional.indices
        own, off = np.flatnonzero(i == j), np.flatnonzero(i != j)
        if isinstance(term.functional, Entries):
            zero = np.zeros(own.size)
            np.add.at(linear, i[own], term.weight[own] * term.loss.derivative(zero, term.target[own]))
            np.add.at(quadratic, i[own], 0.5 * term.weight[own] * term.loss.curvature)
        if off.size:  # the distance of a point to itself is zero for every kernel
            blocks.append(Block(term.loss, k, at, at + off.size, off))
            parts.append((i[off], j[off], term.target[off], term.weight[off]))
            apart.append(np.full(off.size, isinstance(term.functional, SquaredDistances)))
            at += off.size
    i, j, target, weight = (
        np.concatenate(column) if parts else np.zeros(0, dtype=np.intp if a < 2 else float)
        for a, column in enumerate(zip(*parts, strict=True) if parts else [()] * 4)
    )
    which = np.concatenate(apart) if any(mask.any() for mask in apart) else None
    return Structure(problem.n, i, j, target, weight, tuple(blocks), linear, quadratic, which)


def unbounded_rows(problem: Statement) -> str | None:
    """The reason why a row problem has no minimum, or no step that surely descends; None if there is none."""
    distances = [term for term in problem.losses if isinstance(term.functional, SquaredDistances)]
    if distances or problem.basis is not None:
        return _of_distances(problem)
    if (reason := without_ramps(problem)) is not None:
        return reason
    pairs = structure(problem)
    curved = problem.cost.diagonal() + pairs.linear > 0
    if problem.constraints or bool(np.all(curved | (pairs.quadratic > 0))):
        return None
    return "needs a positive cost or a square loss on every diagonal entry, else rows are unbounded"


def _of_distances(problem: Statement) -> str | None:
    """The same reason for a problem with squared distances, or over all centred kernels."""
    every = all(isinstance(term.functional, SquaredDistances) for term in problem.losses)
    if problem.basis is not None and not (problem.losses and every):
        return "needs squared distances alone in a basis, since entries change with the centre of the rows"
    if problem.constraints:
        return "takes squared distances only without row norms"
    if (reason := without_ramps(problem)) is not None:
        return f"{reason}, on squared distances"
    pairs = structure(problem)
    held, linear = pairs.quadratic > 0, pairs.linear.copy()
    for block in pairs.blocks:
        if pairs.apart is None or not pairs.apart[block.start]:
            continue
        i, j, w = pairs.i[block.part], pairs.j[block.part], pairs.weight[block.part]
        if block.loss.quadratic and block.loss.curvature == 0:
            y = w * block.loss.derivative(np.zeros(i.size), pairs.target[block.part])
            np.add.at(linear, i, y)
            np.add.at(linear, j, y)
        elif block.loss.quadratic:
            held[i] = held[j] = True
    if bool(np.all(held | (_own_cost(problem) + linear > 0))):
        return None
    return "needs a square loss on a distance, or a positive cost, of every point, else rows are unbounded"


def without_ramps(problem: Statement) -> str | None:
    """The reason why no sweep takes a loss; None if each is logistic or a ramp in its slope."""
    return quadratic_conjugates(term for term in problem.losses if known_as(term.loss) != "logistic")


def _own_cost(problem: Statement) -> Array:
    """The diagonal of C; for centred kernels the diagonal of HCH, H = I - 11'/n."""
    own: Array = problem.cost.diagonal()
    if problem.basis is None:
        return own
    means = np.asarray(problem.cost @ np.ones(problem.n)) / problem.n
    return own - 2 * means + float(means.mean())

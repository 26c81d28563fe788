"""The factorised objective f(V) with gradient and Hessian products, for any problem.

f(V) = <C V, V> + sum_e phi_e(z_e(V)) + R(V V'), where phi_e is the loss if the loss is smooth. Otherwise
phi_e is the shifted Moreau envelope (`Convex.smoothed`) of the loss. Every constraint also has a phi_e: the
envelope of its indicator. With a basis, V = Q W, and the unknown is W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from npkl_models.feasibility.contraction import of_unknown
from npkl_models.linalg import Array, Matrix, norm_bound
from npkl_models.linalg.compile import worth
from npkl_models.lowrank.edges import Convex, Derivatives, Met, WeightedLoss, Within, move_cost
from npkl_models.lowrank.factor.held import held_rows
from npkl_models.lowrank.factor.incomplete import ADD_BENDS, PER_NUMBER, STEPS, IncompleteHessian
from npkl_models.lowrank.factor.preconditioners import (
    FlatPreconditioner,
    HessianBlocks,
    LaplacianPreconditioner,
)
from npkl_models.lowrank.factor.spectral_term import SpectralTerm
from npkl_models.model.functionals import Functional, SquaredDistances
from npkl_models.model.incidence import Adjoint, Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.solve.cost import CALL, PRODUCT, product_entries

VECTORS = 4e-8  # seconds of an evaluation for each entry of the factor, besides a call


class Channel(NamedTuple):
    """A range of values with one convex function."""

    functional: Functional
    convex: Convex
    part: slice
    scale: float | Array = 1.0  # factor of the penalty, or one for each value


class FactorObjective:
    """Value, gradient and Hessian products of f at a factor.

    ``y`` are the multipliers of the channels whose function is not smooth. The penalty of such a channel is
    ``beta`` times its scale; that of a constraint is first what cost and weakest loss pull it with, for a
    kernel of typical size, and can grow. ``soft`` treats smooth losses like those that are not.
    """

    distances: bool  # there is a basis and all values are squared distances

    def __init__(self, problem: Statement, beta: float = 1.0, soft: bool = False) -> None:
        self.problem, self.held = problem, held_rows(problem)
        self.channels, self.beta = _channels(problem, beta, soft), beta
        self.size = self.channels[-1].part.stop
        self.y = np.zeros(self.size)
        self.augmented = np.zeros(self.size, dtype=bool)
        self.scale = np.ones(self.size)
        for channel in self.channels:
            self.augmented[channel.part] = not channel.convex.smooth
            self.scale[channel.part] = channel.scale
        self.spectral = SpectralTerm(problem.regularizer)
        self.smooth = not self.augmented.any() and not self.spectral.constrained
        every = Incidence.stack([channel.functional.incidence for channel in self.channels])
        self.incidence, Q = of_unknown(problem, every)
        self.Q: Matrix | None = Q if Q is None or problem.basis is None else problem.basis.Q
        moved = [one for one in self.channels if not isinstance(one.convex, Met)]
        kept = all(isinstance(channel.functional, SquaredDistances) for channel in moved)
        self.distances = kept and self.Q is not None
        C = problem.cost if self.Q is not None else sp.csr_array(problem.restrict(problem.cost))
        self.typical = max((float(term.weight.mean()) for term in problem.losses), default=1.0)
        self.work, self._entries = 0.0, product_entries(problem)
        self.S, self.bends = Adjoint(self.incidence, C), Adjoint(self.incidence)

    def count(self, columns: int, products: int = 1) -> None:
        """Add an evaluation with a number of products to the counted work."""
        vectors = VECTORS * self.problem.order * columns
        self.work += CALL + vectors + PRODUCT * self._entries * columns * products

    def lift(self, W: Array) -> Array:
        """Q W; W itself if there is no basis or only shared rows."""
        return W if self.Q is None else self.Q @ W

    def drop(self, G: Array) -> Array:
        """The gradient in W from the gradient in V."""
        return G if self.Q is None else self.Q.T @ G

    def values(self, V: Array) -> Array:
        """All z at V V'."""
        return self.incidence.of_product(V, V)

    def at(self, W: Array) -> Point:
        """Evaluate value and gradient at a factor."""
        self.count(W.shape[1])
        V = self.lift(W)
        z = self.values(V)
        value, slope, bend = self.rules(z)
        SV = self.S(slope) @ V
        spectral, gradient = self.spectral.value_and_gradient(W)
        linear = float(np.sum(V * SV)) - float(slope @ z)  # <C, VV'>, since <S, VV'> = <C, VV'> + y'z
        total = linear + float(np.sum(value)) + spectral
        G = self.free(2 * (self.drop(SV) + gradient))
        return Point(W, V, z, total, slope, bend, G)

    def hessian(self, point: Point) -> Callable[[Array], Array]:
        """The map of D to the Hessian of f at the point applied to D."""
        S, bends = self.S(point.slope).copy(), self.curvature(point)
        bent = bool(np.any(point.bend))
        second = self.spectral.hessian(point.W)

        def product(D: Array) -> Array:
            self.count(D.shape[1], 1 + bent)
            E = self.lift(D)
            out = S @ E
            out *= 2.0
            bends(E, out)
            out = self.drop(out)
            return self.free(out if self.spectral.R is None else out + 2 * second(D))

        return product

    def curvature(self, point: Point) -> Callable[[Array, Array], None]:
        """A function of E (n x r) that adds the products of the phi'' part of the Hessian to its argument."""
        of, V = self.incidence, point.V
        if not np.any(point.bend):
            return lambda E, out: None
        if of.identity and worth(STEPS * PER_NUMBER * V.size):
            weight = point.bend * of.coefficient**2
            V = np.require(V, requirements=["C", "W"])
            return lambda E, out: ADD_BENDS(
                *of.indices, weight, V, np.require(E, requirements=["C", "W"]), out
            )

        def add(E: Array, out: Array) -> None:
            out += 2 * (self.bends(point.bend * of.along(V, E)) @ V)

        return add

    def free(self, G: Array) -> Array:
        """A gradient, or a product with the Hessian, with zeros in held rows; G itself changes."""
        if self.held is not None:
            G[self.held.rows] = 0.0
        return G

    def preconditioner(self, point: Point) -> Callable[[Array], Array]:
        """An approximate inverse of the Hessian: of the rows, and of the cost if its graph is nearly flat."""
        rows, flat = self.row_preconditioner(point), self._flat
        smooth = None if flat is None else flat.at(self._blocks.weights(point.V, point.bend))
        return rows if smooth is None else lambda G: rows(G) + self.free(smooth(G))

    def row_preconditioner(self, point: Point) -> Callable[[Array], Array]:
        """An approximate inverse of the Hessian: row blocks with couplings, or a Laplacian for distances."""
        if self.distances:
            solve = self._springs.at(point.z, point.slope, point.bend, point.W.shape[1])
            return solve if self.held else lambda G: self.drop(solve(self.lift(G)))
        if self.Q is not None:
            return lambda G: 0.5 * G
        blocks: HessianBlocks | IncompleteHessian = self._blocks
        if IncompleteHessian.worth(self._blocks, point.W.shape[1]):
            blocks = self._couplings
        inverse = blocks.at(point.V, self.S(point.slope).diagonal(), point.bend)
        return lambda G: self.free(inverse(G))

    @cached_property
    def _blocks(self) -> HessianBlocks:
        return HessianBlocks(self.incidence)

    @cached_property
    def _couplings(self) -> IncompleteHessian:
        return IncompleteHessian(self._blocks)

    @cached_property
    def _flat(self) -> FlatPreconditioner | None:
        """The factorised cost, if there is no basis and the graph of the cost is nearly flat."""
        C = self.problem.cost
        return FlatPreconditioner(C) if self.problem.basis is None and FlatPreconditioner.worth(C) else None

    @cached_property
    def _springs(self) -> LaplacianPreconditioner:
        size = norm_bound(self.problem.cost) or 1.0
        if self.held is None or self.Q is None:
            return LaplacianPreconditioner(self.incidence, size)
        moved = sp.csc_array(self.Q)[:, self.held.free]
        return LaplacianPreconditioner(self.incidence, size, sp.csr_array(moved), self.held.free)

    def residual(self, point: Point) -> float:
        """The cost of the next move of the multipliers."""
        new = point.slope[self.augmented]
        scale = self.scale[self.augmented]
        miss = (new - self.y[self.augmented]) / (self.beta * scale)
        return move_cost(miss, new, self.typical * scale) + self.spectral.residual(point.W)

    def rules(self, z: Array) -> Derivatives:
        """(value, slope, bend) of every phi_e at z."""
        out = np.zeros((3, self.size))
        for _, convex, part, scale in self.channels:
            out[:, part] = convex.smoothed(z[part], self.y[part], self.beta * scale)
        return out[0], out[1], out[2]

    def begin_with(self, y: Multipliers, beta: float) -> None:
        """Begin with given multipliers and the penalty that belongs to them, the same for all losses."""
        for k in range(len(self.problem.losses)):
            self.channels[k] = self.channels[k]._replace(scale=1.0)
            self.scale[self.channels[k].part] = 1.0
        every = np.concatenate(y.terms)
        self.y, self.beta = np.where(self.augmented, every, 0.0), beta

    def update_multipliers(self, point: Point) -> None:
        """Move all multipliers to the slopes at a point."""
        self.y = np.where(self.augmented, point.slope, 0.0)
        self.spectral.update_multiplier(point.W)

    def multipliers(self, point: Point) -> Multipliers:
        """The dual point of the problem that belongs to this point."""
        parts = [point.slope[channel.part] for channel in self.channels]
        if self.held is not None:
            known = iter(self.held.multipliers(self.drop(self.S(point.slope) @ point.V)))
            met = (isinstance(channel.convex, Met) for channel in self.channels)
            parts = [next(known) if own else part for own, part in zip(met, parts, strict=True)]
        return self.problem.split_multipliers(parts)


@dataclass(frozen=True)
class Point:
    """f and its first derivatives at a factor W (V = Q W)."""

    W: Array
    V: Array
    z: Array
    value: float
    slope: Array
    bend: Array
    gradient: Array

    def bent(self, a: Array) -> float:
        """The part of the second derivatives phi'' in the curvature along a direction with dz = a."""
        return float(self.bend @ a**2)


def typical_size(problem: Statement) -> float:
    """The typical size of the entries of a feasible kernel, from the bounds of the constraints, or one."""
    every = np.abs(np.concatenate([np.zeros(0), *(part.value for part in problem.constraints)]))
    return float(np.mean(every[every != 0])) if every.any() else 1.0


def _channels(problem: Statement, beta: float, soft: bool) -> list[Channel]:
    slopes = np.abs(np.concatenate([np.zeros(1), *problem.derivatives(np.zeros((problem.n, 1))).losses]))
    pull = float(np.min(slopes[slopes > 0])) if slopes.any() else 0.0
    stiffness = (norm_bound(problem.cost) + pull or 1.0) / beta
    size = typical_size(problem)
    found: list[tuple[Functional, Convex, float | Array]] = [
        (t.functional, WeightedLoss(t.loss, t.target, t.weight, soft), t.weight / t.weight.max())
        for t in problem.losses
    ]
    met = held_rows(problem) is not None
    found += [
        (e.functional, Met() if met and e.equal else Within(e.lower, e.upper), stiffness / size)
        for e in problem.constraints
    ]
    out, at = [], 0
    for functional, convex, scale in found:
        out.append(Channel(functional, convex, slice(at, at + functional.size), scale))
        at += functional.size
    return out

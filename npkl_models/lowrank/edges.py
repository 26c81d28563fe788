"""Smooth models of the losses of the pairs of a `Structure`.

Row solvers use losses only through `EdgeModel`: values, derivatives and curvatures of all pairs. A loss with
a kink is replaced by its Moreau envelope, shifted by multipliers. The slope of this envelope always lies in
the domain of the conjugate. A step of the method of multipliers sets the multipliers to this slope.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.structure import Structure
from npkl_models.lowrank.tolerances import STEEP
from npkl_models.model.box import Box
from npkl_models.model.losses import Loss, known_as
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

BETA_FIRST = 0.3  # the first beta of kinked losses, as a share of the largest weight
Derivatives = tuple[Array, Array, Array]  # value, slope, bend


def move_cost(miss: Array, y: Array, weight: Array | float) -> float:
    """What a move of multipliers to y may change of the objective: sum |z - u| (|y| + weight)."""
    return float(np.sum(np.abs(miss) * (np.abs(y) + weight)))


class Convex(ABC):
    """A convex function f of each value, given by its proximal map."""

    smooth: bool = False

    @abstractmethod
    def prox(self, x: Array, beta: float | Array) -> tuple[Array, Array, Array]:
        """u = argmin f(u) + beta / 2 (u - x)^2, f(u), and the derivative of u in x."""

    def smoothed(self, z: Array, y: Array, beta: float | Array) -> Derivatives:
        """Value, slope and bend of min_u f(u) + y (z - u) + beta / 2 (z - u)^2, or of a smooth f itself."""
        u, value, slope = self.prox(z + y / beta, beta)
        miss = z - u
        return value + (y + 0.5 * beta * miss) * miss, y + beta * miss, beta * (1 - slope)


class WeightedLoss(Convex):
    """The function weight * loss(z; target); ``soft`` means its envelope even if it is smooth."""

    def __init__(self, loss: Loss, target: Array, weight: Array, soft: bool = False) -> None:
        self.loss, self.target, self.weight = loss, target, weight
        self.smooth = loss.smooth and not soft

    def prox(self, x: Array, beta: float | Array) -> tuple[Array, Array, Array]:
        f, t, step = self.loss, self.target, self.weight / beta
        u = f.prox(x, t, step)
        return u, self.weight * f.value(u, t), f.prox_slope(x, t, step)

    def smoothed(self, z: Array, y: Array, beta: float | Array) -> Derivatives:
        if not self.smooth:
            return super().smoothed(z, y, beta)
        f, t, w = self.loss, self.target, self.weight
        return w * f.value(z, t), w * f.derivative(z, t), w * f.second_derivative(z, t)


@dataclass(frozen=True)
class Within(Convex):
    """The indicator of lower <= z <= upper."""

    lower: Array | float
    upper: Array | float

    def prox(self, x: Array, beta: float | Array) -> tuple[Array, Array, Array]:
        inside = (self.lower < x) & (x < self.upper)
        return np.clip(x, self.lower, self.upper), np.zeros_like(x), inside.astype(float)


class Met(Convex):
    """The function of an equality that every point meets: zero, without a slope."""

    smooth = True

    def prox(self, x: Array, beta: float | Array) -> tuple[Array, Array, Array]:
        return x, np.zeros_like(x), np.ones_like(x)

    def smoothed(self, z: Array, y: Array, beta: float | Array) -> Derivatives:
        zero = np.zeros_like(z)
        return zero, zero, zero


class EdgeModel:
    """Smooth model of the losses of the pairs, see `Convex.smoothed`.

    y and beta are the multipliers and the penalty of the pairs with a kinked loss. Smooth losses are replaced
    by their envelopes, too, while beta is below ``hard``.
    """

    def __init__(self, pairs: Structure, beta: float = 1.0, hard: float = 0.0) -> None:
        self.pairs = pairs
        self.y = np.zeros(pairs.size)
        self.beta = beta
        self.hard = hard
        self.quadratic = all(block.loss.quadratic for block in pairs.blocks)
        self._owner = np.zeros(pairs.size, dtype=np.intp)
        for k, block in enumerate(pairs.blocks):
            self._owner[block.part] = k

    @property
    def exact(self) -> bool:
        """Whether smooth losses are themselves in the model."""
        return self.beta >= self.hard

    @property
    def smooth(self) -> bool:
        """Whether no loss is replaced by its envelope."""
        return not any(self.replaced(block.loss) for block in self.pairs.blocks)

    def replaced(self, loss: Loss) -> bool:
        """Whether the loss is replaced by its envelope."""
        return not (self.exact and loss.smooth)

    def evaluate(self, z: Array) -> Derivatives:
        """(value, derivative, second derivative) at values z of the pairs."""
        out, pairs = np.empty((3, z.size)), self.pairs
        for block in pairs.blocks:
            own = block.part
            soft = self.replaced(block.loss)
            f = WeightedLoss(block.loss, pairs.target[own], pairs.weight[own], soft)
            out[:, own] = f.smoothed(z[own], self.y[own], self.beta)
        return out[0], out[1], out[2]

    def value(self, z: Array) -> float:
        """Sum of the model over all pairs."""
        return float(np.sum(self.evaluate(z)[0])) if z.size else 0.0

    def losses(self, z: Array) -> float:
        """Sum of the exact losses over all pairs."""
        parts = [(b.loss.value(z[b.part], self.pairs.target[b.part]), b.part) for b in self.pairs.blocks]
        return sum(float(self.pairs.weight[part] @ value) for value, part in parts)

    def derivative(self, z: Array) -> Array:
        """Derivative of the model of each pair."""
        return self.evaluate(z)[1] if z.size else z

    def ramps(self) -> tuple[Array, Array, Array, Array, Array]:
        """(kappa, shift, low, high, sign): the derivative of a pair at z is clip(kappa z + shift, low, high).

        The losses must have conjugates that are quadratic on an interval (`quadratic_conjugates`), or be
        logistic: then ``sign`` is the target, ``high`` the weight, and the other parts are zero. The sign of
        a ramp is 0.
        """
        if not self.pairs.size:
            return (np.zeros(0),) * 5
        box, sign, kinked = self._box, np.zeros(self.pairs.size), np.zeros(self.pairs.size, dtype=bool)
        for block in self.pairs.blocks:
            kinked[block.part] = self.replaced(block.loss)
            if known_as(block.loss) == "logistic":
                sign[block.part] = self.pairs.target[block.part]
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa = np.where(kinked, self.beta / (1 + self.beta * box.q), 1 / box.q)
            shift = np.where(kinked, self.y * kappa / self.beta, 0.0) - kappa * box.b
        fixed, soft = box.lower == box.upper, sign != 0
        kappa[fixed | soft], shift[fixed], shift[soft] = 0.0, box.lower[fixed], 0.0
        low, high = np.where(soft, 0.0, box.lower), np.where(soft, self.pairs.weight, box.upper)
        return kappa, shift, low, high, sign

    @cached_property
    def _box(self) -> Box:
        pairs = self.pairs
        return Box.join([b.loss.box(pairs.target[b.part], pairs.weight[b.part]) for b in pairs.blocks])

    def prox(self, x: Array, step: Array, which: Index) -> Array:
        """argmin_z step f_e(z) + (z - x)^2 / 2 for the pairs ``which``, with the exact losses."""
        out = np.empty_like(x)
        owner = self._owner[which]
        for k, block in enumerate(self.pairs.blocks):
            m = owner == k
            e = which[m]
            scaled = step[m] * self.pairs.weight[e]
            out[m] = block.loss.prox(x[m], self.pairs.target[e], scaled)
        return out

    def update_multipliers(self, z: Array) -> None:
        """Set y to y + beta (z - u) on the kinked pairs."""
        new = self.derivative(z)
        for block in self.pairs.blocks:
            if self.replaced(block.loss):
                self.y[block.part] = new[block.part]

    def primal_residual(self, new: Array) -> float:
        """The cost of a move of the kinked pairs' multipliers to ``new``, y + beta (z - u)."""
        kinked = [block.part for block in self.pairs.blocks if self.replaced(block.loss)]
        miss = (new - self.y) / self.beta
        return sum(move_cost(miss[part], new[part], self.pairs.weight[part]) for part in kinked)

    def multipliers(self, problem: Statement, V: Array, own: Array, rows: Array | None) -> Multipliers:
        """The dual point of the whole problem at V, whose pairs have the multipliers ``own``."""
        y = problem.derivatives(V)
        for block in self.pairs.blocks:
            y.losses[block.term][block.source] = own[block.part]
        return Multipliers(y.losses, y.constraints if rows is None else (rows,))

    def softer(self, z: Array, flat: bool) -> tuple[float, bool]:
        """(beta, soft) for steps that move all rows at values z: smooth losses are softened if ``soft``.

        Where losses are steep beside what the cost asks of the pairs, all values must stay where they are
        while rows move, so that a step leaves its valley after a short way. The slope of a pair is what the
        cost asks of it: sum |slope| / sum |z| is a curvature at which a value moves by its own size. Beta is
        the geometric mean of this curvature and of the present one. Smooth losses are softened where the
        graph of the cost is nearly ``flat``: on other graphs that took up to twice as long (ledger.py).
        """
        _, slope, bend = self.evaluate(z)
        present, size = float(np.max(bend, initial=0.0)), float(np.sum(np.abs(z)))
        if not (present > 0 and size > 0):
            return self.beta, False
        beta = np.sqrt(present * float(np.sum(np.abs(slope))) / size)
        soft = flat and self.exact and bool(0 < beta * STEEP < present)
        return (beta if soft else min(self.beta, beta or self.beta)), soft


def first_model(problem: Statement, pairs: Structure, cold: bool) -> EdgeModel:
    """The model of the losses to begin with.

    From a random start (``cold``), square losses that are steep beside the cost are softened: envelopes with
    a penalty of the size of the cost let rows move together, and multipliers keep what was reached.
    """
    exact = EdgeModel(pairs, beta=BETA_FIRST * float(np.max(pairs.weight, initial=1.0)))
    entries = pairs.size > 0 and pairs.apart is None and not isinstance(pairs, Comparisons)
    if not (cold and entries and exact.quadratic):
        return exact
    scale = float(np.mean(np.abs(problem.cost.diagonal())))
    hard = 2 * STEEP * scale  # the curvature of the square is two
    return EdgeModel(pairs, beta=scale, hard=hard) if 0 < hard < float(exact.ramps()[0].max()) else exact

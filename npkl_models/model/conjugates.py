"""The conjugates of a problem's values as quadratics on boxes, perhaps with an entropy.

Every value z_e = <M_e, K> has a multiplier y_e with f_e*(y) = b y + q y^2 / 2 on [lower, upper]. For a loss,
b and q come from its conjugate. For an equality, b is the value, q = 0, and y is free. For a row norm, b is
the bound, q = 0 and y >= 0. The logistic loss adds h (a ln a + (1 - a) ln(1 - a)) with a = (y - lower) /
(upper - lower). Conic methods need h = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from npkl_models.linalg import Array, Mask
from npkl_models.model.functionals import Entries
from npkl_models.model.incidence import Incidence
from npkl_models.model.losses import Loss
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers


@dataclass(frozen=True, eq=False)
class Box:
    """f*(y) = b y + q y^2 / 2 on [lower, upper], elementwise, plus ``entropy`` (a ln a + (1 - a) ln(1 - a)).

    a = (y - lower) / (upper - lower), and ``entropy`` is zero for most losses.
    """

    b: Array
    q: Array
    lower: Array
    upper: Array
    entropy: Array

    @property
    def below(self) -> Mask:
        """A mask of the intervals with a finite lower end."""
        return np.isfinite(self.lower)

    @property
    def above(self) -> Mask:
        """A mask of the intervals with a finite upper end."""
        return np.isfinite(self.upper)

    @property
    def count(self) -> int:
        """The number of finite ends."""
        return int(self.below.sum() + self.above.sum())

    def conjugate(self, y: Array) -> float:
        """The sum of f*(y)."""
        total = float(self.b @ y + 0.5 * (self.q @ y**2))
        return total + float(self._entropies(y).sum()) if self.mixed.any() else total

    def each(self, y: Array) -> Array:
        """f*(y) of each multiplier."""
        out = self.b * y + 0.5 * self.q * y**2
        out[self.mixed] += self._entropies(y)
        return out

    def slope(self, y: Array) -> Array:
        """The derivatives of f* at y, inside the intervals."""
        out = self.b + self.q * y
        if self.mixed.any():
            a, rest = self._shares(y)
            out[self.mixed] += self._steepness * (np.log(a) - np.log(rest))
        return out

    def bend(self, y: Array) -> Array:
        """The second derivatives of f* at y, inside the intervals."""
        if not self.mixed.any():
            return self.q
        out, (a, rest) = self.q.copy(), self._shares(y)
        width = (self.upper - self.lower)[self.mixed]
        out[self.mixed] += self._steepness / (width * a * rest)
        return out

    @cached_property
    def mixed(self) -> Mask:
        """Which f* have an entropy."""
        return self.entropy > 0

    def _entropies(self, y: Array) -> Array:
        a, rest = self._shares(y)
        return self.entropy[self.mixed] * (xlogy(a, a) + xlogy(rest, rest))

    @property
    def _steepness(self) -> Array:
        return self.entropy[self.mixed] / (self.upper - self.lower)[self.mixed]

    def _shares(self, y: Array) -> tuple[Array, Array]:
        """a and 1 - a of the multipliers with an entropy."""
        at, low, high = y[self.mixed], self.lower[self.mixed], self.upper[self.mixed]
        return (at - low) / (high - low), (high - at) / (high - low)

    def kept(self, mask: Mask) -> Box:
        """The intervals of the mask alone."""
        return Box(*(part[mask] for part in (self.b, self.q, self.lower, self.upper, self.entropy)))

    @classmethod
    def of_loss(cls, loss: Loss, target: Array, weight: Array) -> Box:
        """The box of weight loss(z; target); b and q follow from two points of the domain."""
        lower, upper = loss.domain(target, weight)
        if loss.entropy:
            zero = np.zeros_like(target)
            return cls(zero, zero, lower, upper, loss.entropy * weight)
        first = loss.project(np.zeros_like(target), target, weight)
        second = loss.project(first + weight, target, weight)
        second = np.where(second == first, loss.project(first - weight, target, weight), second)
        slopes = [loss.conjugate_derivative(y, target, weight) for y in (first, second)]
        apart = second - first
        q = np.divide(slopes[1] - slopes[0], apart, out=np.zeros_like(apart), where=apart != 0)
        return cls(slopes[0] - q * first, q, lower, upper, np.zeros_like(q))

    @classmethod
    def half_line(cls, bound: Array) -> Box:
        """The box of the indicator of z <= bound."""
        zero = np.zeros_like(bound)
        return cls(bound, zero, zero, np.full_like(bound, np.inf), zero)

    @classmethod
    def join(cls, parts: list[Box]) -> Box:
        """The boxes of all parts, one after the other."""
        each = ((part.b, part.q, part.lower, part.upper, part.entropy) for part in parts)
        columns = zip(*each, strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def quadratic_conjugates(problem: Statement) -> str | None:
    """The reason why the conjugate of a loss is not quadratic on its domain; None if all are."""
    for term in problem.terms:
        if term.loss.entropy:
            return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return boxed_conjugates(problem)


def boxed_conjugates(problem: Statement) -> str | None:
    """The reason why the conjugate of a loss is not that of a `Box`; None if all are."""
    for term in problem.terms:
        t, w = term.target, term.weight
        box = Box.of_loss(term.loss, t, w)
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.project(share * w)
            with np.errstate(over="ignore", invalid="ignore"):
                value = term.loss.conjugate(y, t, w)
                model = box.each(y)
            if not np.allclose(value, model, rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return None


def parts_of(problem: Statement) -> tuple[list[Incidence], list[Box]]:
    """The values of terms, equalities and row norms, in this order, and their conjugates."""
    n, radius = problem.n, problem.regularizer.row_radius
    incidences = [part.functional.incidence for part in problem.parts]
    boxes = [Box.of_loss(term.loss, term.target, term.weight) for term in problem.terms]
    for part in problem.equalities:
        zero = np.zeros_like(part.value)
        boxes.append(Box(part.value, zero, *part.domain, zero))
    if radius is not None:
        every = np.arange(n)
        incidences.append(Entries(n, (every, every)).incidence)
        boxes.append(Box.half_line(np.full(n, radius**2)))
    return incidences, boxes


def projected(problem: Statement, y: Multipliers) -> Multipliers:
    """The nearest multipliers in the domain of the conjugates."""
    terms = tuple(term.project(part) for term, part in zip(problem.terms, y.terms, strict=True))
    rows = None
    if problem.regularizer.row_multipliers:
        rows = np.maximum(np.zeros(problem.n) if y.rows is None else y.rows, 0.0)
    return replace(y, terms=terms, rows=rows)

"""The conjugates of a problem's values as quadratics on boxes, the form that a conic method needs.

Every value z_e = <M_e, K> has a multiplier y_e with f_e*(y) = b y + q y^2 / 2 on [lower, upper]. For a loss,
b and q come from its conjugate. For an equality, b is the value, q = 0, and y is free. For a row norm, b is
the bound, q = 0 and y >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from npkl_models.linalg import Array, Mask
from npkl_models.model.functionals import Entries
from npkl_models.model.incidence import Incidence
from npkl_models.model.losses import Loss
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers


@dataclass(frozen=True, eq=False)
class Box:
    """f*(y) = b y + q y^2 / 2 on [lower, upper], elementwise."""

    b: Array
    q: Array
    lower: Array
    upper: Array

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
        return float(self.b @ y + 0.5 * (self.q @ y**2))

    @classmethod
    def of_loss(cls, loss: Loss, target: Array, weight: Array) -> Box:
        """The box of weight loss(z; target); b and q follow from two points of the domain."""
        lower, upper = loss.domain(target, weight)
        first = loss.project(np.zeros_like(target), target, weight)
        second = loss.project(first + weight, target, weight)
        second = np.where(second == first, loss.project(first - weight, target, weight), second)
        slopes = [loss.conjugate_derivative(y, target, weight) for y in (first, second)]
        apart = second - first
        q = np.divide(slopes[1] - slopes[0], apart, out=np.zeros_like(apart), where=apart != 0)
        return cls(slopes[0] - q * first, q, lower, upper)

    @classmethod
    def half_line(cls, bound: Array) -> Box:
        """The box of the indicator of z <= bound."""
        zero = np.zeros_like(bound)
        return cls(bound, zero, zero, np.full_like(bound, np.inf))

    @classmethod
    def join(cls, parts: list[Box]) -> Box:
        """The boxes of all parts, one after the other."""
        columns = zip(*((part.b, part.q, part.lower, part.upper) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def quadratic_conjugates(problem: Statement) -> str | None:
    """The reason why the conjugate of a loss is not quadratic on its domain; None if all are."""
    for term in problem.terms:
        t, w = term.target, term.weight
        box = Box.of_loss(term.loss, t, w)
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.project(share * w)
            with np.errstate(over="ignore", invalid="ignore"):
                value, model = term.loss.conjugate(y, t, w), box.b * y + 0.5 * box.q * y**2
            if not np.allclose(value, model, rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return f"needs losses whose conjugate is quadratic on its domain, got {term.loss.name}"
    return None


def parts_of(problem: Statement) -> tuple[list[Incidence], list[Box]]:
    """The values of terms, equalities and row norms, in this order, and their conjugates."""
    n, radius = problem.n, problem.regularizer.row_radius
    incidences = [part.functional.incidence for part in problem.parts]
    boxes = [Box.of_loss(term.loss, term.target, term.weight) for term in problem.terms]
    for part in problem.equalities:
        boxes.append(Box(part.value, np.zeros_like(part.value), *part.domain))
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

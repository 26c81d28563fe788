r"""The same problem in other units.

Let t be the unit of cost and s the unit of kernels: C = t C', K = s K', and the other data match. The
objective is t s times the objective of the problem with C', and multipliers are t times the multipliers of
that problem. K is feasible for one problem if K / s is feasible for the other. Powers of two are exact, so
that a proof for one problem is a proof for the other. Other units round the numbers, and serve solvers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.linalg.owned import shell
from npkl_models.model.facts import fact
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

TINIEST = 1e-280  # below it a change of units may underflow, and numbers are rounded away from the optimum


@dataclass(frozen=True, eq=False)
class Units:
    """A problem, the same problem in other units, and the conversions between the two."""

    whole: Statement  # the problem as it was stated
    problem: Statement  # the problem in its own units
    cost: float = 1.0  # the unit t of cost, and the square root of the unit s of kernels
    root: float = 1.0

    @property
    def same(self) -> bool:
        """Whether the units are those of the statement."""
        return self.problem is self.whole

    def value(self, inner: float) -> float:
        """An objective or a bound, in the units of the statement."""
        return inner * self.root * self.cost * self.root

    def below(self, inner: float) -> float:
        """An objective or a bound in the units of the statement, rounded down if it is tiny."""
        return self._rounded(inner, -math.inf)

    def above(self, inner: float) -> float:
        """An objective or a bound in the units of the statement, rounded up if it is tiny."""
        return self._rounded(inner, math.inf)

    def _rounded(self, inner: float, towards: float) -> float:
        out = self.value(inner)
        small = self.cost * self.root * self.root != 1.0 and abs(out) < TINIEST and inner != 0.0
        return math.nextafter(out, towards) if small else out

    def inner_value(self, value: float) -> float:
        """An objective or a bound, in the units of the problem."""
        return value / self.root / self.root / self.cost

    def point(self, V: Array) -> Array:
        """A factor in the units of the statement."""
        return V if self.root == 1.0 else V * self.root

    def inner_point(self, V: Array) -> Array:
        """A factor in the units of the problem."""
        return V if self.root == 1.0 else V / self.root

    def multipliers(self, y: Multipliers) -> Multipliers:
        """Multipliers in the units of the statement."""
        return y if self.cost == 1.0 else y.scaled(self.cost)

    def inner_multipliers(self, y: Multipliers) -> Multipliers:
        """Multipliers in the units of the problem."""
        return y if self.cost == 1.0 else y.each(lambda part: part / self.cost)


def own_units(problem: Statement) -> Units:
    """The problem in units in which its largest cost and the largest value that it asks for are one."""
    return _in_units(problem, problem.cost_unit, math.sqrt(problem.kernel_unit))


def binary_units(problem: Statement) -> Units:
    """The problem in units that are powers of two, if this is exact: only exponents of numbers change."""
    inner, cost, root = _binary_numbers(problem)
    return Units(problem, problem if inner is None else inner, cost, root)


@fact
def _binary_numbers(problem: Statement) -> tuple[Statement | None, float, float]:
    """The problem in binary units (None if it is unchanged), and the units."""
    t, s = _exponent(problem.cost_unit), _exponent(problem.kernel_unit)
    for r in {s // 2: None, 0: None}:  # even exponents of the kernel's unit: its root is a power of two
        units = _in_units(problem, math.ldexp(1.0, t), math.ldexp(1.0, r))
        if units.same:
            break
        if _exact(problem, units):
            return units.problem, units.cost, units.root
    return None, 1.0, 1.0


def _exponent(x: float) -> int:
    """The floor of log2, limited to the range from -1000 to 1000."""
    return min(max(math.frexp(x)[1] - 1, -1000), 1000)


def _in_units(problem: Statement, cost: float, root: float) -> Units:
    """The problem in the given units; unchanged if numbers would leave the range."""
    if cost == 1.0 and root == 1.0:
        return Units(problem, problem)
    try:
        with np.errstate(all="ignore"):
            inner = _problem(problem, cost, root)
    except (ProblemError, OverflowError, ZeroDivisionError):
        inner = None
    return Units(problem, problem) if inner is None else Units(problem, inner, cost, root)


def _problem(problem: Statement, cost: float, root: float) -> Statement | None:
    regularizer: Regularizer | None = problem.regularizer.rescaled(cost, root * root)
    if regularizer is None:
        return None
    terms = []
    for term in problem.losses:
        found: tuple[Array, Array] | None = (term.target, term.weight)
        loss = term.loss.in_units(root).in_units(root)
        for _ in range(2 if root != 1.0 else 0):  # root by root, so that numbers stay in range
            found = term.loss.rescaled(found[0], found[1], root) if found is not None else None
            found = None if found is None else (found[0], found[1] / root)
        if found is None:
            return None
        terms.append(LossTerm(term.functional, loss, found[0], found[1] / cost, term.name))
    constraints = [part.moved(part.value / root / root) for part in problem.constraints]
    C = shell(problem.cost)
    if cost != 1.0:
        C.data = C.data / cost
    if not np.isfinite(C.data).all():
        return None
    return problem.like(C, (*terms, *constraints), regularizer)


def _exact(problem: Statement, units: Units) -> bool:
    """Whether a change to binary units and back restores all numbers to the last bit."""
    back = _in_units(units.problem, 1 / units.cost, 1 / units.root).problem
    same = all(map(np.array_equal, _numbers(back), _numbers(problem)))
    same = same and back.regularizer == problem.regularizer
    return same and all(a.loss == b.loss for a, b in zip(back.losses, problem.losses, strict=True))


def _numbers(problem: Statement) -> list[Array]:
    """The numbers of a problem that a change of units changes."""
    of_losses = (part for term in problem.losses for part in (term.weight, term.target))
    return [problem.cost.data, *of_losses, *(part.value for part in problem.constraints)]

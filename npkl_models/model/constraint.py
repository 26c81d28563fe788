"""Constraints: values that are required, or bounded on one side or on both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Mask
from npkl_models.linalg.owned import set_fields
from npkl_models.model.box import Box
from npkl_models.model.functional import Functional
from npkl_models.model.terms import Term, name_of, vector_of

SIDES = {"equal": "equal", "at most": "upper", "at least": "lower"}  # the argument of each kind


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Constraint(Term):
    """Hard constraints on the values z of a functional: z = equal, z >= lower, z <= upper, or both bounds.

    Parameters
    ----------
    functional : Functional
        The functional with the m values of the kernel.
    lower, upper : float or array_like of shape (m,), optional
        Bounds on the values; minus or plus infinity where a value has none.
    equal : float or array_like of shape (m,), optional
        Required values; then there are no bounds.
    name : str
        Name of the constraints in texts, such as "centring".

    Raises
    ------
    ProblemError
        If no number is given, if a lower bound is above its upper bound, or if numbers are not finite.

    Examples
    --------
    >>> import npkl_models as nm
    >>> near = nm.Constraint(nm.SquaredDistances(3, ([0], [1])), upper=4.0, name="near")
    >>> near.domain  # of its multiplier
    (array([0.]), array([inf]))
    """

    functional: Functional
    lower: Array
    upper: Array
    name: str

    def __init__(
        self, functional: Functional, *, lower: ArrayLike | None = None, upper: ArrayLike | None = None,
        equal: ArrayLike | None = None, name: str = "constraint",
    ) -> None:  # fmt: skip
        instance(functional, Functional, "functional", "Entries(n, (i, j))")
        name = name_of(name)
        if (equal is None) == (lower is None and upper is None):
            got = "none" if equal is None else "equal= and a bound"
            raise ProblemError(f"constraint {name!r} must have equal=, or lower= or upper=, got {got}")
        if equal is not None:
            value = vector_of(equal, functional.size, f"values of {name}")
            set_fields(self, functional, value, value, name)
            return
        low, high = (
            vector_of(none if end is None else end, functional.size, f"{side} bounds of {name}", none)
            for end, side, none in ((lower, "lower", -np.inf), (upper, "upper", np.inf))
        )
        if (low > high).any():
            k = int(np.argmax(low > high))
            raise ProblemError(
                f"lower bounds of {name} must be at most the upper bounds, got {low[k]:g} and {high[k]:g}"
            )
        set_fields(self, functional, low, high, name)

    def __repr__(self) -> str:
        return f"Constraint({self.name}: {self.functional!r} {', '.join(self.kinds)})"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of constraints among the values: "equal", "at most" and "at least"."""
        return tuple(kind for kind, mask in self._masks().items() if mask.any())

    @property
    def equal(self) -> bool:
        """Whether all values are required exactly."""
        return self.lower is self.upper or bool(np.array_equal(self.lower, self.upper))

    @property
    def value(self) -> Array:
        """The numbers b of z = b, z <= b or z >= b, for constraints of one kind."""
        return self.lower if np.isfinite(self.lower).all() else self.upper

    def by_kind(self) -> tuple[Constraint, ...]:
        """One constraint for each kind, without values that have no bound."""
        out = []
        for kind, mask in self._masks().items():
            if mask.any():
                f = self.functional if mask.all() else self.functional.kept(mask)
                numbers = self.lower if kind == "at least" else self.upper
                out.append(Constraint(f, **{SIDES[kind]: numbers[mask]}, name=self.name))
        return (self,) if len(out) == 1 and out[0].functional is self.functional else tuple(out)

    def _masks(self) -> dict[str, Mask]:
        same = self.lower == self.upper
        most, least = np.isfinite(self.upper) & ~same, np.isfinite(self.lower) & ~same
        return {"equal": same, "at most": most, "at least": least}

    def moved(self, value: Array) -> Constraint:
        """The same kind of constraint with other numbers."""
        side = "equal" if self.equal else "lower" if self.value is self.lower else "upper"
        return Constraint(self.functional, **{side: value}, name=self.name)

    def kept(self, mask: Mask) -> Constraint:
        f, ends = self.functional.kept(mask), {"lower": self.lower[mask], "upper": self.upper[mask]}
        return Constraint(f, **({"equal": self.lower[mask]} if self.equal else ends), name=self.name)

    def excess(self, z: Array) -> Array:
        """The numbers by which values are above their upper bounds, or (negative) below their lower ones."""
        return z - np.clip(z, self.lower, self.upper)

    @property
    def box(self) -> Box:
        b, zero = self.value, np.zeros(self.functional.size)
        low = np.where(np.isfinite(self.lower), -np.inf, 0.0)
        return Box(b, zero, low, np.where(np.isfinite(self.upper), np.inf, 0.0), zero)

    def project(self, y: Array) -> Array:
        return y if self.equal else np.clip(y, *self.domain)

    def allows(self, y: Array) -> Mask:
        low, high = self.domain
        return (low <= y) & (y <= high)

    def conjugate(self, y: Array) -> float:
        return float(np.sum(self.value * y)) if self.allows(y).all() else float("inf")

    def recession(self, z: Array) -> float:
        low, high = self.domain
        return float("inf") if (((z > 0) & (high > 0)) | ((z < 0) & (low < 0))).any() else 0.0

    def slope_of_conjugate(self, y: Array) -> Array:
        return self.value

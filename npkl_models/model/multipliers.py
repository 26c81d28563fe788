"""The multipliers of the values of a problem: a dual point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Mask
from npkl_models.linalg.owned import Owner, owned


@dataclass(frozen=True, eq=False, repr=False)
class Multipliers(Owner):
    """The multipliers y of the values, which give the slack S = C + sum_e y_e M_e.

    Attributes
    ----------
    losses : tuple of ndarray
        Multipliers of each loss term. At an optimum, y_e is in the subdifferential of f_e at z_e.
    constraints : tuple of ndarray
        Multipliers of each constraint: not negative for upper bounds, not positive for lower bounds.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> solution = problem.solve()
    >>> y = solution.certificate.multipliers
    >>> [part.size for part in y.terms]
    [1]
    >>> problem.dual_bound(y) <= solution.objective + 1e-9
    True
    """

    losses: tuple[Array, ...]
    constraints: tuple[Array, ...] = ()

    def __repr__(self) -> str:
        losses, constraints = ([part.size for part in parts] for parts in (self.losses, self.constraints))
        return f"Multipliers(losses {losses}, constraints {constraints})"

    @property
    def terms(self) -> tuple[Array, ...]:
        """The multipliers of the losses and then of the constraints, in the order of a problem's terms."""
        return (*self.losses, *self.constraints)

    @property
    def finite(self) -> bool:
        """Whether all multipliers are finite numbers."""
        return all(bool(np.isfinite(part).all()) for part in self.terms)

    def each(self, change: Callable[[Array], Array]) -> Multipliers:
        """The multipliers with a function applied to each array."""
        return Multipliers(tuple(map(change, self.losses)), tuple(map(change, self.constraints)))

    def towards(self, other: Multipliers, t: float) -> Multipliers:
        """The mixture (1 - t) y + t y' with other multipliers y'."""
        mixed = [(1 - t) * a + t * b for a, b in zip(self.terms, other.terms, strict=True)]
        return Multipliers(tuple(mixed[: len(self.losses)]), tuple(mixed[len(self.losses) :]))

    def owned(self) -> Multipliers:
        """The same multipliers in read-only arrays."""
        return self.each(owned)

    def scaled(self, s: float) -> Multipliers:
        """All multipliers times s."""
        return self.each(lambda y: s * y)


def spread(parts: Iterable[Array], masks: Sequence[Mask]) -> tuple[Array, ...]:
    """An array for each mask, zero where it is false or no part is left; an empty mask takes no part."""
    left, out = iter(parts), tuple(np.zeros(mask.size) for mask in masks)
    for whole, mask in zip(out, masks, strict=True):
        if mask.any():
            whole[mask] = next(left, 0.0)
    return out

"""The terms of a problem, and the loss terms among them; `constraint` has the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Mask
from npkl_models.linalg.owned import Owner, finite, frozen, real_array, set_fields
from npkl_models.model.box import Box
from npkl_models.model.functional import Functional
from npkl_models.model.losses import Loss, get_loss


class Term(Owner, ABC):
    """Base class of loss terms and constraints: values z of a functional that enter a problem as f(z)."""

    functional: Functional
    name: str

    @property
    @abstractmethod
    def box(self) -> Box:
        """The conjugate f* of each value, b y + q y^2 / 2 on an interval, perhaps with an entropy."""

    @property
    def domain(self) -> tuple[Array, Array]:
        """The interval of each multiplier on which f* is finite; an end without limit is infinite."""
        return self.box.lower, self.box.upper

    @abstractmethod
    def project(self, y: Array) -> Array:
        """The nearest y in the domain of f*."""

    @abstractmethod
    def allows(self, y: Array) -> Mask:
        """Where y lies in the domain of f*, without any tolerance."""

    @abstractmethod
    def conjugate(self, y: Array) -> float:
        """The sum of the conjugates f_e*(y_e); +inf outside their domain."""

    @abstractmethod
    def recession(self, z: Array) -> float:
        """The rate of f along values z, where it is finite: the support function of the domain of f*."""

    @abstractmethod
    def slope_of_conjugate(self, y: Array) -> Array:
        """A z at which f has the slope y, for y in the domain."""

    @abstractmethod
    def kept(self, mask: Mask) -> Term:
        """The term of the values that a mask selects."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LossTerm(Term):
    """A loss term of a problem: the sum of weight_e loss(z_e; target_e) over the values z of a functional.

    Parameters
    ----------
    functional : Functional
        The functional with the m values of the kernel.
    loss : Loss or str
        The loss, or its name in `LOSSES`.
    target, weight : float or array_like of shape (m,)
        Targets and weights of the values. Weights are positive. Targets are +1 or -1 if the loss needs signs.
    name : str
        Name of the term in texts, such as "pairs" or "diagonal".

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> term = nm.LossTerm(nm.Entries(3, ([0, 1], [1, 2])), "square", target=[1.0, 0.0], weight=2.0)
    >>> term.value(np.array([0.5, 0.5]))
    1.0
    """

    functional: Functional
    loss: Loss
    target: Array
    weight: Array
    name: str

    def __init__(
        self, functional: Functional, loss: str | Loss, target: ArrayLike, weight: ArrayLike = 1.0,
        name: str = "pairs",
    ) -> None:  # fmt: skip
        instance(functional, Functional, "functional", "Entries(n, (i, j))")
        loss, name = get_loss(loss), name_of(name)
        target = vector_of(target, functional.size, f"targets of {name}")
        weight = vector_of(weight, functional.size, f"weights of {name}")
        if not functional.size:
            raise ProblemError(f"term {name!r} must have at least one value, got none")
        if (weight <= 0).any():
            raise ProblemError(f"weights of {name} must be positive, got {weight.min()}")
        if not loss.separable and np.ptp(weight) > 0:
            raise ProblemError(
                f"weights of {name} must be equal for the {loss.name} loss, got {weight.min():g} to "
                f"{weight.max():g}"
            )
        if loss.sign_targets and not np.isin(target, (-1.0, 1.0)).all():
            bad = target[~np.isin(target, (-1.0, 1.0))][:3].tolist()
            raise ProblemError(f"targets of the {loss.name} loss must be +1 or -1, got {bad}")
        set_fields(self, functional, loss, target, weight, name)

    def __repr__(self) -> str:
        return f"LossTerm({self.name}: {self.loss.name} of {self.functional!r})"

    def value(self, z: Array) -> float:
        """The weighted sum of the losses."""
        return float(self.weight @ self.loss.value(z, self.target))

    def derivative(self, z: Array) -> Array:
        """The slopes y_e = weight_e loss'(z_e; target_e)."""
        return self.weight * self.loss.derivative(z, self.target)

    @property
    def box(self) -> Box:
        return self.loss.box(self.target, self.weight)

    @property
    def domain(self) -> tuple[Array, Array]:
        return self.loss.domain(self.target, self.weight)

    def kept(self, mask: Mask) -> LossTerm:
        f = self.functional.kept(mask)
        return LossTerm(f, self.loss, self.target[mask], self.weight[mask], self.name)

    def project(self, y: Array) -> Array:
        return self.loss.project(y, self.target, self.weight)

    def allows(self, y: Array) -> Mask:
        return self.loss.in_domain(y, self.target, self.weight)

    def recession(self, z: Array) -> float:
        return self.loss.recession(z, self.target, self.weight)

    def slope_of_conjugate(self, y: Array) -> Array:
        return self.loss.conjugate_derivative(y, self.target, self.weight)

    def subdifferential(self, z: Array, atol: float | Array) -> tuple[Array, Array]:
        """The interval (lower, upper) of the subgradients on [z - atol, z + atol]."""
        return self.loss.subdifferential(z, self.target, self.weight, atol)

    def conjugate(self, y: Array) -> float:
        if not np.all(self.allows(y)):
            return float("inf")
        return float(np.sum(self.loss.conjugate(y, self.target, self.weight)))


def vector_of(values: ArrayLike, size: int, what: str, none: float | None = None) -> Array:
    """A vector of finite numbers, or of ``none`` where there is no number."""
    out = real_array(values, what)
    if out.ndim == 0:
        out = np.full(size, float(out))
    if out.shape != (size,):
        raise ProblemError(f"{what} must have shape ({size},), got {out.shape}")
    finite(out if none is None else np.where(out == none, 0.0, out), what)
    return frozen(out)


def name_of(given: object) -> str:
    """The name itself; anything but text is an error."""
    if not isinstance(given, str):
        raise ProblemError(f"a name must be text, got {given!r}")
    return given

"""The pieces of a problem: loss terms, hard equalities, and the multipliers of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Mask
from npkl_models.linalg.owned import Owner, finite, frozen, owned, real_array, set_fields
from npkl_models.model.functional import Functional
from npkl_models.model.losses import Loss, get_loss


class Part(Owner, ABC):
    """Base class of loss terms and equalities: values z of a functional that enter a problem as f(z)."""

    functional: Functional
    name: str

    @property
    @abstractmethod
    def domain(self) -> tuple[Array, Array]:
        """The interval of each multiplier on which f* is finite; an end without limit is infinite."""

    @abstractmethod
    def project(self, y: Array) -> Array:
        """The nearest y in the domain of f*."""

    @abstractmethod
    def allows(self, y: Array) -> Mask:
        """Where y lies in the domain of f*, without any tolerance."""

    @abstractmethod
    def slope_of_conjugate(self, y: Array) -> Array:
        """A z at which f has the slope y, for y in the domain."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LossTerm(Part):
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
        functional, loss, name = _functional(functional), get_loss(loss), _name(name)
        target = _vector(target, functional.size, f"targets of {name}")
        weight = _vector(weight, functional.size, f"weights of {name}")
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
    def domain(self) -> tuple[Array, Array]:
        return self.loss.domain(self.target, self.weight)

    def project(self, y: Array) -> Array:
        return self.loss.project(y, self.target, self.weight)

    def allows(self, y: Array) -> Mask:
        return self.loss.in_domain(y, self.target, self.weight)

    def slope_of_conjugate(self, y: Array) -> Array:
        return self.loss.conjugate_derivative(y, self.target, self.weight)

    def subdifferential(self, z: Array, atol: float | Array) -> tuple[Array, Array]:
        """The interval (lower, upper) of the subgradients on [z - atol, z + atol]."""
        return self.loss.subdifferential(z, self.target, self.weight, atol)

    def conjugate(self, y: Array) -> float:
        """The sum of the conjugates f_e*(y_e); +inf outside their domain."""
        if not np.all(self.allows(y)):
            return float("inf")
        return float(np.sum(self.loss.conjugate(y, self.target, self.weight)))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Equality(Part):
    """Equality constraints z_k = value_k on the values of a functional.

    Parameters
    ----------
    functional : Functional
        The functional with the m values of the kernel.
    value : float or array_like of shape (m,)
        Required value of each functional value.
    name : str
        Name of the constraints in texts, such as "centring".

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Equality(nm.Entries(3, ([0, 1, 2], [0, 1, 2])), 1.0, "diagonal").value
    array([1., 1., 1.])
    """

    functional: Functional
    value: Array
    name: str

    def __init__(self, functional: Functional, value: ArrayLike, name: str = "equality") -> None:
        functional, name = _functional(functional), _name(name)
        set_fields(self, functional, _vector(value, functional.size, f"values of {name}"), name)

    def __repr__(self) -> str:
        return f"Equality({self.name}: {self.functional!r})"

    @property
    def domain(self) -> tuple[Array, Array]:
        free = np.full(self.functional.size, np.inf)
        return -free, free

    def project(self, y: Array) -> Array:
        return y

    def allows(self, y: Array) -> Mask:
        return np.ones(y.shape, dtype=bool)

    def slope_of_conjugate(self, y: Array) -> Array:
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class Multipliers(Owner):
    """The multipliers, which give the slack S = C + sum_e y_e M_e + sum_k nu_k M_k + Diag(d).

    Attributes
    ----------
    terms : tuple of ndarray
        Multipliers y of each loss term. At an optimum, y_e is in the subdifferential of f_e at z_e.
    equalities : tuple of ndarray
        Multipliers nu of each equality.
    rows : ndarray of shape (n,) or None
        Multipliers d >= 0 of a row-norm bound; None if there is no such bound.

    Examples
    --------
    >>> import npkl_models as nm
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> L = nm.laplacian(X, n_neighbors=2, shift=0.1)
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)])
    >>> problem = nm.pcp(L, pairs)
    >>> solution = problem.solve()
    >>> y = solution.certificate.multipliers
    >>> [part.size for part in y.terms]  # the pairs, and the diagonal
    [3, 6]
    >>> problem.dual_bound(y) <= solution.objective + 1e-9
    True
    """

    terms: tuple[Array, ...]
    equalities: tuple[Array, ...] = ()
    rows: Array | None = None

    def __repr__(self) -> str:
        sizes = [[part.size for part in parts] for parts in (self.terms, self.equalities)]
        rows = "" if self.rows is None else f", {self.rows.size} rows"
        return f"Multipliers(terms {sizes[0]}, equalities {sizes[1]}{rows})"

    @property
    def parts(self) -> tuple[Array, ...]:
        """The multipliers of the terms and then of the equalities, in the order of `Statement.parts`."""
        return (*self.terms, *self.equalities)

    @property
    def finite(self) -> bool:
        """Whether all multipliers are finite numbers."""
        parts = (*self.parts, *(() if self.rows is None else (self.rows,)))
        return all(bool(np.isfinite(part).all()) for part in parts)

    def each(self, change: Callable[[Array], Array]) -> Multipliers:
        """The multipliers with a function applied to each array."""
        rows = None if self.rows is None else change(self.rows)
        return Multipliers(tuple(map(change, self.terms)), tuple(map(change, self.equalities)), rows)

    def owned(self) -> Multipliers:
        """The same multipliers in read-only arrays."""
        return self.each(owned)

    def scaled(self, s: float) -> Multipliers:
        """All multipliers times s."""
        return self.each(lambda y: s * y)


def _vector(values: ArrayLike, size: int, what: str) -> Array:
    out = real_array(values, what)
    if out.ndim == 0:
        out = np.full(size, float(out))
    if out.shape != (size,):
        raise ProblemError(f"{what} must have shape ({size},), got {out.shape}")
    return frozen(finite(out, what))


def _functional(given: object) -> Functional:
    if not isinstance(given, Functional):
        raise ProblemError(f"functional must be a Functional such as Entries(n, (i, j)), got {given!r}")
    return given


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise ProblemError(f"a name must be text, got {given!r}")
    return given

"""The terms of a problem: losses and constraints on values of a functional, and the multipliers of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Mask
from npkl_models.linalg.owned import Owner, finite, frozen, owned, real_array, set_fields
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

    Notes
    -----
    A problem states a constraint of several kinds as one for each kind: equalities, upper bounds, lower
    bounds, in this order.

    Examples
    --------
    >>> import npkl_models as nm
    >>> nm.Constraint(nm.Entries(3, ([0, 1, 2], [0, 1, 2])), equal=1.0, name="diagonal")
    Constraint(diagonal: Entries(n=3, size=3) equal)
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
        functional, name = _functional(functional), _name(name)
        if (equal is None) == (lower is None and upper is None):
            got = "none" if equal is None else "equal= and a bound"
            raise ProblemError(f"constraint {name!r} must have equal=, or lower= or upper=, got {got}")
        if equal is not None:
            value = _vector(equal, functional.size, f"values of {name}")
            set_fields(self, functional, value, value, name)
            return
        low = _vector(
            -np.inf if lower is None else lower, functional.size, f"lower bounds of {name}", -np.inf
        )
        high = _vector(np.inf if upper is None else upper, functional.size, f"upper bounds of {name}", np.inf)
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
                ends = {"equal": ("equal",), "at most": ("upper",), "at least": ("lower",)}[kind]
                numbers = self.upper if kind != "at least" else self.lower
                out.append(Constraint(f, **dict.fromkeys(ends, numbers[mask]), name=self.name))
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
        return _constraint(self.functional.kept(mask), self.lower[mask], self.upper[mask], self.name)

    def excess(self, z: Array) -> Array:
        """The numbers by which values are above their upper bounds, or (negative) below their lower ones."""
        return z - np.clip(z, self.lower, self.upper)

    @property
    def box(self) -> Box:
        b, zero = self.value, np.zeros(self.functional.size)
        low, high = (np.where(np.isfinite(end), np.inf, 0.0) for end in (self.lower, self.upper))
        return Box(b, zero, -low, high, zero)

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

    def owned(self) -> Multipliers:
        """The same multipliers in read-only arrays."""
        return self.each(owned)

    def scaled(self, s: float) -> Multipliers:
        """All multipliers times s."""
        return self.each(lambda y: s * y)


def _constraint(functional: Functional, lower: Array, upper: Array, name: str) -> Constraint:
    out = object.__new__(Constraint)
    set_fields(out, functional, lower, lower if np.array_equal(lower, upper) else upper, name)
    return out


def _vector(values: ArrayLike, size: int, what: str, none: float | None = None) -> Array:
    """A vector of finite numbers, or of ``none`` where there is no number."""
    out = real_array(values, what)
    if out.ndim == 0:
        out = np.full(size, float(out))
    if out.shape != (size,):
        raise ProblemError(f"{what} must have shape ({size},), got {out.shape}")
    finite(out if none is None else np.where(out == none, 0.0, out), what)
    return frozen(out)


def _functional(given: object) -> Functional:
    if not isinstance(given, Functional):
        raise ProblemError(f"functional must be a Functional such as Entries(n, (i, j)), got {given!r}")
    return given


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise ProblemError(f"a name must be text, got {given!r}")
    return given

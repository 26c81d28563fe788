"""The pieces of a problem: loss terms, hard equalities, and the multipliers of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.functionals import Functional
from npkl_models.model.losses import Loss, get_loss


@dataclass(frozen=True, eq=False)
class LossTerm:
    """sum_e weight_e loss(z_e; target_e) over the values z of a functional.

    Parameters
    ----------
    functional : Functional
        m values of the kernel.
    loss : Loss or str
    target, weight : float or array_like of shape (m,)
        Weights are positive; targets are +1 or -1 for the losses that need a sign.
    name : str
        Shown in texts ("pairs", "diagonal").
    """

    functional: Functional
    loss: Any
    target: Any
    weight: Any = 1.0
    name: str = "pairs"

    def __post_init__(self) -> None:
        loss = get_loss(self.loss)
        target = _vector(self.target, self.functional.size, f"targets of {self.name}")
        weight = _vector(self.weight, self.functional.size, f"weights of {self.name}")
        if not self.functional.size:
            raise ProblemError(f"term {self.name!r} must have at least one value, got none")
        if (weight <= 0).any():
            raise ProblemError(f"weights of {self.name} must be positive, got {weight.min()}")
        if loss.sign_targets and not np.isin(target, (-1.0, 1.0)).all():
            bad = target[~np.isin(target, (-1.0, 1.0))][:3].tolist()
            raise ProblemError(f"targets of the {loss.name} loss must be +1 or -1, got {bad}")
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "weight", weight)

    def value(self, z: Array) -> float:
        """The weighted sum of the losses."""
        typed: Loss = self.loss
        return float(self.weight @ typed.value(z, self.target))

    def derivative(self, z: Array) -> Array:
        """y_e = weight_e loss'(z_e; target_e)."""
        typed: Loss = self.loss
        out: Array = self.weight * typed.derivative(z, self.target)
        return out

    def conjugate(self, y: Array) -> float:
        """sum_e f_e*(y_e), +inf outside the domain."""
        typed: Loss = self.loss
        if not np.all(typed.in_domain(y, self.target, self.weight)):
            return float("inf")
        return float(np.sum(typed.conjugate(y, self.target, self.weight)))


@dataclass(frozen=True, eq=False)
class Equality:
    """Hard constraints z_k = value_k on the values of a functional."""

    functional: Functional
    value: Any
    name: str = "equality"

    def __post_init__(self) -> None:
        value = _vector(self.value, self.functional.size, f"values of {self.name}")
        object.__setattr__(self, "value", value)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Dual variables: S = C + sum_e y_e M_e + sum_k nu_k M_k + Diag(d).

    Attributes
    ----------
    terms : tuple of ndarray
        y of each loss term; at an optimum y_e is in the subdifferential of f_e at z_e.
    equalities : tuple of ndarray
        nu of each equality.
    rows : ndarray of shape (n,) or None
        d >= 0 of a row-norm bound.
    """

    terms: tuple[Array, ...]
    equalities: tuple[Array, ...] = ()
    rows: Array | None = None

    @property
    def finite(self) -> bool:
        """Whether all of them are finite numbers."""
        parts = (*self.terms, *self.equalities, *(() if self.rows is None else (self.rows,)))
        return all(bool(np.isfinite(part).all()) for part in parts)

    def scaled(self, s: float) -> Multipliers:
        """All of them times s."""
        rows = None if self.rows is None else s * self.rows
        return Multipliers(tuple(s * y for y in self.terms), tuple(s * nu for nu in self.equalities), rows)


def _vector(values: Any, size: int, what: str) -> Array:
    out = np.asarray(values, dtype=float)
    if out.ndim == 0:
        out = np.full(size, float(out))
    if out.shape != (size,):
        raise ProblemError(f"{what} must have shape ({size},), got {out.shape}")
    if not np.isfinite(out).all():
        raise ProblemError(f"{what} must be finite, got NaN or infinity")
    return out

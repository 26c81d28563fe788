"""The base class of regularisers R(K): value, support function, faces for the solvers, CVXPY forms.

A dual bound needs the support function R*(Z) = sup over PSD K of <Z, K> - R(K). R* is finite for every Z if R
confines K (``finite_support``). Otherwise it is 0 for Z <= ``shift`` I and infinite for other Z.

Source: Zhuang, Tsang & Hoi, JMLR 12 (2011), eqs. (11)-(14) and propositions 1 and 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from npkl_models.linalg import UNIT, WIDE, Array
from npkl_models.model.trace_cones import Cvx, CvxSupport


class TraceFace(Protocol):
    """A regulariser as a function of tr K^p: tr K^p <= bound, or penalty / p tr K^p; see `TracePower`."""

    @property
    def p(self) -> float: ...
    @property
    def bound(self) -> float | None: ...
    @property
    def penalty(self) -> float | None: ...
    @property
    def conjugate_exponent(self) -> float: ...
    @property
    def finite_support(self) -> bool: ...
    def maximiser(self, eigenvalues: Array) -> Array: ...
    def support(self, eigenvalues: Array) -> float: ...
    def gradient(self, V: Array, SV: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Regularizer(ABC):
    """Base class of regularisers: a convex function R of a PSD kernel, or the indicator of a convex set.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.REGULARIZERS)
    ['none', 'trace_power']
    >>> nm.TracePower(1, bound=40.0).trace_bound(10)
    40.0
    """

    name: ClassVar[str]
    vacuous: ClassVar[bool] = False  # R = 0

    @property
    def spectral(self) -> TraceFace | None:
        """The regulariser as a function of tr K^p; None if it is not such a function."""
        return None

    @property
    def kind(self) -> str:
        """The kind that decides which solvers apply: "none", "trace power", or "other"."""
        if self.vacuous:
            return "none"
        return "other" if self.spectral is None else "trace power"

    @property
    def label(self) -> str:
        """The name of the regulariser in a sentence."""
        return self.name

    def rescaled(self, cost: float, kernel: float) -> Regularizer | None:
        """The regulariser in other units, R(``kernel`` K) / (``cost`` ``kernel``); None if unknown."""
        return self if self.vacuous else None

    @property
    def words(self) -> str:
        """The name of the regulariser in the plain text of `Problem.explain`."""
        return self.label

    @property
    def latex_dual(self) -> tuple[str, str]:
        """LaTeX of -R*(-S) in the dual objective ("" if it is zero), and of the condition on S."""
        return r"R^*(-S)", ""

    @property
    def constrains(self) -> bool:
        """Whether the regulariser is a constraint, not a penalty."""
        return self.spectral is None or self.spectral.penalty is None

    @property
    def bounds(self) -> bool:
        """Whether the regulariser is a bound on tr K^p, which adds nothing to the objective."""
        return self.spectral is not None and self.spectral.penalty is None

    def latex_optimality(self, S: str, K: str) -> str:
        """LaTeX of dual feasibility and complementarity; S and K are the letters of slack and PSD unknown."""
        return rf"-{S} \in \partial R({K})"

    @property
    def finite_support(self) -> bool:
        """Whether R*(Z) is finite for every Z."""
        return False

    @property
    def shift(self) -> float:
        """The largest s with R*(s I) = 0."""
        return 0.0

    @property
    @abstractmethod
    def latex(self) -> str:
        """The formula of R(K) in LaTeX."""

    def value(self, eigenvalues: Array) -> float:
        """The value that R adds to the objective; 0 for a constraint."""
        return 0.0

    @abstractmethod
    def violation(self, eigenvalues: Array, more: float = 0.0) -> float:
        """The fraction by which a constraint is exceeded, 0 if it holds; a penalty is never exceeded.

        The fraction holds for all kernels whose distance from the given kernel in nuclear norm is at most
        ``more``.
        """

    def violation_gradient(self, V: Array) -> Array | None:
        """The derivative of `violation` in V (n x r), continued below zero; None if there is none."""
        return None

    @abstractmethod
    def rescale(self, V: Array) -> Array:
        """The factor V (n x r), shrunk if necessary, so that the constraint holds in spite of rounding."""

    def trace_bound(self, n: int) -> float:
        """The upper bound on tr K that the constraint implies."""
        return float("inf")

    @abstractmethod
    def support(self, eigenvalues: Array) -> float:
        """The support function R*(Z) from the eigenvalues of Z, rounded upwards; it may be +inf."""

    def gradient(self, V: Array, SV: Array) -> tuple[Array, Array]:
        """A subgradient of R at K = V V' as (W, mu), meaning W diag(mu) W' with W'W = I; empty by default.

        The subgradient sharpens bounds if R* is finite. ``SV`` is the slack times V; multipliers follow from
        it.
        """
        return V[:, :0], np.zeros(0)

    @abstractmethod
    def cvxpy_primal(self, K: Cvx) -> tuple[Cvx, list[Cvx]]:
        """R(K) in CVXPY as (penalty, constraints)."""

    @abstractmethod
    def cvxpy_support(self, S: Cvx) -> CvxSupport:
        """R*(-S) in CVXPY."""


def linear_support(eigenvalues: Array, shift: float) -> float:
    """R*(Z) of R = ``shift`` tr K on the cone: 0 for Z <= shift I, infinite for other Z."""
    return 0.0 if np.max(eigenvalues, initial=-np.inf) <= shift else float("inf")


def rounding_factor(V: Array) -> float:
    """A factor below one that covers the rounding of norms of rows or columns of V."""
    wide = float(np.sqrt(min(V.shape))) if min(V.shape) > WIDE else 1.0  # as `gram_eigenvalues` rounds
    return 1 - (sum(V.shape) + 8) * wide * UNIT


def parameter(name: str, value: float | None) -> Cvx:
    """A parameter of the CVXPY problem with this name."""
    import cvxpy as cp

    return cp.Parameter(nonneg=True, name=name, value=value)

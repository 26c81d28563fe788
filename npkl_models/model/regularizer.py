"""What a regulariser R(K) is asked: value, support function, faces for the solvers, CVXPY forms.

The support R*(Z) = sup over PSD K of <Z, K> - R(K) is what a dual bound needs. It is finite for
every Z where R confines K (``finite_support``); otherwise it is 0 for Z <= ``shift`` I and
infinite beyond, or is paid for by multipliers of the rows (``row_multipliers``).

Source: Zhuang, Tsang & Hoi, JMLR 12 (2011), eqs. (11)-(14) and propositions 1 and 2; Hu & Kwok, IEEE TNNLS 26
(2015), eq. (29) for the row norms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from npkl_models.linalg import UNIT, WIDE, Array
from npkl_models.model.trace_cones import Cvx, CvxSupport

ROUND = 2 * UNIT
SMALLEST = 1e-150  # a number whose square is still a number


class TraceFace(Protocol):
    """A regulariser as a function of tr K^p: exactly one of bound and penalty is a number."""

    @property
    def p(self) -> float:
        """At least 1."""

    @property
    def bound(self) -> float | None:
        """B of tr K^p <= B."""

    @property
    def penalty(self) -> float | None:
        """G of G / p tr K^p."""

    @property
    def conjugate_exponent(self) -> float:
        """q with 1/p + 1/q = 1."""

    @property
    def finite_support(self) -> bool:
        """Whether R*(Z) is finite for every Z."""

    def maximiser(self, eigenvalues: Array) -> Array:
        """Eigenvalues of the K that attains R*(Z), in the eigenbasis of Z."""

    def support(self, eigenvalues: Array, n: int | None = None) -> float:
        """R*(Z)."""

    def gradient(self, V: Array, SV: Array) -> tuple[Array, Array]:
        """A subgradient of R at V V' as (W, mu), meaning W diag(mu) W'."""


@dataclass(frozen=True)
class Regularizer(ABC):
    """A convex function of a PSD kernel, or the indicator of a convex set of kernels.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.REGULARIZERS)
    ['none', 'row_norm', 'trace_power']
    >>> nm.RowNormBound(2.0).trace_bound(10)
    40.0
    """

    name: ClassVar[str]
    vacuous: ClassVar[bool] = False  # R = 0

    @property
    def row_radius(self) -> float | None:
        """b of K_ii <= b^2, paid for by multipliers of the rows; None if rows are not bounded so."""
        return None

    @property
    def row_multipliers(self) -> bool:
        """Whether a dual point has multipliers of the rows."""
        return self.row_radius is not None

    @property
    def spectral(self) -> TraceFace | None:
        """The same as a function of tr K^p, None if it is none."""
        return None

    @property
    def kind(self) -> str:
        """What a solver must know to take it: "none", "row norm", "trace power", or its own name."""
        if self.vacuous:
            return "none"
        if self.spectral is not None:
            return "trace power"
        return self.name if self.row_radius is None else "row norm"

    @property
    def label(self) -> str:
        """What a sentence calls it."""
        return self.name

    def rescaled(self, cost: float, kernel: float) -> Regularizer | None:
        """R(``kernel`` K) / (``cost`` ``kernel``): the same in other units; None where that is not known."""
        return self if self.vacuous else None

    @property
    def words(self) -> str:
        """What `Problem.explain` calls it in plain text."""
        return self.label

    @property
    def latex_dual(self) -> tuple[str, str]:
        """-R*(-S) in the dual objective ("" where it is zero), and what is asked of S for it."""
        return r"R^*(-S)", ""

    @property
    def constrains(self) -> bool:
        """Whether it is a constraint, not a penalty."""
        return self.spectral is None or self.spectral.penalty is None

    @property
    def bounds(self) -> bool:
        """Whether it is known to add nothing: a bound on tr K^p. Its `value` is not asked then."""
        return self.spectral is not None and self.spectral.penalty is None

    def latex_optimality(self, S: str, K: str) -> str:
        """Dual feasibility and complementarity, in the letters of the slack and of the PSD unknown."""
        return rf"-{S} \in \partial R({K})"

    @property
    def finite_support(self) -> bool:
        """Whether R*(Z) is finite for every Z."""
        return False

    @property
    def shift(self) -> float:
        """Largest s with R*(s I) = 0."""
        return 0.0

    @property
    @abstractmethod
    def latex(self) -> str:
        """The formula."""

    def value(self, eigenvalues: Array) -> float:
        """What is added to the objective; 0 for a constraint."""
        return 0.0

    @abstractmethod
    def violation(self, eigenvalues: Array, diagonal: Array, more: float = 0.0) -> float:
        """By which fraction a constraint is exceeded (0 when it holds), for kernels up to ``more`` away.

        That is the nuclear norm of what may be added to the kernel. A penalty is never exceeded.
        """

    def violation_gradient(self, V: Array) -> Array | None:
        """Derivative in V (n x r) of `violation`, as if it went below zero; None if there is none."""
        return None

    @abstractmethod
    def rescale(self, V: Array) -> Array:
        """The factor V (n x r) shrunk until the constraint holds, rounding included; V itself if it does."""

    def trace_bound(self, n: int) -> float:
        """Upper bound on tr K that the constraint implies."""
        return float("inf")

    @abstractmethod
    def support(self, eigenvalues: Array, n: int | None = None) -> float:
        """R*(Z) from the eigenvalues of Z, rounded upwards, +inf where it is.

        ``n`` is the number of points, the order of Z by default; with a basis it is larger.
        """

    def gradient(self, V: Array, SV: Array) -> tuple[Array, Array]:
        """A subgradient of R at K = V V' as (W, mu), meaning W diag(mu) W' with W'W = I; none is known here.

        It sharpens bounds where R* is finite. ``SV`` is the slack times V, which tells multipliers.
        """
        return V[:, :0], np.zeros(0)

    @abstractmethod
    def cvxpy_primal(self, K: Cvx, diagonal: Cvx) -> tuple[Cvx, list[Cvx], Cvx | None]:
        """R(K) in CVXPY as (penalty, constraints, row constraint whose dual is d)."""

    @abstractmethod
    def cvxpy_support(self, S: Cvx, n: int, lift: Callable[[Cvx], Cvx]) -> CvxSupport:
        """R*(-S) in CVXPY; ``lift`` maps row multipliers d (n,) to the matrix added to S."""


def linear_support(eigenvalues: Array, shift: float) -> float:
    """R*(Z) of R = ``shift`` tr K on the cone: 0 for Z <= shift I, infinite beyond."""
    return 0.0 if np.max(eigenvalues, initial=-np.inf) <= shift else float("inf")


def inside(V: Array) -> float:
    """A factor below one that pays for the rounding of norms of rows or columns of V."""
    wide = float(np.sqrt(min(V.shape))) if min(V.shape) > WIDE else 1.0  # as `gram_eigenvalues` rounds
    return 1 - (sum(V.shape) + 8) * wide * UNIT


def parameter(name: str, value: float | None) -> Cvx:
    """A parameter of the CVXPY problem by that name."""
    import cvxpy as cp

    return cp.Parameter(nonneg=True, name=name, value=value)

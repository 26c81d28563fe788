"""The trace of a power of the kernel, bounded or penalised; `regularizer` names the source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import TINY, UNIT, Array, gram_eigenvalues, schatten_norm
from npkl_models.linalg.owned import positive_number, real_number
from npkl_models.model.regularizer import Regularizer, linear_support, parameter, rounding_factor
from npkl_models.model.trace_cones import Cvx, CvxSupport, bound_support, penalty_support, trace_power


@dataclass(frozen=True)
class TracePower(Regularizer):
    """A bound or a penalty on the trace of a power of K: tr K^p <= bound, or penalty / p * tr K^p.

    Parameters
    ----------
    p : float
        Power p, at least 1.
    bound, penalty : float
        Positive number B of the bound or G of the penalty; exactly one of the two must be given.

    Examples
    --------
    >>> import npkl_models as nm
    >>> import numpy as np
    >>> R = nm.TracePower(2, bound=4.0)  # ||K|| <= 2
    >>> float(round(R.support(np.array([3.0, 4.0, -1.0])), 6))
    10.0
    """

    p: float = 2.0
    bound: float | None = None
    penalty: float | None = None
    name = "trace_power"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real_number(self.p, "p"))
        if not (np.isfinite(self.p) and self.p >= 1):
            raise ProblemError(f"p must be a finite number >= 1, got {self.p}")
        if (self.bound is None) == (self.penalty is None):
            raise ProblemError(
                "exactly one of bound and penalty must be given, "
                f"got bound={self.bound}, penalty={self.penalty}"
            )
        for label, words in (("bound", "bound B"), ("penalty", "penalty G")):
            given = getattr(self, label)
            if given is not None:
                object.__setattr__(self, label, positive_number(given, words))

    def rescaled(self, cost: float, kernel: float) -> TracePower | None:
        try:
            if self.bound is not None:
                return TracePower(self.p, bound=self.bound / kernel**self.p)
            return TracePower(self.p, penalty=(self.penalty or 0.0) * kernel ** (self.p - 1) / cost)
        except (OverflowError, ZeroDivisionError, ProblemError):  # out of range
            return None

    @property
    def latex(self) -> str:
        if self.penalty is None:
            return rf"{self._latex_power} \le {self.bound:g}"
        share = f"{self.penalty / self.p:.6g}"
        return self._latex_power if share == "1" else rf"{share} {self._latex_power}"

    @property
    def _latex_power(self) -> str:
        return r"\operatorname{tr} K" + ("" if self.p == 1 else f"^{{{self.p:g}}}")

    @property
    def latex_dual(self) -> tuple[str, str]:
        q = self.conjugate_exponent
        if self.penalty is not None:
            if self.p == 1:
                return "", rf"S + {self.penalty:g} I \succeq 0"
            return rf"{self._latex_share(q)} \operatorname{{tr}} (-S)_+^{{{q:g}}}", ""
        if self.p == 1:
            return rf"{self.bound:g} \max(0, -\lambda_{{\min}}(S))", ""
        root = (self.bound or 1.0) ** (1 / self.p)
        return rf"{root:.6g} \lVert (-S)_+ \rVert_{{{q:g}}}", ""

    def _latex_share(self, q: float) -> str:
        """1 / (q G^(q - 1)) in LaTeX, as one number unless it is out of range."""
        G = self.penalty or 1.0
        size = np.log10(q) + (q - 1) * np.log10(G)
        if abs(size) < 100:
            return rf"\frac{{1}}{{{q * G ** (q - 1):.6g}}}"
        return rf"\frac{{1}}{{{q:g} \cdot ({G:g})^{{{q - 1:g}}}}}"

    def latex_optimality(self, S: str, K: str) -> str:
        power = "I" if self.p == 1 else K if self.p == 2 else f"{K}^{{{self.p - 1:g}}}"
        if self.penalty is not None:
            return rf"T = {S} + {self.penalty:g} {power} \succeq 0,\; T {K} = 0"
        multiplier = rf"\kappa \ge 0,\; \kappa ({self.bound:g} - {self._latex_power}) = 0"
        return rf"T = {S} + \kappa {power} \succeq 0,\; T {K} = 0,\; {multiplier}"

    @property
    def words(self) -> str:
        power = "tr K" if self.p == 1 else f"tr K^{self.p:g}"
        if self.penalty is not None:
            return f"{self.penalty / self.p:g} {power}"
        return f"{power} <= {self.bound:g}"

    @property
    def spectral(self) -> TracePower:
        return self

    @property
    def label(self) -> str:
        return f"tr K^{self.p:g}"

    @property
    def finite_support(self) -> bool:
        return self.bound is not None or self.p > 1

    @property
    def shift(self) -> float:
        return (self.penalty or 0.0) if self.p == 1 else 0.0

    @property
    def conjugate_exponent(self) -> float:
        """The power q with 1/p + 1/q = 1."""
        return self.p / (self.p - 1) if self.p > 1 else float("inf")

    def value(self, eigenvalues: Array) -> float:
        if self.penalty is None:
            return 0.0
        return self.penalty / self.p * float(np.sum(np.maximum(eigenvalues, 0) ** self.p))

    def violation(self, eigenvalues: Array, more: float = 0.0) -> float:
        if self.bound is None:
            return 0.0
        radius = self.bound ** (1 / self.p)
        excess = (schatten_norm(np.maximum(eigenvalues, 0), self.p) + more) / radius - 1
        return max(0.0, excess) if excess == excess else float("inf")

    def violation_gradient(self, V: Array) -> Array | None:
        if self.bound is None:
            return None
        U, s, R = np.linalg.svd(V, full_matrices=False)
        norm = schatten_norm(s**2, self.p)
        if norm == 0.0:
            return np.zeros_like(V)
        shares: Array = 2 * s * (s**2 / norm) ** (self.p - 1) / self.bound ** (1 / self.p)
        return (U * shares) @ R

    def rescale(self, V: Array) -> Array:
        excess = self.violation(gram_eigenvalues(V / rounding_factor(V)))
        return V * (rounding_factor(V) / np.sqrt(1 + excess)) if excess > 0 else V

    def trace_bound(self, n: int) -> float:
        if self.bound is None:
            return float("inf")
        return float(n ** (1 - 1 / self.p) * self.bound ** (1 / self.p))

    def support(self, eigenvalues: Array) -> float:
        positive = np.maximum(eigenvalues, 0.0)
        q, size = self.conjugate_exponent, positive.size
        if self.bound is not None:
            norm = schatten_norm(positive, q)
            rounding = (size + 48 + 4 * abs(float(np.log(self.bound)))) * 2 * UNIT
            return self.bound ** (1 / self.p) * norm * (1 + rounding) + TINY if norm else 0.0
        if self.p == 1:
            return linear_support(eigenvalues, self.shift)
        G = self.penalty or 0.0
        share = positive[positive > 0] / G  # (G / q) sum share^q has no power of G alone, which may underflow
        if not share.size:
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            total = float(np.sum(share**q)) * G / q
        rounding = (size + 8 * q * (1 + float(np.max(np.abs(np.log(share)))))) * 2 * UNIT
        return total * (1 + rounding) + size * TINY * max(1.0, G)

    def maximiser(self, eigenvalues: Array) -> Array:
        """Eigenvalues of the K that attains R*(Z), in the eigenbasis of Z (p > 1; p = 1 with a bound)."""
        positive = np.maximum(eigenvalues, 0.0)
        top = float(np.max(positive, initial=0.0))
        if top == 0.0:
            return np.zeros_like(positive)
        if self.p == 1:
            ties = positive >= top * (1 - 1e-12)
            return (self.bound or 0.0) * ties / np.sum(ties)
        if self.bound is None:
            with np.errstate(over="ignore", under="ignore"):
                out: Array = (positive / (self.penalty or 1.0)) ** (1 / (self.p - 1))
            return out
        shape = (positive / top) ** (1 / (self.p - 1))
        return self.bound ** (1 / self.p) * shape / schatten_norm(shape, self.p)

    def cvxpy_primal(self, K: Cvx) -> tuple[Cvx, list[Cvx]]:
        form, constraints = trace_power(K, self.p)
        if self.penalty is not None:
            G = parameter("G", self.penalty)
            return G * (form / self.p), constraints
        return 0.0, [*constraints, form <= parameter("B", self.bound)]

    def cvxpy_support(self, S: Cvx) -> CvxSupport:
        if self.bound is not None:
            return bound_support(S, self.p, self.bound)
        return penalty_support(S, self.p, self.penalty or 0.0)

    def gradient(self, V: Array, SV: Array) -> tuple[Array, Array]:
        """The subgradient; the multiplier of a bound is a least-squares kappa: S V + kappa K^(p-1) V = 0."""
        if self.p == 1 or not V.size:
            return V[:, :0], np.zeros(0)
        W, s, R = np.linalg.svd(V, full_matrices=False)
        powers = s ** (2 * (self.p - 1))
        if self.penalty is not None:
            return W, self.penalty * powers
        direction = (W * (powers * s)) @ R
        size = float(np.sum(direction**2))
        kappa = max(0.0, -float(np.sum(SV * direction)) / size) if size else 0.0
        return W, kappa * powers

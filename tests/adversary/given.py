"""A point as it was given, in exact arithmetic: what it misses, and what its own targets are worth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import mpmath
import numpy as np

import npkl_models as nm
from adversary import exact
from npkl_models.model.functionals import squares

Rows = list[list[Fraction]]
SMALL = 1e-3  # the least divisor of a value that may cancel, relative to the largest of its kind


def product(A: Rows, B: Rows) -> Rows:
    """A B."""
    columns = list(zip(*B, strict=True))
    return [[sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in columns] for row in A]


def turned(A: Rows) -> Rows:
    return [list(column) for column in zip(*A, strict=True)]


def fractions(A: Any) -> Rows:
    return [[Fraction(v) for v in row] for row in exact.as_numbers(A).tolist()]


def solved(A: Rows, B: Rows) -> Rows:
    """A^-1 B of a positive definite A, by elimination."""
    work = [row[:] + other[:] for row, other in zip(A, B, strict=True)]
    for k in range(len(A)):
        work[k] = [v / work[k][k] for v in work[k]]
        for i in range(len(A)):
            if i != k and work[i][k]:
                work[i] = [v - work[i][k] * w for v, w in zip(work[i], work[k], strict=True)]
    return [row[len(A) :] for row in work]


@dataclass(frozen=True, eq=False)
class Exact:
    """A factor V of a kernel VV', or with ``kernel`` an n x n matrix, whose numbers are taken as they stand."""

    problem: nm.Problem
    point: np.ndarray
    kernel: bool = False

    @cached_property
    def rows(self) -> Rows:
        """The entries of the kernel."""
        A = fractions(self.point)
        return A if self.kernel else product(A, turned(A))

    @cached_property
    def projection(self) -> Rows | None:
        """The orthogonal projection on the range of the basis; None without one."""
        if self.problem.basis is None:
            return None
        Q = fractions(self.problem.basis.Q)
        return product(Q, solved(product(turned(Q), Q), turned(Q)))

    @cached_property
    def there(self) -> Rows:
        """The entries of the projection of the kernel on the basis."""
        P = self.projection
        return self.rows if P is None else product(product(P, self.rows), P)

    @cached_property
    def objective(self) -> Any:
        return exact.objective_of(self.problem, self.rows)

    @cached_property
    def objective_there(self) -> Any:
        return self.objective if self.projection is None else exact.objective_of(self.problem, self.there)

    @cached_property
    def off_basis(self) -> float:
        """The distance of the factor or kernel from the range of the basis, relative to its length."""
        if self.projection is None or not self.point.any():
            return 0.0
        A = fractions(self.point)
        B = self.there if self.kernel else product(self.projection, A)
        away = sum(
            (a - b) ** 2 for row, other in zip(A, B, strict=True) for a, b in zip(row, other, strict=True)
        )
        return float(mpmath.sqrt(exact.real(away / sum(a * a for row in A for a in row))))

    def residuals(self, rows: Rows) -> list[list[Fraction]]:
        """The values at the constraints minus the nearest values that these allow."""
        K = lambda i, j: rows[i][j]  # noqa: E731
        return [
            [
                z - Fraction(high) if z > high else z - Fraction(low) if z < low else Fraction(0)
                for z, low, high in zip(
                    exact.values(part.functional, K), part.lower.tolist(), part.upper.tolist(), strict=True
                )
            ]
            for part in self.problem.constraints
        ]

    @cached_property
    def eigenvalues(self) -> list:
        """The eigenvalues of the kernel, over the basis those of its projection; from below."""
        return exact.eigenvalues(self.there)

    @cached_property
    def indefinite(self) -> float:
        """The negative part of the kernel as it was given, relative to its largest eigenvalue."""
        if not self.kernel or exact.is_psd(self.rows):
            return 0.0
        values = exact.eigenvalues(self.rows)
        return float(-values[0] / values[-1]) if values[-1] > 0 else float("inf")

    @cached_property
    def grown(self) -> Any:
        """The radius of the regulariser's bound that the point needs, over the one of the problem; at least 1."""
        R, one = self.problem.regularizer, mpmath.mpf(1)
        with mpmath.workdps(exact.DIGITS):
            if R.name != "trace_power" or R.bound is None:
                return one
            p = mpmath.mpf(R.p)
            total = mpmath.fsum(max(v, 0) ** p for v in self.eigenvalues)
            return max((total / mpmath.mpf(R.bound)) ** (1 / p), one)

    @property
    def violation(self) -> float:
        """The largest share by which a constraint is missed, with the divisors of docs/certificate.md."""
        found = [float(self.grown - 1), self.off_basis]
        for part, residual in zip(self.problem.constraints, self.residuals(self.rows), strict=True):
            b, f = np.abs(part.value), part.functional
            kind = [np.abs(e.value).max() for e in self.problem.constraints if type(e.functional) is type(f)]
            scale = np.where(b > 0, np.where(squares(f), b, np.maximum(b, SMALL * max(kind))), max(kind))
            for r, s in zip(residual, scale.tolist(), strict=True):
                if s > 0:  # else the size of the entries, which floats only estimate
                    found.append(float(exact.real(abs(r) / Fraction(s))))
        return max(found)

    @property
    def feasible(self) -> bool:
        """Whether the kernel meets everything exactly."""
        met = not any(r for part in self.residuals(self.rows) for r in part)
        return met and self.grown == 1 and self.rows == self.there and exact.is_psd(self.rows)

    def owed(self, y: nm.Multipliers) -> Any:
        """The bound of multipliers for the problem as written minus theirs for the targets of the point."""
        R, total = self.problem.regularizer, Fraction(0)
        for part, nu in zip(self.residuals(self.there), y.constraints, strict=True):
            total += sum((r * Fraction(v) for r, v in zip(part, nu.tolist(), strict=True)), Fraction(0))
        if self.grown == 1:
            return exact.real(total)
        with mpmath.workdps(exact.DIGITS):
            S = exact.slack(self.problem, y)
            paid = 0 if exact.is_psd(S) else exact.support(R, exact.spectrum(self.problem, S))
            return exact.real(total) + (self.grown - 1) * paid

    def below(self, y: nm.Multipliers) -> Any:
        """What the gap of a kernel with a negative eigenvalue -e pays: e tr S for a PSD slack S."""
        if not self.kernel or self.eigenvalues[0] >= 0:
            return mpmath.mpf(0)
        S = exact.slack(self.problem, y)
        if not exact.is_psd(S):
            return mpmath.mpf(0)
        with mpmath.workdps(exact.DIGITS):
            return -self.eigenvalues[0] * exact.real(sum(S[i][i] for i in range(len(S))))

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
from npkl_models.kernel import units_of_kernel

Rows = list[list[Fraction]]


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


def in_units(rows: Rows) -> tuple[Rows, list[float]]:
    """A kernel in the units d of its rows, powers of two near the roots of its diagonal; nothing is rounded."""
    d = units_of_kernel(np.array([[float(v) for v in row] for row in rows])).tolist()
    scaled = [
        [v / Fraction(a) / Fraction(b) for v, b in zip(row, d, strict=True)]
        for row, a in zip(rows, d, strict=True)
    ]
    return scaled, d


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
        """The negative part of the kernel as it was given, relative to its largest eigenvalue, in units of rows."""
        if not self.kernel or exact.is_psd(self.rows):
            return 0.0
        values = exact.eigenvalues(in_units(self.rows)[0])
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

    def sizes(self, functional: nm.Functional) -> list:
        """The sums of abs(M_ij) and the root of K_ii K_jj for each value, which divide it where zero is asked."""
        t, out = functional.incidence, [mpmath.mpf(0)] * functional.size
        with mpmath.workdps(exact.DIGITS):
            length = [mpmath.sqrt(exact.real(max(row[i], Fraction(0)))) for i, row in enumerate(self.rows)]
            for e, i, j, c in zip(
                t.owner.tolist(), t.row.tolist(), t.column.tolist(), t.coefficient.tolist(), strict=True
            ):
                out[e] += abs(mpmath.mpf(c)) * length[i] * length[j]
        return out

    @property
    def violation(self) -> float:
        """The largest share by which a constraint is missed, with the divisors of docs/certificate.md."""
        found = [float(self.grown - 1), self.off_basis]
        for part, residual in zip(self.problem.constraints, self.residuals(self.rows), strict=True):
            sizes = self.sizes(part.functional) if not part.value.all() else [mpmath.mpf(0)] * len(residual)
            for r, b, size in zip(residual, np.abs(part.value).tolist(), sizes, strict=True):
                if r and (b or size):
                    found.append(float(exact.real(abs(r)) / (exact.real(Fraction(b)) if b else size)))
                elif r:
                    found.append(float("inf"))
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
        """What the gap of a kernel K pays if K + e Diag(d^2) >= 0: <S, e Diag(d^2)> for a PSD slack S."""
        if not self.kernel or self.eigenvalues[0] >= 0:
            return mpmath.mpf(0)
        S, rows = exact.slack(self.problem, y), self.there
        if not exact.is_psd(S):
            return mpmath.mpf(0)
        if self.problem.basis is not None:
            rows = exact.reduce(self.problem.basis.Q, rows)  # as the slack is
        scaled, d = in_units(rows)
        with mpmath.workdps(exact.DIGITS):
            least = exact.eigenvalues(scaled)[0]
            total = sum((S[i][i] * Fraction(d[i]) ** 2 for i in range(len(S))), Fraction(0))
            return max(-least, 0) * exact.real(total)

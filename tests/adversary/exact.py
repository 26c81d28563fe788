"""Exact values of a dual point, in fractions where they are rational and in 60 digits where they are not."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import scipy.sparse as sp

DIGITS = 60
SMALLEST = -5_000  # numbers below 2 to this power, about, count as zero
INFINITY = mpmath.inf


def conjugate(name: str, y: float, t: float, w: float) -> Fraction | None:
    """f*(y) of f = w loss, None outside its domain."""
    y, t, w = Fraction(y), Fraction(t), Fraction(w)
    if name == "square":
        return y * y / (4 * w) + y * t
    if name == "absolute":
        return y * t if abs(y) <= w else None
    if name == "huber":  # its delta is 1/2
        return y * y / (4 * w) + y * t if abs(y) <= w else None
    if name == "linear":
        return Fraction(0) if y == -w * t else None
    if name == "shared_slack":
        return y * t if y >= 0 else None
    if name == "squared_excess":
        return y * y / (4 * w) + y * t if y >= 0 else None
    if name == "squared_shortfall":
        return y * y / (4 * w) + y * t if y <= 0 else None
    if name == "excess":
        return y * t if 0 <= y <= w else None
    if name not in ("hinge", "squared_hinge", "logistic"):
        raise NotImplementedError(name)
    a = -t * y
    if a < 0 or (name in ("hinge", "logistic") and a > w):
        return None
    if name == "logistic":
        return _rounded(lambda: real(w) * (_entropy(a / w) + _entropy(1 - a / w)))
    return -a if name == "hinge" else a * a / (4 * w) - a


def loss_value(name: str, z: Fraction, t: float, w: float) -> Fraction:
    """w loss(z; t)."""
    t, w = Fraction(t), Fraction(w)
    if name == "square":
        return w * (z - t) ** 2
    if name == "absolute":
        return w * abs(z - t)
    if name == "huber":
        return w * ((z - t) ** 2 if abs(z - t) <= Fraction(1, 2) else abs(z - t) - Fraction(1, 4))
    if name == "linear":
        return -w * t * z
    if name in ("excess", "squared_excess"):
        return w * max(Fraction(0), z - t) ** (1 if name == "excess" else 2)
    if name == "squared_shortfall":
        return w * max(Fraction(0), t - z) ** 2
    if name == "logistic":
        return _rounded(lambda: real(w) * mpmath.log1p(mpmath.exp(real(-t * z))))
    short = max(Fraction(0), 1 - t * z)
    return w * (short if name == "hinge" else short**2)


def _entropy(a: Fraction):
    """a ln a, also where a is so near to one that 60 digits do not tell them apart."""
    return real(a) * (mpmath.log1p(real(a - 1)) if 2 * a > 1 else mpmath.log(real(a))) if a else mpmath.mpf(0)


def _rounded(number) -> Fraction:
    """The fraction of a number of 60 digits, which a function computes."""
    with mpmath.workdps(DIGITS):
        sign, mantissa, exponent, _ = number()._mpf_
    if exponent < SMALLEST:  # exp(-1e100) has no fraction that fits into memory
        return Fraction(0)
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def paid(problem, y) -> Fraction | None:
    """The sum of f*(y); None outside the domains."""
    total = Fraction(0)
    for term, part in zip(problem.losses, y.losses, strict=True):
        if not term.loss.separable and sum(map(Fraction, part.tolist())) > Fraction(float(term.weight[0])):
            return None
        for v, t, w in zip(part.tolist(), term.target.tolist(), term.weight.tolist(), strict=True):
            one = conjugate(term.loss.name, v, t, w)
            if one is None:
                return None
            total += one
    for part, nu in zip(problem.constraints, y.constraints, strict=True):
        for v, low, high in zip(nu.tolist(), part.lower.tolist(), part.upper.tolist(), strict=True):
            if (v > 0 and high == np.inf) or (v < 0 and low == -np.inf):
                return None
        total += sum(Fraction(b) * Fraction(v) for b, v in zip(part.value.tolist(), nu.tolist(), strict=True))
    return total


def slack(problem, y) -> list[list[Fraction]]:
    """S(y), in the basis if there is one."""
    S = [[Fraction(v) for v in row] for row in problem.cost.toarray().tolist()]
    for part, own in zip(problem.terms, y.terms, strict=True):
        t = part.functional.triplets()
        for e, i, j, c in zip(
            t.owner.tolist(), t.row.tolist(), t.column.tolist(), t.coefficient.tolist(), strict=True
        ):
            half = Fraction(c) * Fraction(float(own[e])) / 2
            S[i][j] += half
            S[j][i] += half
    return S if problem.basis is None else reduce(problem.basis.Q, S)


def as_numbers(Q) -> np.ndarray:
    """A matrix as it is stored, without its zeros or with them."""
    return Q.toarray() if sp.issparse(Q) else Q


def reduce(Q, S: list[list[Fraction]]) -> list[list[Fraction]]:
    """Q'SQ."""
    columns = [[Fraction(v) for v in column] for column in as_numbers(Q).T.tolist()]
    left = [[sum(a * b for a, b in zip(row, q, strict=True)) for row in S] for q in columns]
    return [[sum(a * b for a, b in zip(part, q, strict=True)) for q in columns] for part in left]


def is_psd(A: list[list[Fraction]]) -> bool:
    """Whether a symmetric matrix of fractions is positive semidefinite, by LDL' in exact arithmetic."""
    A = [row[:] for row in A]
    for k in range(len(A)):
        pivot = A[k][k]
        if pivot < 0 or (pivot == 0 and any(A[i][k] for i in range(k + 1, len(A)))):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(A)):
            if A[i][k]:
                ratio = A[i][k] / pivot
                for j in range(k, len(A)):
                    A[i][j] -= ratio * A[k][j]
    return True


def dual_value(problem, y):
    """-sum f* - nu'b - R*(-S(y)) exactly (a fraction or 60 digits), -inf where that is all."""
    owed = paid(problem, y)
    if owed is None:
        return -INFINITY
    S, R = slack(problem, y), problem.regularizer
    if R.name == "trace_power" and R.finite_support:
        if is_psd(S):  # a zero of sixty digits is not quite one, and R* of it not either
            return -real(owed)
        return -real(owed) - support(R, spectrum(problem, S))
    if R.name == "trace_power":
        S = _shifted(problem, S, Fraction(R.penalty))
    return -owed if is_psd(S) else -INFINITY


def _shifted(problem, S, G: Fraction):
    """S + G I, in a basis S + G Q'Q."""
    n = len(S)
    one = [[Fraction(int(i == j)) for j in range(problem.n)] for i in range(problem.n)]
    one = one if problem.basis is None else reduce(problem.basis.Q, one)
    return [[S[i][j] + G * one[i][j] for j in range(n)] for i in range(n)]


def spectrum(problem, S) -> list:
    """Eigenvalues of S; in a basis those for the orthonormal basis of the same range."""
    with mpmath.workdps(DIGITS):
        A = mpmath.matrix([[real(v) for v in row] for row in S])
        if problem.basis is not None:
            Q = mpmath.matrix(as_numbers(problem.basis.Q).tolist())
            inverse = mpmath.inverse(mpmath.cholesky(Q.T * Q))
            A = inverse * A * inverse.T
        return list(mpmath.eigsy((A + A.T) / 2, eigvals_only=True))


def support(R, eigenvalues):
    """R*(-S) from the eigenvalues of S."""
    with mpmath.workdps(DIGITS):
        positive = [max(-v, mpmath.mpf(0)) for v in eigenvalues]
        p = mpmath.mpf(R.p)
        if R.p == 1:
            return mpmath.mpf(R.bound) * max(positive)
        q = p / (p - 1)
        powers = mpmath.fsum(v**q for v in positive)
        if R.bound is not None:
            return mpmath.mpf(R.bound) ** (1 / p) * powers ** (1 / q)
        G = mpmath.mpf(R.penalty)
        return G / q * mpmath.fsum((v / G) ** q for v in positive)


def objective(problem, V):
    """The objective at V V', V taken as it stands in memory; the regulariser in 60 digits."""
    rows = [[Fraction(v) for v in row] for row in V.tolist()]
    return objective_of(
        problem, [[sum((a * b for a, b in zip(v, w, strict=True)), Fraction(0)) for w in rows] for v in rows]
    )


def objective_of(problem, rows: list[list[Fraction]]):
    """The objective at a kernel, given by its entries; the regulariser in 60 digits."""

    def K(i: int, j: int) -> Fraction:
        return rows[i][j]

    C = problem.cost.tocoo()
    total = sum(
        (
            Fraction(v) * K(i, j)
            for i, j, v in zip(C.row.tolist(), C.col.tolist(), C.data.tolist(), strict=True)
        ),
        Fraction(0),
    )
    for term in problem.losses:
        z = values(term.functional, K)
        if not term.loss.separable:
            above = [v - Fraction(t) for v, t in zip(z, term.target.tolist(), strict=True)]
            total += Fraction(float(term.weight[0])) * max(Fraction(0), *above)
            continue
        for v, t, w in zip(z, term.target.tolist(), term.weight.tolist(), strict=True):
            total += loss_value(term.loss.name, v, t, w)
    R = problem.regularizer
    if R.name != "trace_power" or R.penalty is None:
        return total
    with mpmath.workdps(DIGITS):
        return real(total) + mpmath.mpf(R.penalty) / mpmath.mpf(R.p) * mpmath.fsum(
            max(v, 0) ** mpmath.mpf(R.p) for v in eigenvalues(rows)
        )


def eigenvalues(rows: list[list[Fraction]]) -> list:
    """The eigenvalues of a symmetric matrix in 60 digits, from below."""
    with mpmath.workdps(DIGITS):
        A = mpmath.matrix([[real(v) for v in row] for row in rows])
        return sorted(mpmath.eigsy((A + A.T) / 2, eigvals_only=True))


def values(functional, K) -> list[Fraction]:
    """The values of a functional on the kernel given by its entries."""
    out = [Fraction(0)] * functional.size
    t = functional.triplets()
    for e, i, j, c in zip(
        t.owner.tolist(), t.row.tolist(), t.column.tolist(), t.coefficient.tolist(), strict=True
    ):
        out[e] += Fraction(c) * K(i, j)
    return out


def real(x):
    """A fraction in 60 digits."""
    with mpmath.workdps(DIGITS):
        return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(x)

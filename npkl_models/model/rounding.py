"""Bounds on rounding errors: the distance between computed numbers of a certificate and the exact ones.

A bound on the optimum is a theorem about the numbers in memory only if it covers all rounding errors. Each
function here bounds such errors from above, by the sizes of the numbers that enter. The size of the result
does not serve, since the result may be small by cancellation.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import (
    TINY,
    UNIT,
    Array,
    Matrix,
    absolute_row_sums,
    gamma,
    gram_eigenvalues,
    longest_row,
    norm_bound,
)
from npkl_models.linalg.exact_products import inner_products
from npkl_models.linalg.twofold import add, minus, twofold
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers

EXACT = 2e7  # most products in Q W that is formed with twice the digits (a 20th without equalities)
SMALLEST = 1e-30  # between this and its inverse, squares of products neither under- nor overflow
UNTOUCHED = 1e-280  # an error above this covers what underflow takes
SUM = 64  # units of roundoff in a (pairwise) sum of numpy and in each of its terms


def paid(problem: Statement, y: Multipliers) -> float:
    """An upper bound on sum f*(y) + nu'b + b^2 sum d; +inf outside the domain."""
    total = problem.conjugate_sum(y)
    if not math.isfinite(total):
        return math.inf
    size, count = 0.0, 0
    for term, part in zip(problem.terms, y.terms, strict=True):
        linear = np.abs(part * term.target)
        size += float(np.sum(np.abs(term.loss.conjugate(part, term.target, term.weight)) + 2 * linear))
        count += part.size
    for equality, nu in zip(problem.equalities, y.equalities, strict=True):
        size += float(np.sum(np.abs(equality.value * nu)))
        count += nu.size
    if y.rows is not None:
        size += problem.regularizer.trace_bound(1) * float(np.sum(y.rows))
    return total + SUM * UNIT * size + count * TINY


def slack(problem: Statement, y: Multipliers) -> tuple[Matrix, float]:
    """S(y), restricted to the basis, and a bound on the norm of its error.

    S is a sum of numbers that may cancel. Its error is at most a row sum of |C| + sum |y_e| |M_e|, times a
    unit of roundoff for each summand. Over a basis, the error includes the errors of the product Q'SQ and the
    defect of Q, since K = Q U Q' refers to the exactly orthonormal basis with the same range.
    """
    S = problem.slack(y)
    size = absolute_row_sums(problem.cost)
    count = np.diff(problem.cost.indptr).astype(float)
    for part, own in zip(problem.parts, y.parts, strict=True):
        one, more = part.functional.row_sizes(own)
        size, count = size + one, count + more + 1
    if y.rows is not None:
        size, count = size + np.abs(y.rows), count + 1
    error = float(np.max((count + 2) * UNIT * size, initial=0.0)) * (1 + 1e-3) + TINY
    if problem.basis is None:
        return S, error
    Q, whole = problem.basis, norm_bound(S)
    product = Q.of_product(abs(S), gamma(float(np.max(count, initial=0.0)) + 2))
    reduced = problem.restrict(S)
    return reduced, error * (1 + Q.defect) + product + 2.5 * Q.defect * (1 + Q.defect) * whole


def multiplier_sizes(problem: Statement, y: Multipliers) -> float:
    """An upper bound on the norm of sum_e |y_e| |M_e| (+ Diag d)."""
    size = np.zeros(problem.n) if y.rows is None else np.abs(y.rows)
    for part, own in zip(problem.parts, y.parts, strict=True):
        size = size + part.functional.row_sizes(own)[0]
    spread = 1.0 if problem.basis is None else problem.basis.magnitude * (1 + problem.basis.defect)
    return float(np.max(size, initial=0.0)) * spread * (1 + gamma(problem.n + 64))


def off_basis(problem: Statement, V: Array) -> Array:
    """A bound on the distance of each row of V from that of a factor Q W in the exact range of the basis (n).

    A factor of floating-point numbers is in this range only up to rounding. The rounding is not small in two
    cases: V is far shorter than Q and W, or two rows are far nearer to each other than to zero.
    """
    basis = problem.basis
    if basis is None:
        return np.zeros(problem.n)
    W, sparse = problem.drop(V), sp.issparse(basis.Q)
    if sparse or V.size * basis.size > (EXACT if problem.equalities else EXACT / 20):
        short, steps = np.abs(V - problem.lift(W)), longest_row(basis.Q) if sparse else basis.size
        size = short * (1 + 1e-9) + gamma(steps + 2) * (abs(basis.Q) @ np.abs(W))
    else:
        exact, error = inner_products(twofold(np.ascontiguousarray(basis.dense.T)), twofold(W))
        size = np.abs(add(exact, minus(twofold(V))).high) + error
    off = np.sqrt(np.einsum("ir,ir->i", size, size)) * (1 + 1e-9)
    return np.where(np.isfinite(off), off, np.inf)


def grown(V: Array, reach: float) -> float:
    """A bound on the nuclear norm of the change from V V' to the kernel of a factor within ``reach`` of V."""
    return reach * (2 * float(np.linalg.norm(V)) + reach) * (1 + 1e-9)


def objective(problem: Statement, V: Array, value: float) -> float:
    """An upper bound on the error of the objective at V V', or at the nearest kernel over the basis."""
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    steps = V.shape[1] + 8 + float(np.max(np.diff(problem.cost.indptr), initial=0))
    steps += max((term.functional.additions for term in problem.terms), default=0)  # running sums
    off, sums = off_basis(problem, V), absolute_row_sums(problem.cost, lengths)
    error = gamma(steps + SUM) * float(lengths @ sums)
    moved, told = bool(off.any()), bool(V.any())
    if moved:
        error += float(off @ (2 * sums + absolute_row_sums(problem.cost, off))) * (1 + 1e-9)
    for term in problem.terms:
        z, size = term.functional.value_of_factor(V), term.functional.size_of_factor(V)
        change = term.functional.change_of_factor(V, off) if moved else np.zeros(z.size)
        ends = term.subdifferential(z, gamma(steps) * size + change)
        slope = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        error += float(np.sum(slope * change)) * (1 + 1e-9)
        error += float(np.sum(slope * size)) * gamma(steps + 8)
        each = term.loss.value(z, term.target)
        error += SUM * UNIT * float(np.sum(np.abs(term.weight * each) + slope))
        told |= bool(each.any()) or (
            term.loss.nonnegative and bool(term.loss.derivative(z, term.target).any())
        )
    if not problem.regularizer.vacuous:
        eigenvalues, power = gram_eigenvalues(V), problem.regularizer.spectral
        R, p = problem.regularizer.value(eigenvalues), 1.0 if power is None else power.p
        error += gamma(SUM * (p + V.shape[1])) * R
        if moved:
            more = problem.regularizer.value(eigenvalues + grown(V, float(np.linalg.norm(off))))
            error += more - R + gamma(SUM * (p + V.shape[1])) * more
    error += SUM * UNIT * abs(value)
    return error if error > UNTOUCHED or not told else error + _underflow(problem)


def _underflow(problem: Statement) -> float:
    """A bound on what products that underflow take from an objective that is nearly zero."""
    numbers = [np.abs(problem.cost.data), *(np.abs(term.weight) for term in problem.terms)]
    size = sum(float(np.max(part, initial=0.0)) for part in numbers)
    if not problem.regularizer.vacuous:
        whole = problem.regularizer.value(np.ones(problem.n))
        size += SUM * whole if math.isfinite(whole) else 0.0
    return TINY * max(size, 1.0) if size > 0 else 0.0  # nothing is added to an objective that is always zero


def sensitivity(problem: Statement, V: Array, reach: float, nu: tuple[Array, ...]) -> float:
    """An upper bound on the change of the objective from V to a feasible factor within ``reach`` of V.

    For any multipliers nu, the change is <S, K' - K> + nu'(A(K) - b), plus what the losses exceed their
    linear models at V by. For the multipliers of an optimum S V = 0, and the change is small.
    """
    R = problem.regularizer
    unpriced = R.vacuous or R.bounds or R.row_radius is not None
    if reach == 0.0 or not (problem.cost.data.any() or problem.terms or not unpriced):
        return 0.0  # nothing can change
    y = problem.derivatives(V)
    S = problem.slack(replace(y, equalities=nu))
    lengths, steps = np.sqrt(np.einsum("ir,ir->i", V, V)), V.shape[1] + SUM
    size, ends = abs(S), lengths + reach
    sizes, count = slack_sizes(problem, y, nu, ends)
    error = gamma(steps + problem.n + count) * float(np.linalg.norm(size @ ends + sizes))
    SV = np.asarray(S @ V)
    total = 2 * reach * (float(np.linalg.norm(problem.drop(SV))) + error) + reach**2 * norm_bound(size)
    if problem.basis is not None:  # V may be outside the range of the basis
        off = off_basis(problem, V)
        total += 2 * float(off @ np.linalg.norm(SV, axis=1)) + 2 * float(np.linalg.norm(off)) * error
    for term, own in zip(problem.terms, y.terms, strict=True):
        t = term.functional.triplets()
        moved = (np.abs(t.coefficient) * (lengths[t.row] + lengths[t.column] + reach)) * reach
        change = np.bincount(t.owner, weights=moved, minlength=term.functional.size).astype(float)
        f = term.functional
        doubt = gamma(steps + f.additions) * f.size_of_factor(V)
        low, high = term.subdifferential(f.value_of_factor(V), change + doubt)
        total += float(np.sum(np.maximum(np.abs(own - low), np.abs(high - own)) * change))
    for part, own in zip(problem.equalities, nu, strict=True):
        f = part.functional
        miss = np.abs(f.value_of_factor(V) - part.value) + gamma(steps + f.additions) * f.size_of_factor(V)
        total += float(np.sum(np.abs(own) * miss))
    if R.vacuous:
        return total * (1 + 1e-9)
    eigenvalues = gram_eigenvalues(V)
    return (total + R.value(eigenvalues + grown(V, reach)) - R.value(eigenvalues)) * (1 + 1e-9)


def linear_change(problem: Statement, V: Array, reach: float) -> float:
    """An upper bound on the change of <C, K> within ``reach`` of V; inf if the objective has other parts."""
    if problem.terms or not problem.regularizer.vacuous:
        return math.inf
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    count = float(np.max(np.diff(problem.cost.indptr), initial=0))
    product = float(np.linalg.norm(problem.cost @ V))
    product += gamma(count + 4) * float(np.linalg.norm(absolute_row_sums(problem.cost, lengths)))
    return (2 * reach * product + reach**2 * norm_bound(problem.cost)) * (1 + 1e-9)


def turned_change(
    problem: Statement, V: Array, turned: float, reach: float, nu: tuple[Array, ...], missed: Array
) -> float:
    """An upper bound on <C, V D V'> for |D| <= ``turned``, if V (I + D) V' meets the equalities.

    <C, V D V'> equals <S, V D V'> + nu'(A(VV') - b) for any multipliers nu, and |A(VV') - b| <= ``missed``. V
    may be off by ``reach``. The problem has neither terms nor a regulariser.
    """
    if not problem.cost.data.any():
        return 0.0
    none = problem.no_multipliers
    S, (sizes, count) = problem.slack(replace(none, equalities=nu)), slack_sizes(problem, none, nu)
    if not (in_range(V) and in_range(sizes)):
        return math.inf
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    steps = V.shape[1] + SUM + problem.n + count
    error = gamma(steps) * float(np.linalg.norm(sizes)) * float(np.max(lengths, initial=0.0))
    SV = np.asarray(S @ V)
    size, long = float(np.linalg.norm(SV)), float(np.linalg.norm(V))
    whole = float(np.linalg.norm(V.T @ SV)) + long * error + gamma(problem.n + 2) * long * size
    whole += 2 * reach * (size + error) + reach**2 * float(np.max(sizes, initial=0.0))
    return (turned * whole + float(np.abs(np.concatenate(nu)) @ missed)) * (1 + 1e-6)


def in_range(A: Array) -> bool:
    """Whether the largest number is neither too small nor too large for norms of products."""
    return SMALLEST <= float(np.max(np.abs(A), initial=0.0)) <= 1 / SMALLEST


def slack_sizes(
    problem: Statement, y: Multipliers, nu: tuple[Array, ...], x: Array | None = None
) -> tuple[Array, float]:
    """Row sums of |C| + sum |y_e| |M_e| (times diag(x)), and the largest number of summands in a row.

    Rounding errors of the slack are relative to these row sums.
    """
    size, count = absolute_row_sums(problem.cost, x), np.diff(problem.cost.indptr).astype(float)
    for part, own in zip(problem.parts, (*y.terms, *nu), strict=True):
        one, more = part.functional.row_sizes(own, x)
        size, count = size + one, count + more + 1
    return size, float(np.max(count, initial=0.0))


def raised(values: Array, by: float | Array) -> Array:
    """``values + by``, rounded such that the sum gains no less than ``by``."""
    return values + (by + 4 * UNIT * (np.abs(values) + np.abs(by)))

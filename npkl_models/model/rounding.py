"""Bounds on rounding errors: the distance between computed numbers of a certificate and the exact ones."""

from __future__ import annotations

import math

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
from npkl_models.model.functionals import PAIRWISE as SUM
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

UNTOUCHED = 1e-280  # an error above this covers what underflow takes


def paid(problem: Statement, y: Multipliers) -> float:
    """An upper bound on the sum of f*(y); +inf outside the domain."""
    total = problem.conjugate_sum(y)
    if not math.isfinite(total):
        return math.inf
    size, count = 0.0, 0
    for term, part in zip(problem.losses, y.losses, strict=True):
        linear = np.abs(part * term.target)
        size += float(np.sum(np.abs(term.loss.conjugate(part, term.target, term.weight)) + 2 * linear))
        count += part.size
    for constraint, nu in zip(problem.constraints, y.constraints, strict=True):
        size += float(np.sum(np.abs(constraint.value * nu)))
        count += nu.size
    return total + SUM * UNIT * size + count * TINY


def slack(problem: Statement, y: Multipliers) -> tuple[Matrix, float]:
    """S(y), restricted to the basis, and a bound on the norm of its error.

    S is a sum of numbers that may cancel. Its error is at most a row sum of |C| + sum |y_e| |M_e|, times a
    unit of roundoff for each summand. Over a basis, the error includes the errors of the product Q'SQ and the
    defect of Q, since K = Q U Q' refers to the exactly orthonormal basis with the same range.
    """
    S = problem.slack(y)
    errors, count = slack_errors(problem, y)
    error = float(np.max(errors, initial=0.0))
    if problem.basis is None:
        return S, error
    Q, whole = problem.basis, norm_bound(S)
    product = Q.of_product(abs(S), gamma(count + 2))
    reduced = problem.restrict(S)
    return reduced, error * (1 + Q.defect) + product + 2.5 * Q.defect * (1 + Q.defect) * whole


def slack_errors(problem: Statement, y: Multipliers) -> tuple[Array, float]:
    """A bound on the error of each row of S(y), summed over the row, and the most summands of a row."""
    size, count = slack_sizes(problem, y)
    return (count + 2) * UNIT * size * (1 + 1e-3) + TINY, float(np.max(count, initial=0.0))


def multiplier_sizes(problem: Statement, y: Multipliers) -> float:
    """An upper bound on the norm of sum_e |y_e| |M_e|."""
    size = np.zeros(problem.n)
    for part, own in zip(problem.terms, y.terms, strict=True):
        size = size + part.functional.row_sizes(own)[0]
    spread = 1.0 if problem.basis is None else problem.basis.magnitude * (1 + problem.basis.defect)
    return float(np.max(size, initial=0.0)) * spread * (1 + gamma(problem.n + 64))


def off_basis(problem: Statement, V: Array) -> Array:
    """A bound on the distance of each row of V from that of a Q W in the exact range of the basis (n)."""
    basis = problem.basis
    if basis is None:
        return np.zeros(problem.n)
    W, steps = problem.drop(V), longest_row(basis.Q) if sp.issparse(basis.Q) else basis.size
    size = np.abs(V - problem.lift(W)) * (1 + 1e-9) + gamma(steps + 2) * (abs(basis.Q) @ np.abs(W))
    off = np.sqrt(np.einsum("ir,ir->i", size, size)) * (1 + 1e-9)
    return np.where(np.isfinite(off), off, np.inf)


def grown(V: Array, reach: float) -> float:
    """A bound on the nuclear norm of the change from V V' to the kernel of a factor within ``reach`` of V."""
    return reach * (2 * float(np.linalg.norm(V)) + reach) * (1 + 1e-9)


def objective(problem: Statement, V: Array, value: float) -> float:
    """An upper bound on the error of the objective at V V', or at the nearest kernel over the basis."""
    lengths = np.sqrt(np.einsum("ir,ir->i", V, V))
    steps = V.shape[1] + 8 + float(np.max(np.diff(problem.cost.indptr), initial=0))
    steps += max((term.functional.additions for term in problem.losses), default=0)  # running sums
    off, sums = off_basis(problem, V), absolute_row_sums(problem.cost, lengths)
    error = gamma(steps + SUM) * float(lengths @ sums)
    moved, told = bool(off.any()), bool(V.any())
    if moved:
        error += float(off @ (2 * sums + absolute_row_sums(problem.cost, off))) * (1 + 1e-9)
    for term in problem.losses:
        z, size = term.functional.value_of_factor(V), term.functional.size_of_factor(V)
        error += _of_losses(term, z, size, term.functional.change_of_factor(V, off) if moved else None, steps)
        told |= bool(term.loss.value(z, term.target).any()) or (
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


def _of_losses(term: LossTerm, z: Array, size: Array, change: Array | None, steps: float) -> float:
    """An upper bound on the error of the losses of values z, and on their change if values move."""
    moved = np.zeros(z.size) if change is None else change
    ends = term.subdifferential(z, gamma(steps) * size + moved)
    slope = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    error = float(np.sum(slope * moved)) * (1 + 1e-9)
    error += float(np.sum(slope * size)) * gamma(steps + 8)
    return error + SUM * UNIT * float(np.sum(np.abs(term.weight * term.loss.value(z, term.target)) + slope))


def objective_of_kernel(problem: Statement, K: Array, value: float) -> float:
    """An upper bound on the error of the objective at a dense kernel K (n x n)."""
    steps = float(problem.n + SUM + max((t.functional.additions for t in problem.losses), default=0))
    error = gamma(steps) * float(np.sum(abs(problem.cost).multiply(np.abs(K)))) + SUM * UNIT * abs(value)
    for term in problem.losses:
        f = term.functional
        error += _of_losses(term, f.value(K), f.size_of_kernel(K), None, steps)
    power = problem.regularizer.spectral
    return error + gamma(steps * (SUM if power is None else SUM * power.p)) * (abs(value) + error)


def _underflow(problem: Statement) -> float:
    """A bound on what products that underflow take from an objective that is nearly zero."""
    numbers = [np.abs(problem.cost.data), *(np.abs(term.weight) for term in problem.losses)]
    size = sum(float(np.max(part, initial=0.0)) for part in numbers)
    if not problem.regularizer.vacuous:
        whole = problem.regularizer.value(np.ones(problem.n))
        size += SUM * whole if math.isfinite(whole) else 0.0
    return TINY * max(size, 1.0) if size > 0 else 0.0  # nothing is added to an objective that is always zero


def slack_sizes(problem: Statement, y: Multipliers) -> tuple[Array, Array]:
    """Row sums of |C| + sum |y_e| |M_e|, and the number of summands in each row."""
    size, count = absolute_row_sums(problem.cost), np.diff(problem.cost.indptr).astype(float)
    for part, own in zip(problem.terms, y.terms, strict=True):
        one, more = part.functional.row_sizes(own)
        size, count = size + one, count + more + 1
    return size, count


def raised(values: Array, by: float | Array) -> Array:
    """``values + by``, rounded such that the sum gains no less than ``by``."""
    return values + (by + 4 * UNIT * (np.abs(values) + np.abs(by)))

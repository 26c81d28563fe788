"""Newton steps on a factor towards equalities: each the shortest that meets them to first order.

Where equalities nearly depend on each other such steps go too far to be good; then they are damped (Levenberg
1944, Marquardt 1963), each the better the smaller the damping that it bears.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from npkl_models.feasibility.analytic_centre import rows
from npkl_models.linalg import UNIT, Array, Matrix, dense, gram_eigenvalues
from npkl_models.model.functionals import Entries, Functional
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement
from npkl_models.presolve.contraction import of_unknown

STEPS = 12  # Newton steps
INNER = 300  # steps of LSMR in each
TURNING = 0.5  # a step that does not shrink the residual to this share is the last but a few
ROUNDING = 8 * UNIT  # a residual that no step can shrink
NUMBERS = 5e7  # of the derivative, at most
CONSTRAINTS = 5_000
DAMPED, DENSE = 40, 1_500  # damped steps, and equalities for which any are tried
CLOSE = 1e-2  # residual, relative to the data, from which on they are
DAMPING = (1e-7, 1e-18)  # at first, and the least, in units of the largest eigenvalue of JJ'
FEWER, LOOK_BACK = 0.5, 5  # the residual must fall to this share in so many of them
SINGULAR = (0.0, 1e-14, 1e-12, 1e-10)  # added to JJ', its diagonal one, where it cannot be factorised
FULL = 0.05  # share of a matrix's numbers from which on sparse products are slower than dense ones
SLACK = 1e-12  # by which an inequality is met more than needed


@dataclass(frozen=True)
class _Constraint:
    """Values that must be ``wanted``, with their first derivatives in V along D and the adjoint of that."""

    residual: Array
    along: Callable[[Array], Array]
    back: Callable[[Array], Array]


def newton(problem: Statement, V: Array) -> Array:
    """The factor (n x r) with the smallest residual among some Newton iterates from V on."""
    W, best, least, turns = problem.drop(V), V, np.inf, 0
    held: set[int] = set()
    for _ in range(STEPS):
        V = problem.lift(W)
        if not np.isfinite(V).all():
            break
        others = _inequalities(problem, V, W, held)
        constraints = [*_equalities(problem, V), *others]
        size = sum(float(np.sum(c.residual**2)) for c in constraints)
        if not np.isfinite(size):
            break
        turns += size > TURNING**2 * least
        if size < least:
            best, least = V, size
        count = sum(c.residual.size for c in constraints)
        if size <= count * ROUNDING**2 or turns > 2:
            break
        step = None if others else _direct_step(problem, V)
        W = W + (_step(problem, W, constraints) if step is None else step)
    return best if held else _damped(problem, best)


def _direct_step(problem: Statement, V: Array) -> Array | None:
    """The shortest step by a factorisation of JJ'; None where that is too large or too near singular."""
    m = sum(part.functional.size for part in problem.equalities)
    found = _normal(problem, V) if m <= CONSTRAINTS else None
    if found is None:
        return None
    residual = np.concatenate(
        [part.value - part.functional.value_of_factor(V) for part in problem.equalities]
    )
    G, back = found
    scale = np.sqrt(np.maximum(G.diagonal(), 1e-300))
    G = G / scale / scale[:, None]
    for share in SINGULAR:
        try:
            factor = scipy.linalg.cho_factor(G + share * np.eye(len(G)))
        except (np.linalg.LinAlgError, ValueError):
            continue
        step = back(scipy.linalg.cho_solve(factor, residual / scale) / scale)
        return step if np.isfinite(step).all() else None
    return None


def _damped(problem: Statement, V: Array) -> Array:
    """Levenberg-Marquardt steps from V on, as long as they gain; relative residuals count alike."""
    f, wanted = _stacked(problem)
    divisor = np.maximum(np.abs(wanted), 1e-3 * float(np.max(np.abs(wanted), initial=0.0))) + 1e-300
    W, residual = problem.drop(V), (wanted - f(V)) / divisor
    sizes, damping = [float(np.linalg.norm(residual))], DAMPING[0]
    rounding = np.sqrt(wanted.size) * ROUNDING
    if wanted.size > DENSE or not rounding < sizes[0] <= CLOSE:
        return V
    while len(sizes) <= DAMPED and sizes[-1] > rounding:
        if len(sizes) > LOOK_BACK and sizes[-1] > FEWER * sizes[-1 - LOOK_BACK]:
            break
        found = _normal(problem, V)
        if found is None:
            break
        G, back = found
        G = G / divisor / divisor[:, None]
        top = float(np.max(np.abs(G).sum(axis=1)))
        while damping <= 1:
            try:
                factor = scipy.linalg.cho_factor(G + damping * top * np.eye(len(G)))
            except (np.linalg.LinAlgError, ValueError):
                damping *= 10
                continue
            step = back(scipy.linalg.cho_solve(factor, residual) / divisor)
            trial = problem.lift(W + step)
            new = (wanted - f(trial)) / divisor
            if float(np.linalg.norm(new)) < sizes[-1]:
                W, V, residual = W + step, trial, new
                break
            damping *= 10
        else:
            break
        sizes.append(float(np.linalg.norm(residual)))
        damping = max(0.1 * damping, DAMPING[1])
    return V


def _normal(problem: Statement, V: Array) -> tuple[Array, Callable[[Array], Array]] | None:
    """J J' and x -> J'x as a change of W, J the derivative at V; None where that would be too large.

    Values whose matrix is the symmetric part of p r' have J J' as a sum of products of inner products.
    """
    found = rows(problem)
    if found is None:
        J = derivative(problem, V)
        return None if J is None else (outer(J), lambda x: (J.T @ x).reshape(V.shape[1], -1).T)
    P, R = found
    W = problem.drop(V)
    PW, RW = P @ W, R @ W
    G = (P @ P.T) * (RW @ RW.T) + (R @ R.T) * (PW @ PW.T)
    mixed = (P @ R.T) * (RW @ PW.T)
    return G + mixed + mixed.T, lambda x: P.T @ (x[:, None] * RW) + R.T @ (x[:, None] * PW)


def _stacked(problem: Statement) -> tuple[Callable[[Array], Array], Array]:
    """The values of all equalities at a factor, and what they should be."""
    parts = problem.equalities
    return (
        lambda V: np.concatenate([part.functional.value_of_factor(V) for part in parts]),
        np.concatenate([part.value for part in parts]),
    )


def _step(problem: Statement, W: Array, constraints: list[_Constraint]) -> Array:
    """The shortest change of W that meets all constraints to first order."""
    right = np.concatenate([c.residual for c in constraints])
    cuts = np.cumsum([c.residual.size for c in constraints])[:-1]

    def forward(x: Array) -> Array:
        D = problem.lift(x.reshape(W.shape))
        return np.concatenate([c.along(D) for c in constraints])

    def adjoint(y: Array) -> Array:
        parts = [c.back(part) for c, part in zip(constraints, np.split(y, cuts), strict=True)]
        return problem.drop(np.sum(parts, axis=0)).ravel()

    operator = LinearOperator((right.size, W.size), matvec=forward, rmatvec=adjoint, dtype=float)
    step: Array = lsmr(operator, right, atol=1e-14, btol=1e-14, conlim=0, maxiter=INNER)[0]
    return step.reshape(W.shape)


def _equalities(problem: Statement, V: Array) -> list[_Constraint]:
    return [_of_functional(part.functional, V, part.value) for part in problem.equalities]


def _of_functional(f: Functional, V: Array, wanted: Array) -> _Constraint:
    """Scaled, so that a residual counts by its share in the data that enter."""
    scale = 1 / np.maximum(np.where(wanted != 0, np.abs(wanted), f.size_of_factor(V)), 1e-300)
    return _Constraint(
        scale * (wanted - f.value_of_factor(V)),
        lambda D: scale * (f.value_of_product(V, D) + f.value_of_product(D, V)),
        lambda y: 2 * np.asarray(f.adjoint(scale * y) @ V),
    )


def _inequalities(problem: Statement, V: Array, W: Array, held: set[int]) -> list[_Constraint]:
    """Constraints of the regulariser that are exceeded, or were; ``held`` remembers which."""
    R = problem.regularizer
    if R.row_multipliers:
        top = R.trace_bound(1)
        held.update(np.flatnonzero(np.einsum("ir,ir->i", V, V) > top).tolist())
        if not held:
            return []
        rows = np.array(sorted(held), dtype=np.intp)
        return [_of_functional(Entries(problem.n, (rows, rows)), V, np.full(rows.size, top * (1 - SLACK)))]
    slope = R.violation_gradient(W)
    excess = R.violation(gram_eigenvalues(W), np.zeros(0))
    if slope is None or not (excess > 0 or held):
        return []
    held.add(0)
    G = problem.lift(slope)
    return [
        _Constraint(
            np.array([-excess - SLACK]), lambda D: np.array([float(np.sum(G * D))]), lambda y: y[0] * G
        )
    ]


def outer(J: Matrix) -> Array:
    """J J', by dense algebra where J is nearly full."""
    if J.nnz > FULL * J.shape[0] * J.shape[1]:
        A = dense(J)
        return np.asarray(A @ A.T)
    return dense(J @ J.T)


def derivative(problem: Statement, V: Array) -> Matrix | None:
    """J (m x s r) of W -> A(QWW'Q') at W, V = QW, the columns of W one after the other."""
    incidence = Incidence.stack([part.functional.incidence for part in problem.equalities])
    r, s = V.shape[1], problem.order
    t, Q = of_unknown(problem, incidence)
    if 2.0 * t.row.size * r * (1 if Q is None else s) > NUMBERS:
        return None
    W = V if Q is not None else problem.drop(V)
    gather = sp.csr_array((t.coefficient, (t.owner, np.arange(t.owner.size))), shape=(t.size, t.owner.size))
    if Q is not None:
        left, right = Q[t.row], Q[t.column]
        columns = [gather @ (W[t.column, a, None] * left + W[t.row, a, None] * right) for a in range(r)]
        return sp.csr_array(np.hstack(columns))
    every = np.arange(r) * s
    places = np.concatenate([(t.row[:, None] + every).ravel(), (t.column[:, None] + every).ravel()])
    c = np.asarray(t.coefficient, dtype=float)[:, None]
    data = np.concatenate([(c * W[t.column]).ravel(), (c * W[t.row]).ravel()])
    owners = np.tile(np.repeat(t.owner, r), 2)
    return sp.coo_array((data, (owners, places)), shape=(t.size, s * r)).tocsr()

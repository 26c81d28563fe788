"""Multipliers of a point that comes without them."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import lsq_linear, minimize
from scipy.sparse.linalg import lsmr

from npkl_models import kernel
from npkl_models.linalg import TINY, Array, Index, Matrix
from npkl_models.model.functional import Functional
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizer import TraceFace
from npkl_models.model.statement import Statement

KINK = 1e-4  # a value this close to a kink may have any subgradient of the kink
ACTIVE = 1e-6  # relative distance at which a bound may count as reached
ACTIVE_SET = 400  # largest number of unknowns for an active-set method
DENSE_ENTRIES = 4e6
STEPS = 300  # of an iterative method for larger problems
DEPENDENT = 1e-9  # relative singular value below which columns count as dependent: points are no sharper


def recover_multipliers(problem: Statement, V: Array, active: float = ACTIVE) -> Multipliers:
    """Multipliers that make V (n x r) as stationary as possible.

    The multiplier of a smooth loss is its derivative. Open are subgradients at kinks, multipliers of
    equalities, and of bounds that are reached to the relative distance ``active``. The open
    multipliers minimise ||S(y) V + P V||, where P is a subgradient of the regulariser: a least-squares
    problem with bounds.
    """
    y = problem.derivatives(V)
    unknowns = _Unknowns(problem, V)
    for term, own in zip(problem.losses, y.losses, strict=True):
        if term.loss.smooth:
            continue
        low, high = term.subdifferential(term.functional.value_of_factor(V), KINK)
        open_ = np.flatnonzero(high - low > 0.5 * term.weight * KINK)
        unknowns.add_values(own, term.functional, open_, low[open_], high[open_])
        own[open_] = 0.0
    for part, nu in zip(problem.constraints, y.constraints, strict=True):
        z, (low, high) = part.functional.value_of_factor(V), part.domain
        reached = np.abs(z - part.value) <= active * np.maximum(np.abs(part.value), np.abs(z))
        open_ = np.flatnonzero(reached | (part.excess(z) != 0) | part.equal)
        unknowns.add_values(nu, part.functional, open_, low[open_], high[open_])
    offset = np.asarray(problem.slack(y) @ V)
    if problem.regularizer.spectral is not None:
        offset = offset + unknowns.add_trace_power(problem.regularizer.spectral, V)
    if unknowns.blocks and V.size:
        unknowns.solve(offset, kernel.row_units(problem, y))
    return y


def _least_norm(A: Matrix, b: Array, bounds: tuple[Array, Array]) -> Array:
    """The x of least norm among those between bounds that minimise |A x - b|, nearly.

    Columns depend on each other where constraints are redundant. Any other solution may have huge numbers,
    which cancel in A x but not in a slack that rounding or an inexact point perturbs.
    """
    small = A.shape[1] <= ACTIVE_SET and A.shape[0] * A.shape[1] <= DENSE_ENTRIES
    if np.isinf(np.concatenate(bounds)).all():
        if small:
            return np.asarray(scipy.linalg.lstsq(A.toarray(), b, cond=DEPENDENT, lapack_driver="gelsy")[0])
        return np.asarray(lsmr(A, b, atol=1e-14, btol=1e-14, conlim=1 / DEPENDENT, maxiter=STEPS)[0])
    ridge = DEPENDENT * sp.linalg.norm(A) * sp.eye_array(A.shape[1])
    A, b = sp.csr_array(sp.vstack([A, ridge])), np.concatenate([b, np.zeros(A.shape[1])])
    if small:
        return np.asarray(lsq_linear(A.toarray(), b, bounds, method="bvls", tol=1e-14).x)
    return _descended(A, b, bounds)


def _descended(A: Matrix, b: Array, bounds: tuple[Array, Array]) -> Array:
    """argmin |A x - b|^2 between bounds, approximately, for many unknowns."""

    def half(x: Array) -> tuple[float, Array]:
        rest = A @ x - b
        return 0.5 * float(rest @ rest), A.T @ rest

    found = minimize(
        half, np.clip(np.zeros(A.shape[1]), *bounds), jac=True, method="L-BFGS-B",
        bounds=list(zip(*bounds, strict=True)),
        options={"maxiter": STEPS, "ftol": 0.0, "gtol": 0.0, "maxcor": 20},
    )  # fmt: skip
    return np.clip(found.x, *bounds)


class _Unknowns:
    """Blocks of columns of the least-squares problem, with places of multipliers, and their bounds."""

    def __init__(self, problem: Statement, V: Array) -> None:
        self.problem, self.V = problem, V
        self.blocks: list[tuple[Matrix, Array, Index, Array, Array, Array]] = []

    def add_values(self, y: Array, f: Functional, which: Index, low: Array, high: Array) -> None:
        if not which.size:
            return
        t, r = f.triplets(), self.V.shape[1]
        column = np.full(f.size, -1)
        column[which] = np.arange(which.size)
        chosen = column[t.owner] >= 0
        i, j, c = t.row[chosen], t.column[chosen], 0.5 * t.coefficient[chosen]
        u = np.repeat(column[t.owner[chosen]], r)
        a = np.tile(np.arange(r), i.size)
        rows = np.concatenate([np.repeat(i, r) * r + a, np.repeat(j, r) * r + a])
        data = np.concatenate([(c[:, None] * self.V[j]).ravel(), (c[:, None] * self.V[i]).ravel()])
        shape = (self.V.size, which.size)
        block = sp.coo_array((data, (rows, np.concatenate([u, u]))), shape=shape)
        self.blocks.append((block.tocsc(), y, which, low, high, f.scale_of_factor(self.V)[which]))

    def add_trace_power(self, R: TraceFace, V: Array) -> Array:
        """Return the known gradient of a penalty; for a bound, add a column with an unknown factor."""
        W, s, Rt = np.linalg.svd(V, full_matrices=False)
        direction: Array = (W * s ** (2 * R.p - 1)) @ Rt
        if R.penalty is not None:
            return R.penalty * direction
        nobody, first = np.zeros(1), np.zeros(1, dtype=np.intp)  # nobody reads this multiplier
        column = sp.csc_array(direction.reshape(-1, 1))
        self.blocks.append((column, nobody, first, np.zeros(1), np.full(1, np.inf), np.ones(1)))
        return np.zeros_like(V)

    def solve(self, offset: Array, units: Array) -> None:
        """Solve for the open multipliers and set them; nothing changes if a number is out of range."""
        columns, owners, places, low, high, sizes = zip(*self.blocks, strict=True)
        A, b = sp.hstack(columns, format="csr"), -offset.ravel()
        if self.problem.basis is not None:
            r = self.V.shape[1]
            Q = sp.kron(sp.csr_array(self.problem.basis.Q.T), sp.eye_array(r), format="csr")
            A, b = Q @ A, Q @ b
        rows = np.repeat(units, self.V.shape[1])
        size = np.maximum(
            np.concatenate(sizes), TINY
        )  # of values, so that unknowns are numbers of the objective
        A, b = sp.csr_array(sp.diags_array(rows) @ A @ sp.diags_array(1 / size)), rows * b
        bounds = np.concatenate(low) * size, np.concatenate(high) * size
        apart = bool((bounds[0] < bounds[1]).all())  # they may meet by underflow
        if not (np.isfinite(A.data).all() and np.isfinite(b).all() and apart):
            return
        x = _least_norm(A, b, bounds) / size
        if not np.isfinite(x).all():
            return
        cuts = np.cumsum([where.size for where in places])[:-1]
        for y, where, own in zip(owners, places, np.split(x, cuts), strict=True):
            y[where] = own

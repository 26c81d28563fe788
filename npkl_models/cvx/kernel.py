"""The kernel of conic programs: the only module of this room that writes a bound, a value or a ray.

The program is: minimise x'Px/2 + c'x with b - A x in a product K of cones, in the floating-point numbers that
CVXPY hands to a solver. P must be positive semidefinite. Everything else proposes x and z in any arithmetic.

**Lower.** Let z lie in the dual cone K*, and let w be any vector. For every feasible x, x'Px/2 + c'x >=
-w'Pw/2 - b'z + r'x with r = c + Pw + A'z. So -w'Pw/2 - b'z bounds the optimum if r = 0. If not, it pays
|r_j| beta_j where |x_j| <= beta_j is known. Equations hold exactly at a point that is known up to a small
radius (`npkl_models.cvx.near`), so cones are checked for a whole ball. **Upper.** The same for x, the
equations among the constraints, and the cones of b - A x. **Rays.** A z in K* with A'z = 0 and b'z < 0
proves that nothing is feasible. A d with A d = 0 for equations, -A d in the other cones, Pd = 0 and c'd <
0, and a feasible x, prove that the program has no bound.

Sums are formed in long double where it is longer; every function says which rounding it pays for.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx.boxes import boxes
from npkl_models.cvx.near import (
    LONG,
    LONG_UNIT,
    Equations,
    held_rows,
    idle_rows,
    independent,
    missed,
    without_zeros,
)  # fmt: skip
from npkl_models.cvx.program import ConicProgram, smat
from npkl_models.linalg import UNIT, Array, Matrix, gamma
from npkl_models.linalg.twofold import exact_product
from npkl_models.proof.factorisation import eigenvalue_floor

__all__ = ["PROVED", "boxes", "dual_rows", "lower_bound", "no_bound", "no_point", "upper_bound"]

PROVED = "proved"  # the word of this room, for claims that functions of this module have accepted


def within(program: ConicProgram, v: Array, error: Array) -> bool:
    """Whether all vectors near v lie in the cones: near means that each number moves by at most its error.

    A norm of k numbers is rounded by gamma(k + 2). The matrix of a triangle is rounded by 2 u of its norm.
    """
    own = slice(program.zero, program.at)
    if not (np.isfinite(v).all() and np.isfinite(error).all()):
        return False
    if not (v[own] >= error[own]).all():
        return False
    for cone in program.cones:
        x, reach = v[cone.rows], float(np.linalg.norm(error[cone.rows])) * (1 + gamma(v.size + 2))
        if not (reach or x.any()):
            continue
        if cone.kind == "soc":
            length = float(np.linalg.norm(x[1:])) * (1 + gamma(x.size + 4))
            inner = x[0] >= (length + 1.5 * reach) * (1 + 4 * UNIT)
            if not (inner or (not reach and _exactly_within(x))):
                return False
            continue
        S = smat(x, cone.order)
        if not reach:  # rows of zeros are semidefinite, and prove nothing of the others
            some = np.flatnonzero(S.any(axis=1))
            S = S[np.ix_(some, some)]
        length = float(np.linalg.norm(x)) * (1 + gamma(x.size + 4))
        if not eigenvalue_floor(S) >= reach + 4 * UNIT * length:
            return False
    return True


def _exactly_within(x: Array) -> bool:
    """Whether x lies in the second-order cone, in rational numbers."""
    squares = [Fraction(v) ** 2 for v in x.tolist()]
    return bool(x[0] >= 0) and squares[0] >= sum(squares[1:])


def reach_of(A: Matrix, weight: Array, radius: float) -> Array:
    """How far A u moves at most if u moves by W v with ||v|| <= radius."""
    A = sp.csr_array(A)
    lengths = np.sqrt(np.asarray(A.power(2) @ weight**2).ravel()) * (1 + gamma(A.shape[1] + 4))
    return np.asarray(lengths * radius * (1 + 4 * UNIT))


def curvature(program: ConicProgram) -> float:
    """A number eps >= 0 such that P + eps I is proved to be positive semidefinite; inf without proof."""
    P = program.P
    if P is None:
        return 0.0
    if (P - P.T).count_nonzero():
        return np.inf
    off = without_zeros(P - sp.diags_array(P.diagonal()))
    if not off.nnz:
        return max(0.0, -float(np.min(P.diagonal())))
    touched = np.flatnonzero(np.diff(without_zeros(P).indptr))
    D = P[touched][:, touched].toarray()
    floor = eigenvalue_floor(D)
    if floor > 0:
        return 0.0
    trace = float(np.abs(np.diagonal(D)).sum())
    raised = gamma(4 * len(D) + 16) * trace  # the sum on the diagonal is rounded, too
    found = eigenvalue_floor(D + raised * np.eye(len(D)))
    return raised if found >= 4 * UNIT * (trace + raised) else np.inf


def dual_rows(program: ConicProgram, costs: bool = True) -> tuple[sp.csr_array, Array]:
    """The rows E and numbers f of A'z + Pw = -c, for u = (z, w); u = z where nothing is curved."""
    G = program.A.T if program.P is None or not costs else sp.hstack([program.A.T, program.P])
    return sp.csr_array(G), -program.c if costs else np.zeros(program.c.size)


def lower_bound(
    program: ConicProgram, u: Array, weight: Array, *, boxes: Array | None = None, costs: bool = True
) -> float:
    """A proved lower bound on the optimum from u = (z, w), dual variables and a vector; -inf without proof.

    ``weight`` says how far each number of u may move onto the equations (0: not at all). ``boxes`` has bounds
    on the absolute values of all feasible x, from `boxes`; the equations of such x need not be met. Without
    ``costs`` the program is the one with the objective zero.
    """
    if not np.isfinite(u).all():
        return -np.inf
    (G, f), z, w = dual_rows(program, costs), u[: program.b.size], u[program.b.size :]
    P = program.P if costs else None
    left = missed(G, u, f)
    shut = np.isfinite(boxes) if boxes is not None else np.zeros(f.size, dtype=bool)
    open_ = np.flatnonzero(~shut & ~(idle_rows(G, weight) & (left.most == 0)))
    kept = independent(G[open_], f[open_])
    if kept is None:
        return -np.inf
    rows = open_[kept]
    radius = Equations(sp.csr_array(G[rows]), weight).radius(left.most[rows])
    if not np.isfinite(radius) or not within(program, z, (weight * radius)[: z.size]):
        return -np.inf
    slope, extra, terms = np.abs(program.b), 0.0, [z.astype(LONG) * program.b.astype(LONG)]
    if P is not None:
        square, more, extra = _curved(P, w, weight[z.size :], radius)
        slope, terms = np.append(slope, more), [*terms, square]
        eps = curvature(program)
        beta = (boxes if boxes is not None else np.full(f.size, np.inf))[np.diff(without_zeros(P).indptr) > 0]
        extra += 0.5 * eps * float(beta @ beta) * (1 + gamma(beta.size + 4)) if eps else 0.0
    paid = reach_of(slope[None, :], weight, radius)[0] * (1 + gamma(u.size + 8)) + extra
    if boxes is not None and shut.any():
        moved = reach_of(G[np.flatnonzero(shut)], weight, radius)
        paid += float((left.most[shut] + moved) @ boxes[shut]) * (1 + gamma(shut.size + 4))
    every = np.concatenate(terms)
    doubt = float(np.abs(every).sum()) * (every.size + 8) * LONG_UNIT
    value = program.offset * costs - float(every.sum())
    found = value - (paid + doubt) * (1 + 8 * UNIT) - 4 * UNIT * abs(value)
    return float(found) if np.isfinite(found) else -np.inf


def _curved(P: Matrix, w: Array, weight: Array, radius: float) -> tuple[Array, Array, float]:
    """The terms of w'Pw/2, the sizes of its slopes, and what they leave out if w moves by the radius."""
    entry = sp.coo_array(P)
    i, j = entry.coords
    terms = LONG(0.5) * w[i].astype(LONG) * entry.data.astype(LONG) * w[j].astype(LONG)
    reach = radius * float(np.max(weight, initial=0.0))
    slope = (abs(P) @ np.abs(w)) * (1 + gamma(P.shape[1] + 4))
    return terms, slope, float(np.abs(entry.data).sum()) * reach**2 * (1 + gamma(entry.nnz + 4))


def upper_bound(program: ConicProgram, x: Array, weight: Array | None = None) -> float:
    """A proved upper bound on the optimum: the value of a feasible point near x; inf without proof.

    ``weight`` says how far each number of x may move onto the equations.
    """
    if not np.isfinite(x).all():
        return np.inf
    weight = np.ones(x.size) if weight is None else weight
    radius = _on_equations(program, x, weight, program.b[: program.zero])
    if not np.isfinite(radius):
        return np.inf
    inner = missed(program.A, x, program.b)
    if not within(program, inner.value, inner.error + reach_of(program.A, weight, radius)):
        return np.inf
    slope, extra, terms = np.abs(program.c), 0.0, [program.c.astype(LONG) * x.astype(LONG)]
    if program.P is not None:
        square, more, extra = _curved(program.P, x, weight, radius)
        slope, terms = slope + more, [*terms, square]
    every = np.concatenate(terms)
    doubt = float(np.abs(every).sum()) * (every.size + 8) * LONG_UNIT
    value = float(every.sum()) + program.offset
    more = reach_of(slope[None, :], weight, radius)[0] * (1 + gamma(x.size + 8)) + extra + doubt
    return float(value + more * (1 + 8 * UNIT) + 4 * UNIT * abs(value))


def _on_equations(program: ConicProgram, x: Array, weight: Array, right: Array) -> float:
    """The radius within which an x exists that meets the equations with these right-hand sides.

    An equation of one number that may not move must hold exactly: its product has no rounding then.
    """
    rows = sp.csr_array(program.A[: program.zero])
    held = held_rows(rows, weight)
    product = exact_product(rows.data[rows.indptr[:-1][held]], x[rows.indices[rows.indptr[:-1][held]]])
    if (product.low != 0).any() or (product.high != right[held]).any():
        return np.inf
    met = idle_rows(rows, weight) & (missed(rows, x, right).most == 0)
    rest = np.flatnonzero(~held & ~met)
    kept = independent(rows[rest], right[rest])
    if kept is None:
        return np.inf
    kept = rest[kept]
    return Equations(sp.csr_array(rows[kept]), weight).radius(missed(rows[kept], x, right[kept]).most)


def no_point(program: ConicProgram, z: Array, weight: Array, boxes: Array | None = None) -> bool:
    """Whether a ray z proves that no point is feasible: the bound for the objective zero is positive."""
    return lower_bound(program, z, weight, boxes=boxes, costs=False) > 0


def no_bound(program: ConicProgram, d: Array, x: Array, weight: Array) -> bool:
    """Whether a direction d, and a point near x, prove that the objective falls without limit.

    d must be zero, and stay so (weight 0), where the objective is curved.
    """
    if program.P is not None:
        bent = np.diff(without_zeros(program.P).indptr) > 0
        if d[bent].any() or weight[bent].any():
            return False
    radius = _on_equations(program, d, weight, np.zeros(program.zero))
    if not np.isfinite(radius):
        return False
    along = missed(program.A, d, np.zeros(program.b.size))
    if not within(program, along.value, along.error + reach_of(program.A, weight, radius)):
        return False
    rate = missed(program.c[None, :], d, np.zeros(1))
    falls = rate.value[0] - rate.error[0] - reach_of(program.c[None, :], weight, radius)[0] > 0
    return bool(falls) and np.isfinite(upper_bound(program, x))

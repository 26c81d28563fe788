"""The kernel of conic programs: the only module of this room that writes a bound, a value or a ray.

The program is: minimise x'Px/2 + c'x with b - A x in a product K of cones, in the floating-point numbers that
CVXPY hands to a solver. P must be positive semidefinite. Everything else proposes x and z in any arithmetic.

**Lower.** Let z lie in the dual cone K*, and let w be any vector. For every feasible x,
x'Px/2 + c'x >= -w'Pw/2 - b'z + r'x with r = c + Pw + A'z. So -w'Pw/2 - b'z bounds the optimum if r = 0, and
otherwise pays |r_j| beta_j where |x_j| <= beta_j is known. **Near.** Let E u miss f by m. If the least singular
value of EW (W a diagonal matrix) is at least sigma > 0, then E u* = f holds exactly for some u* = u + W v with
||v|| <= ||m|| / sigma. So equations hold exactly at a point that is known up to a small radius, and cones are
checked for the whole ball. **Upper.** The same for x, the equations among the constraints, and the cones of
b - A x. **Rays.** A z in K* with A'z = 0 and b'z < 0 proves that nothing is feasible. A d with A d = 0 for
equations, -A d in the other cones, Pd = 0 and c'd < 0, and a feasible x, prove that the program has no bound.

Sums are formed in long double where it is longer; every function says which rounding it pays for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from npkl_models.cvx.program import ConicProgram, smat
from npkl_models.linalg import UNIT, Array, Index, Mask, Matrix, definite_lu, gamma
from npkl_models.linalg.twofold import exact_product
from npkl_models.proof.eigenbound import EigenBound
from npkl_models.proof.factorisation import by_cholesky, eigenvalue_floor

PROVED = "proved"  # the word of this room, for claims that functions of this module have accepted
LONG = np.longdouble
LONG_UNIT = float(np.finfo(LONG).eps)
DENSE = 1_500  # largest number of equations whose matrix is formed and factorised densely
OUTWARD = 1e-12  # intervals are widened by this share of the numbers that enter them
ROUNDS = 4  # of interval propagation


class Missed(NamedTuple):
    """f - E u, rounded, and a bound on its rounding."""

    value: Array
    error: Array

    @property
    def most(self) -> Array:
        """Bounds on the absolute values."""
        return (np.abs(self.value) + self.error) * (1 + 4 * UNIT)


def missed(E: Matrix, u: Array, f: Array) -> Missed:
    """By how much equations are missed: products and sums in long double."""
    E = sp.csr_array(E)
    terms = E.data.astype(LONG) * u[E.indices].astype(LONG)
    counts = np.diff(E.indptr)
    some = np.flatnonzero(counts)
    total, size = f.astype(LONG), np.abs(f)
    if some.size:
        total[some] -= np.add.reduceat(terms, E.indptr[some])
        size[some] += np.add.reduceat(np.abs(terms), E.indptr[some]).astype(float)
    value = total.astype(float)
    return Missed(value, (counts + 4) * LONG_UNIT * size * (1 + counts * UNIT) + UNIT * np.abs(value))


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations E u = f, where u may move by W v with W = diag(weight), powers of two or zero."""

    E: sp.csr_array  # (equations, numbers)
    weight: Array

    @cached_property
    def unit(self) -> Array:
        """A power of two for each row, which makes the rows of E W about one long."""
        lengths = np.sqrt(np.asarray((self.E * self.weight).power(2).sum(axis=1)).ravel())
        return np.ldexp(1.0, -np.frexp(np.where(lengths > 0, lengths, 1.0))[1])

    @cached_property
    def F(self) -> sp.csr_array:
        """The scaled rows; scaling by powers of two is exact."""
        return sp.csr_array(sp.diags_array(self.unit) @ self.E @ sp.diags_array(self.weight))

    @cached_property
    def gram(self) -> Matrix:
        """F F', rounded; dense where it is small or full."""
        G = sp.csc_array(self.F @ self.F.T)
        return G.toarray() if G.shape[0] <= DENSE or G.nnz > G.shape[0] ** 2 / 8 else G

    @cached_property
    def factor(self) -> object:
        """A factorisation of F F' for solving; None if it fails."""
        if not np.isfinite(self.F.data).all():
            return None
        if sp.issparse(self.gram):
            return definite_lu(self.gram)
        try:
            return scipy.linalg.cho_factor(self.gram, lower=True)
        except scipy.linalg.LinAlgError:
            return None

    def solve(self, right: Array) -> Array:
        """G^-1 right, rounded."""
        if sp.issparse(self.gram):
            return np.asarray(self.factor.solve(right))  # type: ignore[attr-defined]
        return np.asarray(scipy.linalg.cho_solve(self.factor, right))

    def step(self, left: Array) -> Array:
        """The shortest W v with E W v = left, rounded."""
        return np.asarray(self.weight * (self.F.T @ self.solve(self.unit * left)))

    @cached_property
    def sigma(self) -> float:
        """A proved floor of the least singular value of F; 0 if none is known.

        The computed G differs from F F' by gamma(k) |F| |F'| for rows of k entries, whose norm is at most its
        largest row sum.
        """
        if not self.E.shape[0]:
            return np.inf
        if self.factor is None:
            return 0.0
        size = abs(self.F)
        k = int(np.max(np.diff(self.F.indptr)))
        doubt = gamma(k + 2) * float(np.max(size @ (size.T @ np.ones(self.E.shape[0])))) * (1 + k * UNIT)
        floor = self._floor() - doubt
        return float(np.sqrt(floor)) * (1 - 4 * UNIT) if floor > 0 else 0.0

    def _floor(self) -> float:
        G = self.gram
        if not sp.issparse(G):
            return eigenvalue_floor(G)
        off = sp.csr_array(G)
        off.setdiag(0.0)
        beside = np.asarray(abs(off).sum(axis=1)).ravel() * (1 + G.shape[0] * UNIT)
        by_rows = float(np.min(G.diagonal() - beside))
        if by_rows > 0:  # Gershgorin
            return by_rows
        v = np.random.default_rng(0).standard_normal(G.shape[0])
        for _ in range(12):
            v = self.solve(v / np.linalg.norm(v))
        v = v / np.linalg.norm(v)
        estimate = float(v @ (G @ v))
        found = by_cholesky(G, EigenBound(-np.inf, estimate, "estimated", v), 0.0)
        return found.lower if found.rigour == "proved" else 0.0

    def radius(self, most: Array) -> float:
        """A bound on ||v|| for the nearest exact solution, if the rows are missed by at most ``most``."""
        if not self.E.shape[0]:
            return 0.0
        length = float(np.linalg.norm(self.unit * most)) * (1 + (most.size + 4) * UNIT)
        return length / self.sigma * (1 + 4 * UNIT) if self.sigma > 0 else np.inf


def independent(rows: Matrix, right: Array) -> Index | None:
    """The rows without empty ones and multiples of others by powers of two; None if they contradict.

    ``right`` is what each row must be equal to. Exact comparisons alone decide.
    """
    R = sp.csr_array(rows)
    R.sum_duplicates()
    R.eliminate_zeros()
    R.sort_indices()
    counts = np.diff(R.indptr)
    if (right[counts == 0] != 0).any():
        return None
    some = np.flatnonzero(counts)
    first = R.data[R.indptr[some]]
    unit = np.copysign(np.ldexp(1.0, -np.frexp(np.abs(first))[1]), first)
    S, asked = sp.csr_array(sp.diags_array(unit) @ R[some]), unit * right[some]
    key = S @ np.random.default_rng(0).standard_normal(S.shape[1])
    _, chosen, which = np.unique(np.stack([key, counts[some]]), axis=1, return_index=True, return_inverse=True)
    heir = chosen[which.ravel()]
    apart = np.diff(without_zeros(S - S[heir]).indptr) > 0  # numbers that share a key by chance
    if (asked[~apart] != asked[heir[~apart]]).any():
        return None
    return np.sort(some[apart | (heir == np.arange(some.size))])


def without_zeros(S: Matrix) -> sp.csr_array:
    S = sp.csr_array(S)
    S.eliminate_zeros()
    return S


def within(program: ConicProgram, v: Array, error: Array) -> bool:
    """Whether all vectors near v lie in the cones: near means that each number moves by at most its error.

    A norm of k numbers is rounded by gamma(k + 2). The matrix of a triangle is rounded by 2 u of its norm.
    """
    own = slice(program.zero, program.at)
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
    raised = gamma(4 * len(D) + 16) * float(np.abs(np.diagonal(D)).sum())
    return raised if eigenvalue_floor(D + raised * np.eye(len(D))) >= 4 * UNIT * raised else np.inf


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


def idle_rows(rows: Matrix, weight: Array) -> Mask:
    """Which rows have no number that may move; one that is exactly met needs none."""
    return np.diff(without_zeros(sp.csr_array(rows) * weight).indptr) == 0


def held_rows(rows: Matrix, weight: Array) -> Mask:
    """Which rows have one number, and one that may not move."""
    rows = sp.csr_array(rows)
    one = np.diff(rows.indptr) == 1
    found = one.copy()
    found[one] = weight[rows.indices[rows.indptr[:-1][one]]] == 0
    return found


def no_point(
    program: ConicProgram, z: Array, weight: Array, boxes: Array | None = None
) -> bool:
    """Whether a ray z proves that the program has no feasible point: the bound of no objective is positive."""
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


def boxes(program: ConicProgram) -> Array:
    """Bounds on |x_j| for all feasible x, by interval propagation through rows and cones; inf if unknown.

    Row i says that s_i = b_i - sum a_ij x_j is zero, or at least zero. In a second-order cone |s_i| is at
    most its first number, in a semidefinite one |S_ij| at most the root of S_ii S_jj. Every interval is
    widened outwards by more than its rounding.
    """
    m, n = program.A.shape
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    entry = sp.coo_array(program.A)
    (row, column), a = entry.coords, entry.data
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(ROUNDS):
            below, above = np.full(m, -np.inf), np.full(m, np.inf)  # of s
            below[: program.at] = 0.0
            above[: program.zero] = 0.0
            parts = -a * low[column], -a * high[column]
            least, most = np.minimum(*parts), np.maximum(*parts)
            size = np.abs(program.b) + np.bincount(row, np.maximum(_finite(least), _finite(most)), m)
            below = np.maximum(below, program.b + _sums(row, least, m)[0] - OUTWARD * size)
            above = np.minimum(above, program.b + _sums(row, most, m)[0] + OUTWARD * size)
            for cone in program.cones:
                _through(cone.kind, cone.order, below[cone.rows], above[cone.rows])
            wide = OUTWARD * (size + _finite(below) + _finite(above))[row]
            to_low = program.b[row] + _others(row, least, m) - above[row] - wide  # a x = b + others - s
            to_high = program.b[row] + _others(row, most, m) - below[row] + wide
            ends = to_low / a, to_high / a
            np.maximum.at(low, column, np.minimum(*ends) - OUTWARD * _finite(np.minimum(*ends)))
            np.minimum.at(high, column, np.maximum(*ends) + OUTWARD * _finite(np.maximum(*ends)))
    beta = np.maximum(np.abs(low), np.abs(high))
    return np.where(np.isfinite(beta), beta, np.inf)


def _finite(x: Array) -> Array:
    """Absolute values, 0 for infinite ones."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)


def _sums(row: Index, part: Array, m: int) -> tuple[Array, Array, Array]:
    """Sums by row, sums of the finite parts, and the number of infinite ones; all parts have one sign of inf."""
    endless = ~np.isfinite(part)
    finite = np.bincount(row, np.where(endless, 0.0, part), m)
    count = np.bincount(row, endless, m)
    sign = np.sign(part[endless][0]) if endless.any() else 1.0
    return np.where(count > 0, sign * np.inf, finite), finite, count


def _others(row: Index, part: Array, m: int) -> Array:
    """For each entry the sum of the other parts of its row."""
    _, finite, count = _sums(row, part, m)
    endless = ~np.isfinite(part)
    sign = np.sign(part[endless][0]) if endless.any() else 1.0
    own = np.where(endless, 0.0, part)
    return np.where(count[row] - endless > 0, sign * np.inf, finite[row] - own)


def _through(kind: str, order: int, below: Array, above: Array) -> None:
    """Narrow the intervals of one cone in place."""
    if kind == "soc":
        below[0] = max(below[0], 0.0)
        most = np.full(order - 1, above[0])
        np.minimum(above[1:], most, out=above[1:])
        np.maximum(below[1:], -most, out=below[1:])
        return
    j, i = np.tril_indices(order)
    own = i == j
    diagonal = np.maximum(above[own], 0.0) * (1 + OUTWARD)
    below[own] = np.maximum(below[own], 0.0)
    most = np.sqrt(2.0 * diagonal[i] * diagonal[j])[~own] * (1 + OUTWARD)
    most = np.where(np.isnan(most), np.inf, most)
    above[~own] = np.minimum(above[~own], most)
    below[~own] = np.maximum(below[~own], -most)

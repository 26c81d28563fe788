"""Propose dual variables, points and rays of conic programs; the kernel of this room judges them all.

A solver's z misses A'z = -c by a little, and lies on the boundary of its cone. It is moved onto the equations
(least squares) and then into the cones: along a ray d (A'd = 0), or towards a centre, as little as needed.
The identity of the cones, projected onto the equations, is nearly always one of the two. The same moves x.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import clarabel  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse as sp

from npkl_models.cvx import kernel
from npkl_models.cvx.engine import followed
from npkl_models.cvx.forms import Form, form_of, standard_form
from npkl_models.cvx.near import Equations, held_rows, idle_rows, independent, missed, without_zeros
from npkl_models.cvx.program import ConicProgram
from npkl_models.linalg import PLAIN, TINY, Array, Mask, Matrix

FREE = 2.0**10  # how much more readily the multipliers of equations move than the numbers in cones
TURNS = 4  # times that a move is made longer if the kernel refuses it
SPREAD = (1.0, 16.0, 1 / 16, 256.0)  # sizes of a centre, relative to the largest number at hand
PROJECTIONS = 12  # in turn onto equations and cones
INNER = 1e-3  # a ray must lie inside the cones by this share of its largest number
SHARP = 1e-11  # what a solve is asked for, relative
CLOSE = 1e-8  # what suffices where rounding allows no more


class Raw(NamedTuple):
    """What a solver says of a program."""

    status: str  # "optimal", "infeasible", "unbounded" or "unknown"
    x: Array
    z: Array


@dataclass(frozen=True, eq=False)
class Side:
    """Numbers u with E u = f exactly, of which ``inside(u)`` must lie in the cones: duals z, or points x."""

    program: ConicProgram
    equations: Equations
    f: Array
    inside: Callable[[Array], Array]  # the vector in the cones
    outward: Callable[
        [Array], Array
    ]  # the u whose vector comes next to a given one, homogeneous equations met
    try_: Callable[[Array], float]  # the kernel's judgement, larger is better; -inf for none
    alive: Mask  # which inequalities and cones move with u

    def least(self, u: Array) -> Array:
        """How far u is inside the cones that move."""
        return self.program.least(self.inside(u))[self.alive]

    def moved(self, u: Array) -> Array:
        """u on its equations, in two steps of least squares."""
        if self.equations.factor is None or not self.f.size:
            return u
        for _ in range(2):
            u = u + self.equations.step(missed(self.equations.E, u, self.f).value)
        return u

    @np.errstate(all="ignore")
    def best(self, u: Array) -> tuple[float, Array]:
        """The best judgement, and the vector that has it."""
        u = self.moved(u)
        found, at = self.try_(u), u
        if np.isfinite(found) or self.equations.factor is None:
            return found, at
        for d, ray in self._ways(u):
            value, v = self.along(u, d, ray)
            if value > found:
                found, at = value, v
            if ray and np.isfinite(found):
                break
        return found, at

    @np.errstate(all="ignore")
    def along(self, u: Array, d: Array, ray: bool) -> tuple[float, Array]:
        """Move u along a ray, or towards a centre, until the kernel accepts it."""
        lack, gain = self._lacks(u, d)
        t = float(np.max(np.maximum(lack, 0.0) / gain, initial=0.0))
        for _ in range(TURNS):
            v = self.moved(u + t * d if ray else u + min(t, 1.0) * (d - u))
            value = self.try_(v)
            if np.isfinite(value):
                return value, v
            t *= 4.0
        return -np.inf, u

    def _lacks(self, u: Array, d: Array) -> tuple[Array, Array]:
        """What each cone lacks at u, with what its rounding needs, and what it gains by d."""
        s, into = self.inside(u), self.least(d)
        scale = np.finfo(float).eps * self.equations.E.shape[0] ** 0.5 / min(self.equations.sigma, 1.0)
        scale *= float(np.linalg.norm(u)) or 1.0
        own = np.array(
            [np.linalg.norm(s[rows]) * (rows.stop - rows.start) ** 0.5 for rows in self.program.parts]
        )
        need = 8 * np.finfo(float).eps * own[self.alive] + 8 * scale
        return need - self.least(u), into

    def _ways(self, u: Array) -> Iterator[tuple[Array, bool]]:
        """Rays and centres: the identity of the cones on the equations, or points that alternate with it."""
        e = self.program.identity
        d = self.outward(e)
        least = self.least(d)
        if not least.size:
            return
        if least.min() > INNER * float(np.max(np.abs(d), initial=TINY)):
            yield d, True
        base = self.moved(np.zeros(u.size))
        size = float(np.max(np.abs(self.inside(u)), initial=0.0)) or 1.0
        for share in SPREAD:
            centre = self._centre(base, share * size * e)
            if centre is not None:
                yield centre, False
                return

    def _centre(self, u: Array, margin: Array) -> Array | None:
        """Numbers on the equations and inside the cones: projections in turn on either (von Neumann 1933)."""
        target = margin
        for _ in range(PROJECTIONS):
            u = self.moved(u + self.outward(target - self.inside(u)))
            if self.least(u).min() > 0:
                return u
            target = self.program.projected(self.inside(u) - margin / 2) + margin / 2
        return None


def dual_side(
    program: ConicProgram, still: Mask | None = None, costs: bool = True, boxes: Array | None = None
) -> Side | None:
    """The side of dual variables, u = (z, w): A'z + Pw = -c; None if its equations contradict each other.

    Numbers that are ``still`` stay as they are.
    """
    G, f = kernel.dual_rows(program, costs)
    m, place = program.b.size, np.arange(G.shape[1])
    weight = np.where((place < program.zero) | (place >= m), FREE, 1.0)
    if still is not None:
        weight[:m][still] = 0.0
    live = np.flatnonzero(~idle_rows(G, weight))
    kept = independent(G[live], f[live])
    if kept is None:
        return None
    kept = live[kept]
    rows = sp.csr_array(G[kept])
    equations = Equations(rows, weight)

    def outward(s: Array) -> Array:
        s = np.append(s, np.zeros(weight.size - m))
        return s - equations.step(np.asarray(rows @ s))

    def judge(u: Array) -> float:
        found = kernel.lower_bound(program, u, weight, costs=costs)
        return (
            found
            if boxes is None
            else max(found, kernel.lower_bound(program, u, weight, costs=costs, boxes=boxes))
        )

    return Side(
        program, equations, f[kept], lambda u: u[:m], outward, judge, _moving(program, weight[:m] > 0)
    )


def _moving(program: ConicProgram, rows: Mask) -> Mask:
    """Which inequalities and cones have a row that moves."""
    return np.array([bool(rows[part].any()) for part in program.parts], dtype=bool)


def primal_side(program: ConicProgram, x: Array) -> tuple[Side | None, Array]:
    """The side of points, and x with the numbers that equations of one number fix.

    The equations of the program hold, and b - A x lies in the other cones.
    """
    rows, weight, x = sp.csr_array(program.A[: program.zero]), np.ones(program.c.size), x.copy()
    one = np.flatnonzero(np.diff(rows.indptr) == 1)
    at = rows.indices[rows.indptr[:-1][one]]
    x[at] = program.b[one] / rows.data[rows.indptr[:-1][one]]
    weight[at] = 0.0
    return _points(program, program.b, weight, lambda x: -kernel.upper_bound(program, x, weight)), x


def direction_side(program: ConicProgram, x: Array, still: Mask) -> Side | None:
    """The side of directions d along which the objective falls: 1.0 from the kernel if x and d prove it.

    Numbers that are ``still`` stay zero, and so do those by which the objective is curved.
    """
    bent = np.zeros(still.size, dtype=bool) if program.P is None else np.diff(program.P.indptr) > 0
    weight = np.where(still | bent, 0.0, 1.0)

    def judge(d: Array) -> float:
        return 1.0 if kernel.no_bound(program, np.where(weight > 0, d, 0.0), x, weight) else -np.inf

    return _points(program, np.zeros(program.b.size), weight, judge)


def _points(program: ConicProgram, b: Array, weight: Array, judge: Callable[[Array], float]) -> Side | None:
    E = sp.csr_array(program.A[: program.zero])
    free = np.flatnonzero(~held_rows(E, weight) & ~idle_rows(E, weight))
    kept = independent(E[free], b[free])
    if kept is None:
        return None
    kept = free[kept]
    rows, inner = sp.csr_array(E[kept]), sp.csr_array(program.A[program.zero :])
    try:
        solve = _saddle(inner * weight, rows * weight)
    except RuntimeError:  # a singular matrix
        return None
    moving = np.diff(without_zeros(program.A * weight).indptr) > 0

    def inside(x: Array) -> Array:
        return np.asarray(b - program.A @ x)

    def outward(s: Array) -> Array:  # the v whose -A v in the cones is next to s
        return weight * solve(np.asarray(weight * (inner.T @ -s[program.zero :])))

    return Side(program, Equations(rows, weight), b[kept], inside, outward, judge, _moving(program, moving))


def _saddle(inner: Matrix, rows: Matrix) -> Callable[[Array], Array]:
    """Solve for the v with rows v = 0 next to a least-squares solution."""
    n, k = inner.shape[1], rows.shape[0]
    H = sp.csc_array(inner.T @ inner)
    shift = np.finfo(float).eps ** 0.5 * (float(H.diagonal().max(initial=0.0)) or 1.0)
    K = (
        sp.block_array([[H + shift * sp.eye_array(n), rows.T], [rows, None]], format="csc")
        if k
        else H + shift * sp.eye_array(n, format="csc")
    )
    solver = sp.linalg.splu(sp.csc_array(K))
    return lambda right: np.asarray(solver.solve(np.append(right, np.zeros(k)))[:n])


def solve(program: ConicProgram, time_limit: float, sharp: bool = True) -> Raw:
    """The answer of Clarabel on the program's own rows, or of our method where that is far quicker."""
    began = time.perf_counter()
    if sharp and (own := _by_our_method(program, time_limit)) is not None:
        return own
    time_limit = max(time_limit - (time.perf_counter() - began), TINY)
    options = clarabel.DefaultSettings()
    options.verbose = False
    if np.isfinite(time_limit):
        options.time_limit = time_limit
    if sharp:
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = SHARP
    n = program.c.size
    P = sp.csc_array((n, n)) if program.P is None else sp.csc_array(sp.triu(program.P))
    cones: list[Any] = []
    if program.zero:
        cones.append(clarabel.ZeroConeT(program.zero))
    if program.nonneg:
        cones.append(clarabel.NonnegativeConeT(program.nonneg))
    cones += [clarabel.SecondOrderConeT(k) for k in program.soc]
    cones += [clarabel.PSDTriangleConeT(k) for k in program.psd]
    found = clarabel.DefaultSolver(P, program.c, sp.csc_array(program.A), program.b, cones, options).solve()
    words = str(found.status)
    status = (
        "infeasible" if "PrimalInfeasible" in words else "unbounded" if "DualInfeasible" in words
        else "optimal" if "Solved" in words else "unknown"
    )  # fmt: skip
    return Raw(status, np.array(found.x), np.array(found.z))


def _by_our_method(program: ConicProgram, time_limit: float) -> Raw | None:
    """The answer of our method; None if Clarabel is quick enough, or the answer is not sharp.

    Clarabel's Hessian of a semidefinite cone has as many rows as the cone has numbers.
    """
    largest = max((order * (order + 1) // 2 for order in program.psd), default=0)
    form = (standard_form(program) or form_of(program)) if largest**2 > PLAIN else None
    if not isinstance(form, Form) or form.own.box.b.size >= largest:
        return None
    met, point = followed(form, SHARP, time_limit)
    return Raw("optimal", point.x, point.z) if met or max(point.gap, point.missed) <= CLOSE else None


def inward(program: ConicProgram) -> ConicProgram:
    """The program of a point far inside the cones: maximise t <= 1 with b - A x - t e in them.

    The row of t <= 1 is the last inequality, and t the last variable.
    """
    n, at = program.c.size, program.at
    top = sp.csr_array(([1.0], ([0], [n])), shape=(1, n + 1))
    A = sp.hstack([program.A, sp.csr_array(program.identity[:, None])], format="csr")
    return replace(
        program, A=sp.csr_array(sp.vstack([A[:at], top, A[at:]])), b=np.insert(program.b, at, 1.0),
        c=np.append(np.zeros(n), -1.0), P=None, offset=0.0, nonneg=program.nonneg + 1,
    )  # fmt: skip


def middle(program: ConicProgram, w: Array, time_limit: float) -> Array:
    """Dual variables as far inside their cones as they go, by one conic solve."""
    m, n = program.b.size, program.c.size
    g = program.c + (0.0 if program.P is None else program.P @ w)
    cone = sp.csr_array(
        (np.ones(m - program.zero), (np.arange(m - program.zero), np.arange(program.zero, m))),
        shape=(m - program.zero, m + 1),
    )
    e = sp.csr_array(
        (program.identity[program.zero :], (np.arange(m - program.zero), np.full(m - program.zero, m))),
        shape=(m - program.zero, m + 1),
    )
    last = sp.csr_array(([1.0], ([0], [m])), shape=(1, m + 1))
    A = sp.vstack([sp.hstack([program.A.T, sp.csr_array((n, 1))]), last, e - cone], format="csr")
    b = np.concatenate([-g, [1.0], np.zeros(m - program.zero)])
    dual = replace(
        program, A=A, b=b, c=np.append(np.zeros(m), -1.0), P=None, offset=0.0, zero=n,
        nonneg=program.nonneg + 1,
    )  # fmt: skip
    return solve(dual, time_limit).x[:m]

"""Judge an answer to a conic program: bounds on either side, what it misses, and rays."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx import kernel, search
from npkl_models.cvx.certificate import CvxpyCertificate
from npkl_models.cvx.program import Cone, ConicProgram
from npkl_models.cvx.search import Raw
from npkl_models.linalg import UNIT, Array, Index, Mask, Matrix
from npkl_models.model.scale import FAINT


def judge(
    program: ConicProgram, raw: Raw, value: float | None = None, *, tol: float = 1e-6, budget: float = 10.0
) -> CvxpyCertificate:
    """The certificate of an answer, in the sense of a minimisation.

    ``value`` is the objective of the answer, if it is known better than from x. ``budget`` (s) is what may be
    spent on solves of our own, if the given z proves too little.
    """
    started = time.perf_counter()
    if raw.status in ("infeasible", "unbounded"):
        found = _ray(program, raw, "given", budget)
        if found.rigour != kernel.PROVED and budget > 0:
            again = search.solve(program, budget)
            claims = again.status in ("infeasible", "unbounded")
            other = _ray(program, again, "a solve", budget) if claims else found
            found = other if other.rigour == kernel.PROVED else found
    else:
        found = _optimal(program, raw, value, tol, budget)
    return _timed(found, started)


def _timed(found: CvxpyCertificate, started: float) -> CvxpyCertificate:
    return replace(found, seconds=time.perf_counter() - started)


def _optimal(
    program: ConicProgram, raw: Raw, value: float | None, tol: float, budget: float
) -> CvxpyCertificate:
    x = raw.x
    value = program.objective(x) if value is None else value
    lower, z = best_lower(program, raw.z, x, value, tol)
    gap, source = relative_gap(program, x, z, value, lower), "given"
    upper = best_upper(program, x)
    if gap > tol and budget > 0:
        own = search.solve(program, budget)
        if own.status == "infeasible" and _ray(program, own, "", budget).rigour == kernel.PROVED:
            lower, gap, source = np.inf, np.inf, "a solve"
        elif np.isfinite(own.z).all() and own.status != "unbounded":
            more, better = best_lower(program, own.z, own.x, value, tol)
            if relative_gap(program, own.x, better, value, more) > tol:
                more, better = max((more, better), _towards_middle(program, own, budget), key=lambda one: one[0])
            if more > lower:
                lower, z, source = more, better, "a solve"
                gap = relative_gap(program, x, z, value, lower)
            upper = min(upper, best_upper(program, own.x))
    missed = violation(program, x)
    if np.isfinite(lower):
        return CvxpyCertificate("optimal", value, lower, upper, gap, missed, kernel.PROVED, lower, 0.0, source)
    bound, off = _nearby(program, z, x)
    rigour = "nearby" if off < 1 else "none"
    return CvxpyCertificate(
        "optimal", value, lower, upper, np.inf, missed, rigour, bound, off, source
    )


def best_lower(program: ConicProgram, z: Array, x: Array, value: float, tol: float) -> tuple[float, Array]:
    """The best proved lower bound from dual variables near z, and the dual variables."""
    m = program.b.size
    w = np.zeros(0) if program.P is None else x
    if z.size != m or not np.isfinite(z).all():
        z = np.zeros(m)
    box = kernel.boxes(program)
    known = bool(np.isfinite(box).any())
    best = (-np.inf, z)

    def offer(u: Array, bound: float) -> None:
        nonlocal best
        if bound > best[0]:
            best = (bound, u[:m])

    if not program.c.any():
        side = search.dual_side(program)
        u = np.concatenate([np.zeros(m), 0 * w])
        offer(u, side.try_(u) if side is not None else -np.inf)
    if known:
        u = np.concatenate([program.projected(z), w])
        weight = np.ones(u.size)
        offer(u, kernel.lower_bound(program, u, weight, boxes=box))
    for still in (None, idle(program, z, x)):
        if relative_gap(program, x, best[1], value, best[0]) <= tol / 10 or (still is not None and not still.any()):
            break
        side = search.dual_side(program, still, boxes=box if known else None)
        if side is not None:
            bound, u = side.best(np.concatenate([z if still is None else np.where(still, 0.0, z), w]))
            offer(u, bound)
    return best


def best_upper(program: ConicProgram, x: Array) -> float:
    """The value of a feasible point near x; inf without proof."""
    if not np.isfinite(x).all():
        return np.inf
    side, x = search.primal_side(program, x)
    return -side.best(x)[0] if side is not None else np.inf


def idle(program: ConicProgram, z: Array, x: Array) -> Array:
    """Which numbers of z belong to constraints that x does not touch: smaller than the slack, both relative."""
    s, out = program.b - program.A @ x, np.zeros(z.size, dtype=bool)
    sizes = [float(np.max(np.abs(v[program.zero :]), initial=0.0)) or 1.0 for v in (z, s)]
    own = slice(program.zero, program.at)
    out[own] = z[own] / sizes[0] < s[own] / sizes[1]
    for cone in program.cones:
        inside = program.least(s)[program.nonneg + program.cones.index(cone)]
        out[cone.rows] = np.linalg.norm(z[cone.rows]) / sizes[0] < inside / sizes[1]
    return out


def _towards_middle(program: ConicProgram, own: Raw, budget: float) -> tuple[float, Array]:
    """Mix the dual variables of a solve with the middle of their cones."""
    w = own.x if program.P is not None else np.zeros(0)
    side = search.dual_side(program)
    if side is None or side.equations.factor is None:
        return -np.inf, own.z
    centre = side.moved(np.concatenate([search.middle(program, own.x, budget), w]))
    if not np.isfinite(centre).all() or side.least(centre).min(initial=np.inf) <= 0:
        return -np.inf, own.z
    value, u = side.along(side.moved(np.concatenate([own.z, w])), centre, False)
    return value, u[: program.b.size]


def relative_gap(program: ConicProgram, x: Array, z: Array, value: float, lower: float) -> float:
    """The distance of value and bound relative to both, and to a faint part of what they are sums of.

    The faint part speaks where the optimum is next to zero. It is the smaller one of two sums, since a
    point alone, or dual variables alone, may be of any size.
    """
    if not np.isfinite(lower):
        return np.inf
    if value == lower:
        return 0.0
    P = sp.csr_array((x.size, x.size)) if program.P is None else program.P
    squares = 0.5 * float(np.abs(x) @ (abs(P) @ np.abs(x)))
    point = float(np.abs(program.c) @ units(program.A, compared(program, x), x)) + squares
    size = np.abs(program.c + P @ x) + abs(program.A.T) @ np.abs(z)
    duals = float(np.abs(program.b) @ units(program.A.T, size, z)) + squares
    return abs(value - lower) / (abs(value) + abs(lower) + FAINT * min(point, duals))


def units(A: Matrix, size: Array, x: Array) -> Array:
    """What counts as a size of each number: its own, or what the least of its rows, of these sizes, allows."""
    entry = sp.coo_array(A)
    (row, column), a = entry.coords, np.abs(entry.data)
    least = np.full(x.size, np.inf)
    np.minimum.at(least, column, size[row] / a)
    return np.maximum(np.abs(x), np.where(np.isfinite(least), least, 0.0))


def compared(program: ConicProgram, x: Array) -> Array:
    """What the numbers of each row are compared with: each other, or the head of their cone."""
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    for cone in program.cones:
        heads, i, j = _heads(cone)
        root = np.sqrt(size[heads])
        size[cone.rows] = np.maximum(size[cone.rows], root[i] * root[j])
    return size


def _heads(cone: Cone) -> tuple[Index, Index, Index]:
    """The rows of the first number, or of the diagonal, of a cone; and which two of them each row has."""
    if cone.kind == "soc":
        none = np.zeros(cone.order, dtype=np.intp)
        return np.array([cone.rows.start]), none, none
    j, i = np.tril_indices(cone.order)
    return cone.rows.start + np.flatnonzero(i == j), i, j


def _nearby(program: ConicProgram, z: Array, x: Array) -> tuple[float, float]:
    """The bound for costs that dual variables meet, and how far these are, relative to their numbers."""
    z = program.projected(z)
    G, f = kernel.dual_rows(program)
    u = z if program.P is None else np.concatenate([z, x])
    size = abs(G) @ np.abs(u) + np.abs(f)
    share = np.divide(np.abs(G @ u - f), size, out=np.zeros(f.size), where=size > 0)
    square = 0.0 if program.P is None else 0.5 * float(x @ (program.P @ x))
    return program.offset - square - float(program.b @ z), float(np.max(share, initial=0.0))


def _ray(program: ConicProgram, raw: Raw, source: str, budget: float) -> CvxpyCertificate:
    """The certificate of a claim that nothing is feasible, or that nothing bounds the objective."""
    status, proved = raw.status, False
    if status == "infeasible":
        proved = infeasible(program, raw.z)
    elif budget > 0:
        point = search.solve(search.inward(program), budget)
        ray = np.delete(point.z, program.at)
        if point.status == "infeasible" or point.x[-1] < 0:
            proved = infeasible(program, ray)
            status = "infeasible" if proved else status
        proved = proved or _unbounded(program, raw.x, point.x[:-1])
    end = np.inf if status == "infeasible" else -np.inf
    ends = (end, end) if proved else (-np.inf, np.inf)
    gap, rigour = (0.0, kernel.PROVED) if proved else (np.inf, "none")
    return CvxpyCertificate(status, end, *ends, gap, 0.0, rigour, end, 0.0, source)


def infeasible(program: ConicProgram, z: Array) -> bool:
    """Whether a ray near z proves that no point is feasible."""
    if z.size != program.b.size or not np.isfinite(z).all() or not z.any():
        return False
    z = z / np.max(np.abs(z))
    box = kernel.boxes(program)
    u = program.projected(z)
    if kernel.no_point(program, u, np.ones(u.size), boxes=box):
        return True
    for floor in (0.0, FAINT**2, FAINT):
        still = np.abs(z) <= floor
        u = np.where(still, 0.0, z)
        boundary = still.copy()
        for inside, cone in zip(program.least(u)[program.nonneg :], program.cones, strict=True):
            boundary[cone.rows] |= inside <= FAINT * float(np.max(np.abs(u[cone.rows])))
        for held in (still, boundary):
            side = search.dual_side(program, held, costs=False, boxes=box)
            if side is not None and side.best(u)[0] > 0:
                return True
    return False


def _unbounded(program: ConicProgram, d: Array, inner: Array) -> bool:
    """Whether a direction near d, and a point near another one, prove that the objective has no bound."""
    if d.size != program.c.size or not (np.isfinite(d).all() and np.isfinite(inner).all() and d.any()):
        return False
    point, inner = search.primal_side(program, inner)
    value, x = point.best(inner) if point is not None else (-np.inf, inner)
    if not np.isfinite(value):
        return False
    d = d / np.max(np.abs(d))
    for floor in (0.0, FAINT**2, FAINT):  # numbers that are dust may be zero exactly
        still = np.abs(d) <= floor
        e = np.where(still, 0.0, d)
        for held in (still, still | _on_boundary(program, e)):
            side = search.direction_side(program, x, held)
            if side is not None and side.best(e)[0] > 0:
                return True
    return False


def _on_boundary(program: ConicProgram, d: Array) -> Mask:
    """The numbers of a direction that move cones on whose boundary it lies."""
    along = -(program.A @ d)
    out = np.zeros(d.size, dtype=bool)
    for inside, cone in zip(program.least(along)[program.nonneg :], program.cones, strict=True):
        if inside <= FAINT * float(np.max(np.abs(along[cone.rows]))):
            out |= np.diff(sp.csc_array(program.A[cone.rows]).indptr) > 0
    return out


def violation(program: ConicProgram, x: Array) -> float:
    """The most by which x misses a constraint, relative to the numbers of that constraint.

    A constraint whose constant is not zero is measured by it. Another one may have nothing but tiny numbers,
    as t >= |x| has where x is zero but for rounding. With zeros in their place it holds, so it is missed by no
    more than what zeros change in the rest.
    """
    if not np.isfinite(x).all():
        return np.inf
    s, own = program.b - program.A @ x, _constants(program, x)
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    lack = np.zeros(s.size)
    lack[: program.zero] = np.abs(s[: program.zero])
    lack[program.zero : program.at] = np.maximum(-s[program.zero : program.at], 0.0)
    zeros = _changed_by_zeros(program, x, own, size)
    for inside, cone in zip(program.least(s)[program.nonneg :], program.cones, strict=True):
        rows, first = cone.rows, cone.rows.start
        lack[first] = max(-inside, 0.0)
        own[first], size[first], zeros[first] = (np.max(v[rows]) for v in (own, size, zeros))
    missed = np.flatnonzero(lack)
    own, size = own[missed], size[missed]
    unit = np.where(own > 0, own, size)
    share = np.divide(lack[missed], unit, out=np.full(unit.size, np.inf), where=unit > 0)
    share = np.where(own > 0, share, np.minimum(share, zeros[missed]))
    return float(np.max(share, initial=0.0))


def _constants(program: ConicProgram, x: Array) -> Array:
    """The sizes of the constants; zero for those that are rounding beside the numbers of their row."""
    size = np.abs(program.b) + abs(program.A) @ np.abs(x)
    return np.where(np.abs(program.b) > UNIT * size, np.abs(program.b), 0.0)


def _changed_by_zeros(program: ConicProgram, x: Array, own: Array, size: Array) -> Array:
    """For each row the most that zeros in place of its variables change in any row, relative to its numbers.

    A row without a constant does not count where zeros for all its variables change little elsewhere. The
    numbers of a cone are compared with the first one, or with the diagonal, unless that may be zero itself.
    """
    slope = program.c if program.P is None else program.c + program.P @ x
    entry = sp.coo_array(sp.vstack([program.A, slope[None, :]]))
    (row, column), part = entry.coords, np.abs(entry.data * x[entry.coords[1]])
    every, own = (np.append(v, end) for v, end in ((size, np.abs(slope) @ np.abs(x)), (own, 1.0)))
    share = np.divide(part, every[row], out=np.zeros(part.size), where=every[row] > 0)
    change, alone = np.zeros(x.size), own == 0
    np.maximum.at(change, column[~alone[row]], share[~alone[row]])

    def most() -> Array:
        found = np.zeros(every.size)
        np.maximum.at(found, row, change[column])
        return found

    cap, unit = most(), np.append(compared(program, x), every[-1])
    for cone in program.cones:
        heads, i, j = _heads(cone)
        may = np.where(alone[heads], cap[heads], np.inf)
        beside = np.setdiff1d(np.arange(i.size), heads - cone.rows.start)
        cap[cone.rows.start + beside] = np.minimum(may[i], may[j])[beside]
    share = np.divide(part, unit[row], out=np.zeros(part.size), where=unit[row] > 0)
    np.maximum.at(change, column[alone[row]], np.minimum(share, cap[row])[alone[row]])
    return most()[:-1]

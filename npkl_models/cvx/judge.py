"""Judge an answer to a conic program: bounds on either side, what it misses, and rays."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.cvx import kernel, search
from npkl_models.cvx.certificate import CvxpyCertificate
from npkl_models.cvx.program import ConicProgram
from npkl_models.cvx.search import Raw
from npkl_models.linalg import Array
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
        if found.rigour != "proved" and budget > 0:
            again = search.solve(program, budget)
            other = _ray(program, again, "a solve", budget) if again.status == raw.status else found
            found = other if other.rigour == "proved" else found
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
    gap, source = _gap(program, x, z, value, lower), "given"
    upper = best_upper(program, x)
    if gap > tol and budget > 0:
        own = search.solve(program, budget)
        if own.status == "infeasible" and _ray(program, own, "", budget).rigour == "proved":
            lower, gap, source = np.inf, np.inf, "a solve"
        elif np.isfinite(own.z).all() and own.status != "unbounded":
            more, better = best_lower(program, own.z, own.x, value, tol)
            if not np.isfinite(more):
                more, better = _towards_middle(program, own, budget)
            if more > lower:
                lower, z, source = more, better, "a solve"
                gap = _gap(program, x, z, value, lower)
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
        if _gap(program, x, best[1], value, best[0]) <= tol / 10 or (still is not None and not still.any()):
            break
        side = search.dual_side(program, still, boxes=box if known else None)
        if side is not None:
            bound, u = side.best(np.concatenate([z if still is None else np.where(still, 0.0, z), w]))
            offer(u, bound)
    return best


def best_upper(program: ConicProgram, x: Array) -> float:
    """The value of a feasible point near x; inf without proof."""
    side = search.primal_side(program)
    return -side.best(x)[0] if side is not None and np.isfinite(x).all() else np.inf


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
    if not np.isfinite(centre).all() or side.program.least(side.inside(centre)).min(initial=np.inf) <= 0:
        return -np.inf, own.z
    value, u = side.along(side.moved(np.concatenate([own.z, w])), centre, False)
    return value, u[: program.b.size]


def _gap(program: ConicProgram, x: Array, z: Array, value: float, lower: float) -> float:
    """The distance of value and bound relative to both, and to a faint part of what they are sums of."""
    if not np.isfinite(lower):
        return np.inf
    squares = 0.0 if program.P is None else 0.5 * float(np.abs(x) @ (abs(program.P) @ np.abs(x)))
    point = float(np.abs(program.c) @ np.abs(x)) + squares
    duals = float(np.abs(program.b) @ np.abs(z)) + squares
    unit = abs(value) + abs(lower) + FAINT * min(point, duals)
    return abs(value - lower) / unit if value != lower else 0.0


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
    if raw.status == "infeasible":
        proved, end = infeasible(program, raw.z), np.inf
    else:
        proved, end = _unbounded(program, raw.x, budget), -np.inf
    rigour = kernel.PROVED if proved else "none"
    ends = (end, end) if proved else (-np.inf, np.inf)
    return CvxpyCertificate(raw.status, end, *ends, 0.0 if proved else np.inf, 0.0, rigour, end, 0.0, source)


def infeasible(program: ConicProgram, z: Array) -> bool:
    """Whether a ray near z proves that no point is feasible."""
    if z.size != program.b.size or not np.isfinite(z).all() or not z.any():
        return False
    z = z / np.max(np.abs(z))
    box = kernel.boxes(program)
    u = program.projected(z)
    if kernel.no_point(program, u, np.ones(u.size), boxes=box):
        return True
    for still in (None, np.abs(z) <= FAINT**2 * np.max(np.abs(z)), np.abs(z) <= FAINT):
        side = search.dual_side(program, still, costs=False, boxes=box)
        if side is not None and side.best(z if still is None else np.where(still, 0.0, z))[0] > 0:
            return True
    return False


def _unbounded(program: ConicProgram, d: Array, budget: float) -> bool:
    if d.size != program.c.size or not np.isfinite(d).all() or not d.any():
        return False
    inner, point = search.feasible(program, budget), search.primal_side(program)
    if point is None or not np.isfinite(inner).all():
        return False
    value, x = point.best(inner)
    if not np.isfinite(value):
        return False
    side = search.direction_side(program, x)
    if side is None:
        return False
    for floor in (0.0, FAINT**2, FAINT):  # numbers that are dust may be zero exactly
        e = d / np.max(np.abs(d))
        if side.best(np.where(np.abs(e) <= floor, 0.0, e))[0] > 0:
            return True
    return False


def violation(program: ConicProgram, x: Array) -> float:
    """The most by which x misses a constraint, relative to the numbers of that constraint.

    A constraint whose constant is not zero is measured by it. Otherwise its numbers may all be as small as
    what is missed. Then the miss is measured by what moving one of its variables would change in the other
    constraints and in the objective.
    """
    m = program.b.size
    if not np.isfinite(x).all():
        return np.inf
    s, size = program.b - program.A @ x, abs(program.A) @ np.abs(x)
    lack, own = np.zeros(m), np.where(program.b != 0, np.abs(program.b), size)
    lack[: program.zero] = np.abs(s[: program.zero])
    lack[program.zero : program.at] = np.maximum(-s[program.zero : program.at], 0.0)
    context = np.abs(program.b) + size
    for k, cone in enumerate(program.cones):
        inside = program.least(s)[program.nonneg + k]
        if cone.kind == "psd":
            j, i = np.tril_indices(cone.order)
            root = np.sqrt(context[cone.rows][i == j])
            context[cone.rows] = np.where(i == j, 1.0, np.sqrt(2.0)) * root[i] * root[j]
        some = program.b[cone.rows].any()
        own[cone.rows] = np.max(np.abs(program.b[cone.rows])) if some else np.max(size[cone.rows], initial=0.0)
        lack[cone.rows] = 0.0
        lack[cone.rows.start] = max(-inside, 0.0)
    if not lack.any():
        return 0.0
    share = np.divide(lack, own, out=np.where(lack > 0, np.inf, 0.0), where=own > 0)
    loose = np.flatnonzero((share > 0) & (program.b == 0))
    if loose.size:
        share[loose] = np.minimum(share[loose], _elsewhere(program, x, lack, context, loose))
    return float(np.max(share))


def _elsewhere(program: ConicProgram, x: Array, lack: Array, size: Array, rows: Array) -> Array:
    """What curing the misses of rows by one variable each changes in all other rows, relative to their numbers."""
    slope = program.c if program.P is None else program.c + program.P @ x
    G = sp.csr_array(sp.vstack([program.A, slope[None, :]]))
    every = np.append(size, float(np.abs(slope) @ np.abs(x)))
    unit = np.divide(1.0, every, out=np.full(every.size, np.inf), where=every > 0)
    out = np.full(rows.size, np.inf)
    columns = sp.csc_array(G)
    for k, i in enumerate(rows):
        own = G[[i]]
        for j, a in zip(own.indices, own.data, strict=True):
            at = slice(columns.indptr[j], columns.indptr[j + 1])
            others = columns.indices[at] != i
            if a and others.any():
                change = np.abs(columns.data[at] / a)[others] * lack[i] * unit[columns.indices[at][others]]
                out[k] = min(out[k], float(np.max(change)))
    return out

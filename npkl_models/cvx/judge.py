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
from npkl_models.cvx.sizes import relative_gap, violation
from npkl_models.linalg import Array, Mask
from npkl_models.model.scale import FAINT


def judge(
    program: ConicProgram, raw: Raw, value: float | None = None, *, tol: float = 1e-6, budget: float = 10.0
) -> CvxpyCertificate:
    """The certificate of an answer, in the sense of a minimisation.

    ``value`` is the objective of the answer, if it is known better than from x. ``budget`` (s) is what may be
    spent on solves of our own, if the given z proves too little.
    """
    started = time.perf_counter()
    program, d, e, t = program.balanced()
    raw = Raw(raw.status, raw.x / e, raw.z / d * t)
    value = None if value is None else t * value
    if raw.status in ("infeasible", "unbounded"):
        found = _ray(program, raw, "given", budget)
        if found.rigour != kernel.PROVED and budget > 0:
            again = search.solve(program, budget)
            claims = again.status in ("infeasible", "unbounded")
            other = _ray(program, again, "a solve", budget) if claims else found
            found = other if other.rigour == kernel.PROVED else found
    else:
        found = _optimal(program, raw, value, tol, budget)
    numbers = {name: getattr(found, name) / t for name in ("value", "lower", "upper", "nearby")}
    return replace(found, **numbers, seconds=time.perf_counter() - started)


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
                more, better = max(
                    (more, better), _towards_middle(program, own, budget), key=lambda one: one[0]
                )
            if more > lower:
                lower, z, source = more, better, "a solve"
                gap = relative_gap(program, x, z, value, lower)
            upper = min(upper, best_upper(program, own.x))
    missed = violation(program, x)
    if np.isfinite(lower):
        return CvxpyCertificate(
            "optimal", value, lower, upper, gap, missed, kernel.PROVED, lower, 0.0, source
        )
    bound, off = _nearby(program, z, x)
    rigour = "nearby" if off < 1 else "none"
    return CvxpyCertificate("optimal", value, lower, upper, np.inf, missed, rigour, bound, off, source)


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
        if relative_gap(program, x, best[1], value, best[0]) <= tol / 10 or (
            still is not None and not still.any()
        ):
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


def idle(program: ConicProgram, z: Array, x: Array) -> Mask:
    """Which numbers of z belong to constraints that x does not touch: relative, less than the slack."""
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

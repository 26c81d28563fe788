"""Make the certificate of a point: what it misses, and its distance from the bound that multipliers prove."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from npkl_models import kernel
from npkl_models.certificates.bounds import FEASIBILITY, CertifyOptions, Dual, bound_from
from npkl_models.certificates.certificate import ALARM, CERTIFIED, Certificate, outward, relative_gap
from npkl_models.certificates.points import Given, read_point
from npkl_models.certificates.recover import recover_multipliers
from npkl_models.errors import OutOfRangeError, SolverError
from npkl_models.feasibility.faces import face_of
from npkl_models.feasibility.restoration import restored
from npkl_models.kernel import Target
from npkl_models.linalg import Array
from npkl_models.linalg.threads import quiet_blas
from npkl_models.model.misses import misses, worst
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units, binary_units


def known(
    problem: Statement, V: Array, y: Multipliers | None, tol: float = 1e-6, feasibility: float = FEASIBILITY
) -> Certificate:  # fmt: skip
    """The certificate of a factor with the multipliers that are known, or those of least norm."""
    demand = CertifyOptions("auto", tol, 1e-6, None, False, feasibility=feasibility)
    return prove(problem, V, y, "factor", demand)


def prove(
    problem: Statement, point: Any, multipliers: Multipliers | None, kind: str, demand: CertifyOptions
) -> Certificate:
    """The certificate of a point, made with the methods and the accuracy of a `CertifyOptions`."""
    raised = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
    with raised, quiet_blas(problem.order):
        units = binary_units(problem)
        found = outward(_certify(units, point, multipliers, kind, demand), units)
    if not np.isfinite(found.objective):
        raise _beyond(found.point)
    return found


def _beyond(V: Array) -> OutOfRangeError:
    return OutOfRangeError(f"a point must have a finite objective, got entries up to {np.abs(V).max():.1e}")


def _certify(
    units: Units, point: Any, multipliers: Multipliers | None, kind: str, demand: CertifyOptions
) -> Certificate:
    """The certificate in units in which no number is out of range."""
    started, problem = time.perf_counter(), units.problem
    point, multipliers, kind = _parts(point, multipliers, kind)
    given = read_point(problem, point, kind, units.root)
    face = face_of(problem)
    y = own = None
    if multipliers is not None:
        own = units.inner_multipliers(units.whole.as_multipliers(multipliers))
        y = face.fold(own)
    if demand.restoring:
        given = Given(restored(face.problem, given.V, steps=not demand.quick))
    source = "least norm" if y is None else "given"
    target, dual = _both_sides(face.problem, given, y, demand)
    found = misses(problem, given.V, given.K)
    gap, share = _gap(face.problem, target, dual)
    if demand.restoring and demand.quick and share <= demand.tol and worst(found)[0] > demand.feasibility:
        given = Given(restored(face.problem, given.V))
        target, dual = _both_sides(face.problem, given, y, demand)
        found, (gap, share) = misses(problem, given.V), _gap(face.problem, target, dual)
    violation, missed = worst(found)
    feasible = max(violation, given.indefinite) <= demand.feasibility
    bound, rigour, repair = dual.bound + 0.0, dual.rigour, dual.repair
    faint = kernel.faint_part(face.problem, target, dual.y, bound)
    if gap < 0 and rigour in CERTIFIED:
        bound, gap, rigour, repair = float("-inf"), float("inf"), "none", ALARM
    return Certificate(
        objective=target.objective + 0.0, upper=target.upper, bound=bound, gap=gap,
        relative_gap=share if feasible and np.isfinite(bound) else float("inf"), faint=faint,
        min_eigenvalue=dual.min_eigenvalue, rigour=rigour, repair=repair,
        failure_probability=demand.failure_probability if rigour == "probable" else 0.0,
        violation=violation, missed=missed, point_min_eigenvalue=given.min_eigenvalue,
        indefinite=given.indefinite, source=source, feasibility=demand.feasibility,
        seconds=time.perf_counter() - started, multipliers=face.unfold(dual.y, own), point=given.V,
        direction=face.problem.lift(dual.direction),
    )  # fmt: skip


def _parts(point: Any, y: Multipliers | None, kind: str) -> tuple[Any, Multipliers | None, str]:
    """The array of a point, its multipliers, and what it is; those of a solution unless others are given."""
    if not isinstance(point, np.ndarray):
        y = getattr(point, "multipliers", None) if y is None else y
        kind = "factor" if hasattr(point, "V") else kind
    point = getattr(point, "V", point)
    if point is None:
        raise SolverError("a solution must have a kernel to be certified, got none; see its status")
    return point, y, kind


def _gap(problem: Statement, target: Target, dual: Dual) -> tuple[float, float]:
    """The gap for the targets that the point meets, and the relative gap."""
    gap = kernel.gap_for(problem, target, dual.y, dual.bound)
    faint = kernel.faint_part(problem, target, dual.y, dual.bound)
    return gap, relative_gap(target.objective, dual.bound, faint, gap)


def _both_sides(
    problem: Statement, given: Given, y: Multipliers | None, demand: CertifyOptions
) -> tuple[Target, Dual]:
    """The values of the point over the face, and the dual side."""
    target = kernel.target_of(problem, given.V, given.K)
    if not np.isfinite(target.objective):
        raise _beyond(given.V)
    y = recover_multipliers(problem, target.V) if y is None else y
    return target, bound_from(problem, y, target.V, target.objective, demand)

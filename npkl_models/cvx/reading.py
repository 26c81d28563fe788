"""Read a problem of CVXPY, and the answer in it, in the numbers that CVXPY hands to a solver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import cvxpy
import cvxpy.settings as s
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.complex2real.complex2real import Complex2Real
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr, lower_value
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.utilities.psd_utils import TriangleKind

from npkl_models.cvx import search
from npkl_models.cvx.program import ConicProgram, svec
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.linalg import Array, Mask

CONES = (*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD)


class Rows(ConicSolver):  # type: ignore[misc]
    """A solver that solves nothing: CVXPY states a problem for it in the form of `ConicProgram`."""

    SUPPORTED_CONSTRAINTS = CONES
    PSD_TRIANGLE_KIND = TriangleKind.UPPER
    PSD_SQRT2_SCALING = True

    def __init__(self, quadratic: bool = True) -> None:
        super().__init__()
        self.quadratic = quadratic

    def name(self) -> str:
        """The name by which CVXPY knows it."""
        return "NPKL_ROWS"

    def supports_quad_obj(self) -> bool:
        """Whether a quadratic objective is stated as one."""
        return self.quadratic

    def import_solver(self) -> None:
        """Nothing has to be imported."""

    def cite(self, data: Any) -> str:
        """Nothing is cited."""
        return ""

    def solve_via_data(self, *given: Any, **more: Any) -> Any:
        """Nothing is solved."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Stated:
    """A problem of CVXPY as a conic program, and what CVXPY needs to read an answer."""

    problem: Any
    program: ConicProgram
    conic: Any  # CVXPY's own object for the program
    chain: Any
    inverse: Any

    @property
    def maximise(self) -> bool:
        """Whether the problem is a maximisation."""
        return isinstance(self.problem.objective, cvxpy.Maximize)


def stated(problem: Any, quadratic: bool = True) -> Stated:
    """The conic program of a problem of CVXPY.

    Raises
    ------
    ProblemError
        If it is no problem of CVXPY, is not convex by its rules, or lacks the value of a parameter.
    UnsupportedError
        If it needs other cones, or integers.
    """
    if not isinstance(problem, cvxpy.Problem):
        raise ProblemError(f"a problem of CVXPY must be a cvxpy.Problem, got {type(problem).__name__}")
    if not problem.variables():
        raise ProblemError("a problem of CVXPY must have a variable, got constants alone")
    if missing := [p.name() for p in problem.parameters() if p.value is None]:
        raise ProblemError(f"the parameters of a problem must have values, got none for {', '.join(missing)}")
    own = cvxpy.Problem(
        problem.objective, problem.constraints
    )  # the caches of the given one stay as they are
    try:
        with _without_values(problem):  # CVXPY refuses values outside bounds while it states a problem
            data, chain, inverse = own.get_problem_data(Rows(quadratic))
    except cvxpy.error.DCPError as error:
        raise ProblemError(f"a problem of CVXPY must follow its rules of convexity, got: {error}") from error
    except cvxpy.error.SolverError as error:
        raise UnsupportedError(
            f"a problem of CVXPY must have linear, second-order and semidefinite cones only, got: {error}"
        ) from error
    except ValueError as error:
        raise ProblemError(f"the numbers of a problem of CVXPY must be finite, got: {error}") from error
    program = ConicProgram.of_data(data, float(inverse[-1][s.OFFSET]))
    return Stated(problem, program, data[s.PARAM_PROB], chain, inverse)


@contextmanager
def _without_values(problem: Any) -> Iterator[None]:
    """Variables without values, which come back after the block."""
    kept = [(v, v.value) for v in problem.variables()]
    for v, _ in kept:
        v.save_value(None)
    try:
        yield
    finally:
        for v, value in kept:
            v.save_value(value)


def variables_in(door: Stated) -> tuple[Array, Mask]:
    """The numbers x of the values in the variables, and which of them the values do not determine.

    CVXPY's own further variables are not determined. Values go the way of the variables: complex ones become
    two, those with attributes fewer numbers.
    """
    values = {v.id: v.value for v in door.problem.variables()}
    for name in (v.name() for v in door.problem.variables() if v.value is None):
        raise ProblemError(
            f"the variables must have values to be certified, got none for {name}; solve first"
        )
    for step in door.chain.reductions:
        if isinstance(step, Complex2Real):
            for one, parts in step.canon_methods._variables.items():
                values |= _parts(one, parts, values[one.id])
        elif isinstance(step, CvxAttr2Constr):
            for one in (v for v in (*step._variables, *step._symmetric_vars) if v.id in values):
                new = step._variables.get(one, one)
                whole = np.asarray(_dense(values[one.id]))
                values[new.id] = lower_value(one, whole)
    conic = door.conic
    x, open_ = np.zeros(conic.x.size), np.ones(conic.x.size, dtype=bool)
    for key, at in conic.var_id_to_col.items():
        if key in values:
            own = np.asarray(_dense(values[key]), dtype=float).ravel(order="F")
            x[at : at + own.size], open_[at : at + own.size] = own, False
    return x, open_


def _parts(one: Any, parts: tuple[Any, Any], value: Any) -> dict[int, Any]:
    """The values of the real and the imaginary variable of a complex one."""
    real, imaginary = parts
    value = _dense(value)
    out = {} if real is None else {real.id: np.real(value)}
    if imaginary is not None:
        part = np.imag(value)
        out[imaginary.id] = part[np.triu_indices(one.shape[0], k=1)] if one.is_hermitian() else part
    return out


def _dense(value: Any) -> Any:
    return value.toarray() if sp.issparse(value) else value


def completed(program: ConicProgram, x: Array, open_: Mask, budget: float) -> Array:
    """Fill the undetermined numbers of x: the best objective with the others fixed, or the least misses."""
    if not open_.any():
        return x
    x = np.where(open_, 0.0, x)
    A = program.A[:, np.flatnonzero(open_)]
    touched = np.diff(sp.csr_array(A).indptr) > 0
    for cone in program.cones:
        touched[cone.rows] = touched[cone.rows].any()
    at, rows = program.zero, np.flatnonzero(touched)
    P = None if program.P is None else program.P[open_][:, open_]
    c = program.c if program.P is None else program.c + program.P @ x
    inner = replace(
        program, A=sp.csr_array(A[rows]), b=(program.b - program.A @ x)[rows], c=c[open_],
        P=None if P is None or not P.count_nonzero() else sp.csr_array(P), zero=int(touched[:at].sum()),
        nonneg=int(touched[at : program.at].sum()),
        soc=[cone.order for cone in program.cones if cone.kind == "soc" and touched[cone.rows].any()],
        psd=[cone.order for cone in program.cones if cone.kind == "psd" and touched[cone.rows].any()],
    )  # fmt: skip
    found = search.solve(inner, budget)
    if found.status != "optimal":  # values that miss constraints by a little leave no room
        depth = float(search.solve(search.inward(inner), budget).x[-1])
        wider = inner.b + 2 * max(-depth, np.finfo(float).eps) * inner.identity
        found = search.solve(replace(inner, b=wider), budget, sharp=False)
    x[open_] = found.x
    return x


def duals_in(door: Stated) -> Array | None:
    """The dual variables z from the dual values of the constraints; None if CVXPY hides some of them."""
    known = {c.id: c.dual_value for c in door.problem.constraints if c.dual_value is not None}
    for step, inverse in zip(door.chain.reductions, door.inverse, strict=False):
        if isinstance(step, Complex2Real):
            return None
        attributes = isinstance(step, CvxAttr2Constr) and inverse
        ids = inverse[2] if attributes else getattr(inverse, "cons_id_map", None)
        known = {new: known[old] for old, new in ids.items() if old in known} if ids else known
    if any(c.id not in known for c in door.conic.constraints):
        return None
    parts = [_rows_of(c, known[c.id]) for c in door.conic.constraints]
    z = np.concatenate([np.zeros(0), *parts])
    return z if z.size == door.program.b.size else None


def _rows_of(constraint: Any, value: Any) -> Array:
    """A dual value in the rows of its constraint."""
    if isinstance(constraint, SvecPSD):
        X = np.asarray(value, dtype=float)
        return svec((X + X.T) / 2) if X.ndim == 2 else X.ravel()
    if isinstance(constraint, SOC):
        t, X = value
        return np.column_stack([np.ravel(t), np.atleast_2d(np.asarray(X).T)]).ravel()
    return np.asarray(_dense(value), dtype=float).ravel(order="F")

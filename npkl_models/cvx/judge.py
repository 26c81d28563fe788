"""Judge the values and dual values that any solver has left in a problem of CVXPY."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import cvxpy
import cvxpy.settings as s
import numpy as np
import scipy.linalg
import scipy.sparse as sp

from npkl_models.answer.solution import Solution
from npkl_models.certificates.bounds import FEASIBILITY, CertifyOptions
from npkl_models.certificates.certificate import FAILURE, Certificate
from npkl_models.certificates.prove import prove
from npkl_models.conic.cvxpy_data import ConicProgram
from npkl_models.conic.cvxpy_programs import translated
from npkl_models.cvx.solver import SHARP, Answer, Stated, answer_of, solved, stated
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.statement import Statement


@dataclass(frozen=True, eq=False)
class CvxpyCertificate:
    """What is proved of the values and dual values in a problem of CVXPY.

    Attributes
    ----------
    value : float
        The objective at the values, in the sense of the problem (minimise or maximise).
    bound : float
        The bound on the optimum from the dual values: exact for the costs that they meet, which differ from
        the stated ones by ``dual_violation``.
    relative_gap : float
        The distance of value and bound over one and their absolute values, or the gap of ``certificate`` if
        that is larger; inf if nothing is proved.
    nearby : float
        The gap of the values and dual values for the program that they meet exactly. Its data differ from the
        stated ones by the two violations; dual values outside their cones pay for it. A program without
        interior may have no other proof.
    violation : float
        The most by which the values miss a constraint, relative to the numbers that enter it.
    dual_violation : float
        The most by which the dual values miss the costs and their cones, relative to the numbers that enter.
    certificate : Certificate
        The certificate of the problem whose kernel is the dual variable (`Problem.from_cvxpy`).
    """

    value: float
    bound: float
    relative_gap: float
    nearby: float
    violation: float
    dual_violation: float
    certificate: Certificate

    def certifies(self, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> bool:
        """Whether the values are optimal to the relative gap ``tol``: proved, or for the program nearby.

        The dual values bound the optimum of the stated program if their certificate is proved. Otherwise the
        nearby program counts, if it differs from the stated one by less than the rounding of a solver.
        """
        missed = max(self.violation, self.dual_violation)
        proved = self.relative_gap <= tol and self.certificate.rigour == "proved"
        return missed <= feasibility and (proved or (self.nearby <= tol and missed <= SHARP))

    def __str__(self) -> str:
        return (
            f"value {self.value:.10g}, bound {self.bound:.10g}, relative gap {self.relative_gap:.1e} "
            f"({self.certificate.rigour}); the values miss the constraints by {self.violation:.1e}, the dual "
            f"values the costs by {self.dual_violation:.1e}"
        )


def certify_cvxpy(problem: Any, *, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> CvxpyCertificate:
    """Judge the values and dual values that any solver has left in a problem of CVXPY.

    Parameters
    ----------
    problem : cvxpy.Problem
        A solved problem with linear, second-order and semidefinite constraints.
    tol, feasibility : float
        As in `certify`.

    Returns
    -------
    CvxpyCertificate
        Value, proved bound, gap and violations.

    Raises
    ------
    ProblemError
        If variables have no values, or constraints no dual values.
    UnsupportedError
        If the problem has other cones or integers.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 1])
    >>> _ = problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    >>> nm.certify_cvxpy(problem).certifies()
    True
    """
    door = stated(problem)
    x, off_x, z, off_z = _values_in(problem, door)
    found = translated(door.program, Statement)
    if isinstance(found, np.ndarray):
        raise ProblemError("the equations of a problem of CVXPY must have a solution, got a contradiction")
    y = found.multipliers_of(x)
    demand = CertifyOptions("auto", tol, FAILURE, None, False, feasibility=feasibility)
    judged = prove(found.problem, found.point_of(z), y, "kernel", demand)  # of these values, and no others
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    value = float(door.program.c @ x) + door.offset
    bound = door.offset - float(door.program.b @ z)
    gap = max(judged.relative_gap, abs(value - bound) / (1 + abs(value) + abs(bound)))
    below = max(-judged.point_min_eigenvalue, 0.0)  # dual values outside their cones pay for it
    paid = below * float(np.sum(np.abs(found.problem.slack(y).diagonal())))
    nearby = found.nearby(x, z) + paid / (1 + abs(value) + abs(bound))
    missed = max(found.dual_violation(z), judged.indefinite, off_z)
    return CvxpyCertificate(
        sign * value, sign * bound, gap, nearby, max(found.violation(x), off_x), missed, judged
    )


def into_cvxpy(solution: Solution, problem: Any) -> float:
    """Write the solution of ``Problem.from_cvxpy(problem)`` into the variables and constraints of CVXPY.

    Returns
    -------
    float
        The value of the problem, as ``problem.solve()`` returns it.
    """
    door = stated(problem)
    found = translated(door.program, Statement)
    if isinstance(found, np.ndarray) or not _same(found.problem, solution.problem):
        raise ProblemError("a solution must be one of Problem.from_cvxpy(problem) for this problem of CVXPY")
    problem.unpack_results(answer_of(found, solution, True), door.chain, door.inverse)
    return float(problem.value)


def _same(one: Statement, other: Statement) -> bool:
    """Whether two problems have the same numbers."""
    if one.n != other.n or one.sizes != other.sizes or (one.cost != other.cost).nnz:
        return False
    a, b = one.constraints[0], other.constraints[0]
    mine, yours = a.functional.numbers, b.functional.numbers
    alike = type(a.functional) is type(b.functional) and np.array_equal(a.value, b.value)
    return alike and all(np.array_equal(mine[key], yours[key]) for key in mine)


def _values_in(problem: Any, door: Stated) -> tuple[Array, float, Array, float]:
    """Variables and dual variables in CVXPY's own order, and by how much they differ from those given."""
    program, rows = door.program, door.program.b.size
    variables, constraints = problem.variables(), problem.constraints
    if any(v.value is None for v in variables):
        raise ProblemError(
            "the variables must have values to be certified, got None; solve the problem first"
        )
    if any(c.dual_value is None for c in constraints):
        raise ProblemError("the constraints must have dual values to be certified, got None; solve first")

    def primal(x: Array) -> Array:
        found = door.read(Answer(s.OPTIMAL, x, np.zeros(program.rows), 0.0)).primal_vars
        return np.concatenate([_numbers(found[v.id]) for v in variables])

    def dual(z: Array) -> Array:
        found = door.read(Answer(s.OPTIMAL, np.zeros(program.c.size), program.known(z), 0.0)).dual_vars
        for c in constraints:
            c.save_dual_value(found[c.id])
        return np.concatenate([_numbers(c.dual_value) for c in constraints] or [np.zeros(0)])

    values = np.concatenate([_numbers(v.value) for v in variables])
    P, at = _matrix(primal, program.c.size)
    x = _lifted(program, P, at, values)
    duals = np.concatenate([_numbers(c.dual_value) for c in constraints] or [np.zeros(0)])
    with _kept(constraints):
        D, base = _matrix(dual, rows)
    z, free = np.linalg.lstsq(D, duals - base, rcond=None)[0], scipy.linalg.null_space(D)
    A = program.A.T.toarray()
    if free.size:  # dual variables that CVXPY does not show, such as those of attributes of variables
        z = z + free @ np.linalg.lstsq(A @ free, -program.c - A @ z, rcond=None)[0]
    return x, _share(P @ x + at - values, values), z, _share(D @ z + base - duals, duals)


@contextmanager
def _kept(constraints: list[Any]) -> Iterator[None]:
    """Dual values as they were, after the block."""
    kept = [(one, one.value) for c in constraints for one in c.dual_variables]
    yield
    for one, value in kept:
        one.save_value(value)


def _share(missed: Array, given: Array) -> float:
    """The largest difference relative to the largest number."""
    size = float(np.max(np.abs(given), initial=0.0))
    return float(np.max(np.abs(missed), initial=0.0)) / size if size else 0.0


def _numbers(value: Any) -> Array:
    """The numbers of a value, a matrix, or a list of both, column by column."""
    if isinstance(value, list | tuple):
        return np.concatenate([_numbers(one) for one in value])
    found = np.asarray(value.toarray() if sp.issparse(value) else value).ravel(order="F")
    return np.concatenate([found.real, found.imag]) if np.iscomplexobj(found) else found.astype(float)


def _matrix(function: Callable[[Array], Array], size: int) -> tuple[Array, Array]:
    """The matrix and the constant of an affine map; a map that projects on signs is read on both sides."""
    base, columns = function(np.zeros(size)), []
    for e in np.eye(size):
        up = function(e) - base
        columns.append(up if up.any() else base - function(-e))
    return np.stack(columns, axis=1), base


def _lifted(program: ConicProgram, P: Array, base: Array, values: Array) -> Array:
    """The best x with P x + base = values; CVXPY's own further variables are free."""
    x = np.linalg.lstsq(P, values - base, rcond=None)[0]
    if np.linalg.matrix_rank(P) == P.shape[1]:
        return x
    A = sp.csc_array(sp.vstack([sp.csc_array(P), program.A]))
    b = np.concatenate([values - base, program.b])
    held = replace(program, A=A, b=b, zero=program.zero + len(P))
    answer = solved(held, {})
    return x if answer.x is None else answer.x

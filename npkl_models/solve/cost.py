"""What a solve will cost, before it is begun.

The times are orders of magnitude: sizes times constants that ``examples/benchmarks/calibrate.py`` measures on
two cores. They are for choosing between backends, whose costs differ by powers of ten.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from npkl_models.conic.solvers import default_solver, predicted_bytes
from npkl_models.lowrank.factor.rank import auto_rank
from npkl_models.lowrank.rows import compiled
from npkl_models.model.problem import Problem
from npkl_models.model.trace_cones import needs_majorisation

PRODUCT = 4e-10  # seconds per entry of C and column of V in C @ V
ROW_COMPILED = 4e-7  # seconds per row of a compiled sweep, beside the product
ROW_NUMPY = 1e-6  # seconds per row of a numpy sweep, beside the product
CALL = 2e-4  # seconds of interpreter per iteration
ITERATIONS = {"bcd": 60, "burer_monteiro": 300, "hybrid": 600, "admm": 1000}
PRODUCTS = {"bcd": 3.0, "burer_monteiro": 3.0, "hybrid": 3.0, "admm": 6.0}
KINKED = {"bcd": 4.0, "burer_monteiro": 2.0, "hybrid": 2.0, "admm": 2.0}
SCS_SECONDS = 4e-7  # times order^3
CLARABEL_SECONDS = 2e-9  # times order^5
REDUCED = {"sqlp": 3e-6, "qsdp": 2e-6, "scsdp": 0.0}  # times (s (s + 1) / 2)^2
EIGENDECOMPOSITIONS = {"simple_npkl": 60, "closed_form": 1}  # many more where a bound does not bind
EIGH = 2e-10  # seconds, times order^3
MFPC_ITERATIONS, MFPC_PRODUCT, MFPC_EIGH = 500, 8e-10, 1e-8
CVXPY = 0.15  # seconds to compile the smallest conic program
MAJORISED = 200.0  # how much more a trace power without a form of fixed size costs


@dataclass(frozen=True)
class Cost:
    """Predicted seconds and bytes of a solve."""

    seconds: float
    memory: float

    def __str__(self) -> str:
        return f"{_readable(self.seconds)} and {self.memory / 1e6:.3g} MB"


def available_bytes() -> float:
    """Physical memory of the machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def predict(backend: str, problem: Problem) -> Cost:
    """Cost of a backend on a problem, from n, the entries of C, the values, the rank and the basis."""
    if backend in ITERATIONS:
        return _factor(backend, problem)
    if backend in REDUCED:
        return _reduced(backend, problem)
    if backend in EIGENDECOMPOSITIONS:
        count = EIGENDECOMPOSITIONS[backend]
        one = EIGH * problem.order**3 + PRODUCT * problem.cost.nnz * problem.order + 5 * CALL
        return Cost(count * one, 8.0 * 5 * problem.order**2)
    if backend == "mfpc":
        n, s = problem.n, problem.order
        step = MFPC_PRODUCT * n * s**2 + MFPC_EIGH * s**3 + CALL
        return Cost(MFPC_ITERATIONS * step, 8.0 * (4 * n * s + 8 * s**2))
    order = problem.order
    solver = default_solver(None, order)
    seconds = CLARABEL_SECONDS * order**5 if solver == "CLARABEL" else SCS_SECONDS * order**3
    R = problem.regularizer.spectral
    if R is not None and needs_majorisation(R.p):
        seconds *= MAJORISED
    return Cost(CVXPY + seconds, predicted_bytes(solver, order))


def _factor(backend: str, problem: Problem) -> Cost:
    rank = auto_rank(problem)
    entries = problem.cost.nnz + 2 * problem.n_pairs
    if problem.basis is not None:
        entries += 2 * problem.n * problem.basis.size
    product = PRODUCT * entries * rank
    rows = 0.0
    if backend in ("bcd", "admm"):
        fast = backend == "bcd" and compiled.available() and all(t.loss.quadratic for t in problem.terms)
        rows = problem.n * (ROW_COMPILED if fast else ROW_NUMPY)
    seconds = ITERATIONS[backend] * (PRODUCTS[backend] * product + rows + CALL)
    smooth = all(term.loss.smooth for term in problem.terms) and not problem.equalities
    if not smooth or not (problem.regularizer.vacuous or problem.regularizer.row_multipliers):
        seconds *= KINKED[backend]
    memory = 8.0 * (30 * problem.n * rank + 8 * entries)
    return Cost(seconds, memory)


def _reduced(backend: str, problem: Problem) -> Cost:
    """Conic programs over svec(U): dense in the quadratic, so they grow with the square of its size."""
    p = problem.order * (problem.order + 1) // 2
    forming = PRODUCT * problem.n_pairs * p**2
    if backend == "scsdp":
        return Cost(CVXPY + forming + SCS_SECONDS * (p + 1) ** 3, predicted_bytes("SCS", p + 1) + 24.0 * p**2)
    return Cost(CVXPY + forming + REDUCED[backend] * p**2, 8.0 * (12 * p**2 + problem.n_pairs * p))


def _readable(seconds: float) -> str:
    if seconds < 1:
        return f"{1e3 * seconds:.0f} ms"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} hours"

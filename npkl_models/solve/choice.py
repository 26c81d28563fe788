"""The registry of backends, the choice among them, and solving by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, with_certificate
from npkl_models.conic import reduced, sdp, sdp_dual, solvers
from npkl_models.errors import SolverError, UnsupportedError, unknown
from npkl_models.lowrank import admm
from npkl_models.lowrank.factor import burer_monteiro
from npkl_models.lowrank.rows import bcd
from npkl_models.model.faces import Face, face_of
from npkl_models.model.problem import Problem
from npkl_models.solve.cost import Cost, available_bytes, predict
from npkl_models.solve.judge import relabelled
from npkl_models.solve.program import Options, Program, parse_options
from npkl_models.spectral import closed_form, mfpc
from npkl_models.spectral.dual import simple_npkl

CONIC_ORDER = 500  # beyond, no installed conic solver returns in reasonable time

__all__ = ["REGISTRY", "Backend", "Program", "backends", "choose_backend", "compile", "solve"]


@dataclass(frozen=True)
class Backend:
    """A way to solve a problem.

    Attributes
    ----------
    name : str
    family : {"conic", "lowrank", "spectral"}
    summary : str
        One line.
    supports : callable
        Problem -> None, or the reason why this backend cannot take it.
    options : type
        The dataclass of its options.
    """

    name: str
    family: str
    summary: str
    supports: Callable[[Problem], str | None]
    options: type[Options]
    program: Callable[[Problem, Any], Program]

    def compile(self, problem: Problem, **options: Any) -> Program:
        """Check problem and options, and set the program up.

        Raises
        ------
        UnsupportedError
            If the backend cannot take the problem, or does not know an option.
        """
        parsed = parse_options(self.options, options, self.name)
        reason = self.reason(problem)
        if reason is not None:
            able = [name for name, b in REGISTRY.items() if b.reason(problem) is None]
            raise UnsupportedError(
                f"{self.name} cannot take this problem: it {reason}; "
                + (f"these can: {', '.join(able)}" if able else "no other backend can either")
            )
        face = face_of(problem)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                program = self.program(problem if face is None else face.problem, parsed)
            except (np.linalg.LinAlgError, ArithmeticError) as error:
                raise SolverError(f"{self.name} could not set the problem up: {error}") from error
        return program if face is None else FaceProgram(problem, self.name, parsed, program, face)

    def reason(self, problem: Problem) -> str | None:
        """Why this backend cannot take the problem, None if it can, on its face."""
        face = face_of(problem)
        return self.supports(problem if face is None else face.problem)

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of the options it takes."""
        return tuple(f.name for f in fields(self.options))


@dataclass(frozen=True, eq=False)
class FaceProgram(Program):
    """A problem whose equalities leave no interior, solved on their face."""

    inner: Program
    face: Face

    def solve(self) -> Solution:
        found = self.inner.solve()
        y = found.multipliers
        return relabelled(found, self.problem, None if y is None else self.face.unfold(y))

    def describe(self) -> str:
        return f"{self.inner.describe()}; on a face with a basis of {self.face.problem.order} columns"


def _reduced(form: str) -> Callable[[Problem, Any], Program]:
    return lambda problem, options: reduced.ReducedProgram.compile(problem, options, reduced.FORMS[form])


REGISTRY: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            "bcd", "lowrank", "block coordinate descent on the rows of V, certified",
            bcd.supports, bcd.BCDOptions, bcd.BCDProgram.compile,
        ),
        Backend(
            "burer_monteiro", "lowrank", "trust-region Newton on the factor V, certified",
            burer_monteiro.supports, burer_monteiro.BurerMonteiroOptions,
            burer_monteiro.BurerMonteiroProgram.compile,
        ),
        Backend(
            "hybrid", "lowrank", "the rank staircase: burer_monteiro from a small rank upwards",
            burer_monteiro.supports, burer_monteiro.BurerMonteiroOptions,
            burer_monteiro.compile_hybrid,
        ),
        Backend(
            "admm", "lowrank", "KL-ADMM, K = V U' with V = U, certified",
            admm.supports, admm.ADMMOptions, admm.ADMMProgram.compile,
        ),
        Backend(
            "simple_npkl", "spectral", "dual ascent, an eigendecomposition a step, certified",
            simple_npkl.supports, simple_npkl.SimpleNPKLOptions, simple_npkl.SimpleNPKLProgram.compile,
        ),
        Backend(
            "closed_form", "spectral", "the linear loss with tr K^p by one eigendecomposition",
            closed_form.supports, closed_form.ClosedFormOptions, closed_form.ClosedFormProgram.compile,
        ),
        Backend(
            "mfpc", "spectral", "fixed-point continuation on U in a basis, certified",
            mfpc.supports, mfpc.MFPCOptions, mfpc.MFPCProgram.compile,
        ),
        Backend(
            "sqlp", "conic", "the semidefinite-quadratic-linear program over a basis, through CVXPY",
            reduced.supports, solvers.ConicOptions, _reduced("sqlp"),
        ),
        Backend(
            "qsdp", "conic", "the quadratic SDP over a basis, its quadratic as it is, through CVXPY",
            reduced.supports, solvers.ConicOptions, _reduced("qsdp"),
        ),
        Backend(
            "scsdp", "conic", "the Schur-complement SDP over a basis, a baseline for small s",
            reduced.supports, solvers.ConicOptions, _reduced("scsdp"),
        ),
        Backend(
            "sdp", "conic", "the exact SDP over K, through CVXPY",
            sdp.supports, solvers.ConicOptions, sdp.SDPProgram.compile,
        ),
        Backend(
            "sdp_dual", "conic", "the exact SDP in its dual form, through CVXPY",
            sdp.supports, solvers.ConicOptions, sdp_dual.DualSDPProgram.compile,
        ),
    )
}  # fmt: skip


def backends() -> dict[str, Backend]:
    """All backends by name, in the order in which they are preferred."""
    return dict(REGISTRY)


def get_backend(name: str) -> Backend:
    """The backend of that name, or an error that lists them."""
    if name not in REGISTRY:
        raise unknown("backend", name, ["auto", *REGISTRY])
    return REGISTRY[name]


def choose_backend(problem: Problem) -> tuple[str, str]:
    """The backend with the smallest predicted time that fits into memory, and why.

    Returns
    -------
    (name, reason)
        The reason names the prediction, those of the others, and why some cannot take the problem.

    Raises
    ------
    UnsupportedError
        If none does, with each backend's reason.
    """
    declined: list[str] = []
    costs: dict[str, Cost] = {}
    for name, backend in REGISTRY.items():
        reason = backend.reason(problem) or _hopeless(name, problem)
        if reason is None:
            costs[name] = predict(name, problem)
        else:
            declined.append(f"{name} {reason}")
    if not costs:
        raise UnsupportedError(f"no backend takes this problem: {'; '.join(declined)}")
    chosen = min(costs, key=lambda name: costs[name].seconds)
    others = ", ".join(f"{name} {cost}" for name, cost in costs.items() if name != chosen)
    words = f"{chosen}: {REGISTRY[chosen].summary}; predicted {costs[chosen]}"
    words += f" (others: {others})" if others else ""
    return chosen, words + (f"; cannot: {'; '.join(declined)}" if declined else "")


def _hopeless(name: str, problem: Problem) -> str | None:
    """Why a backend that takes the problem had better not, None if it may."""
    cost = predict(name, problem)
    if cost.memory > available_bytes():
        return f"would need about {cost.memory / 1e9:.3g} GB of memory"
    if REGISTRY[name].family == "conic" and problem.order > CONIC_ORDER:
        return f"is hopeless at order {problem.order}, predicted {cost}"
    return None


def compile(problem: Problem, backend: str = "auto", **options: Any) -> Program:
    """Set a problem up for a backend.

    Parameters
    ----------
    problem : Problem
    backend : str
        A name from `backends`, or "auto" for the choice of `choose_backend`.
    **options
        See the backend's options; common ones are tol, max_iter, time_limit and verbose.

    Returns
    -------
    Program
        With ``solve()`` and ``describe()``.
    """
    name = choose_backend(problem)[0] if backend == "auto" else backend
    return get_backend(name).compile(problem, **options)


def solve(problem: Problem, backend: str = "auto", **options: Any) -> Solution:
    """Solve a problem by a backend; parameters as in `compile`.

    Returns
    -------
    Solution
        With status, factor and certificate. Its message names the reason for an automatic choice.
    """
    if backend != "auto":
        return compile(problem, backend, **options).solve()
    name, reason = choose_backend(problem)
    solution = get_backend(name).compile(problem, **options).solve()
    words = f"backend chosen: {reason}"
    return _with_message(solution, f"{words}\n{solution.message}" if solution.message else words)


def _with_message(solution: Solution, message: str) -> Solution:
    return with_certificate(replace(solution, message=message), solution.__dict__.get("certificate"))
